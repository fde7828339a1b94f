"""Do the tests notice if the code is changed? Mutate it at random places, and run them.

    python tools/mutate.py --mutants 80 --seed 0 --write tools/mutation.json

A mutant is one small change of the syntax tree: another comparison or arithmetic
operator, another constant, a boolean turned round, a condition negated, a statement
left out. Each is written to a copy of the source; then the tests that are about the
file run until one fails. Mutants that pass them all survive. The results are written
after each mutant, and an interrupted run resumes; places are drawn evenly over all
places of the rooms, so that the figure is that of the code.
"""

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "modernnca"
ROOMS = ("core", "estimators", "lab/bench", "lab/stats")
COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Add,
}
# Tests of a room that are not named after the file.
ALSO = {
    "core": ("tests/core", "tests/parity", "tests/contracts/test_{}.py"),
    "estimators": ("tests/estimators",),
    "lab/bench": ("tests/lab/bench",),
    "lab/stats": ("tests/lab/stats",),
}


def places(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The places where a tree can be changed: (number of the node, what to do)."""
    told = _docstrings_and_types(tree)
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in told:
            continue
        if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
            yield number, "comparison"
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            yield number, "operator"
        elif isinstance(node, ast.BoolOp):
            yield number, "and/or"
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield number, "boolean"
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield number, "constant"
        elif isinstance(node, ast.If | ast.IfExp):
            yield number, "condition"
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield number, "statement"


def _docstrings_and_types(tree: ast.Module) -> set[int]:
    """The nodes of annotations and of error messages, which no test need notice."""
    found: set[int] = set()
    for node in ast.walk(tree):
        parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.Raise):
            parts.append(node)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            parts.append(node)
        for part in filter(None, parts):
            found |= {id(inner) for inner in ast.walk(part)}
    return found


def mutate(source: str, number: int, what: str) -> str:
    """The source with one change.

    >>> print(mutate("x = 1 if a < b else 2", 5, "comparison"))
    x = 1 if a <= b else 2
    """
    tree = ast.parse(source)
    node: ast.AST = list(ast.walk(tree))[number]
    if what == "comparison":
        assert isinstance(node, ast.Compare)
        node.ops[0] = COMPARISONS[type(node.ops[0])]()
    elif what == "operator":
        assert isinstance(node, ast.BinOp)
        node.op = OPERATORS[type(node.op)]()
    elif what == "and/or":
        assert isinstance(node, ast.BoolOp)
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif what == "boolean":
        assert isinstance(node, ast.Constant)
        node.value = not node.value
    elif what == "constant":
        assert isinstance(node, ast.Constant)
        node.value = node.value * 2 + 1  # type: ignore[operator]
    elif what == "condition":
        assert isinstance(node, ast.If | ast.IfExp)
        node.test = ast.UnaryOp(ast.Not(), copy.deepcopy(node.test))
    else:
        assert isinstance(node, ast.Expr)
        node.value = ast.Constant(None)
    return ast.unparse(ast.fix_missing_locations(tree))


def tests_of(file: Path) -> list[str]:
    """The tests about a file: those named after it first, then those of its room."""
    inside = file.relative_to(SOURCE)
    room = next(room for room in ROOMS if inside.as_posix().startswith(room + "/"))
    named = sorted((ROOT / "tests").rglob(f"test_{file.stem}.py"))
    wider = [ROOT / pattern.format(file.stem) for pattern in ALSO[room]]
    found = [path.relative_to(ROOT).as_posix() for path in [*named, *wider]]
    return [path for path in dict.fromkeys(found) if (ROOT / path).exists()]


def draw(n: int, seed: int) -> list[dict]:
    """Some places of all files, each as likely as any other."""
    every = [
        {"file": file.relative_to(ROOT).as_posix(), "node": number, "what": what}
        for room in ROOMS
        for file in sorted((SOURCE / room).glob("*.py"))
        for number, what in places(ast.parse(file.read_text()))
    ]
    return random.Random(seed).sample(every, min(n, len(every)))


def judge(mutant: dict, limit: float) -> str:
    """Whether tests notice a mutant: "killed", "survived", or "timeout": unknown."""
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copied)
        file = ROOT / mutant["file"]
        changed = mutate(file.read_text(), mutant["node"], mutant["what"])
        (Path(folder) / mutant["file"]).write_text(changed)
        environment = {**os.environ, "PYTHONPATH": str(copied), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        try:
            done = subprocess.run(
                [*command, *tests_of(file)],
                cwd=ROOT,
                env=environment,
                timeout=limit,
                capture_output=True,
            )
        except subprocess.TimeoutExpired:
            return "timeout"
    return "survived" if done.returncode == 0 else "killed"


def main() -> None:
    """Run the mutants that have no result yet, and print the figure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mutants", type=int, default=80)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=900, help="seconds for each")
    parser.add_argument("--write", type=Path, required=True)
    asked = parser.parse_args()
    known = json.loads(asked.write.read_text()) if asked.write.exists() else []
    done = {(m["file"], m["node"], m["what"]) for m in known}
    for mutant in draw(asked.mutants, asked.seed):
        if (mutant["file"], mutant["node"], mutant["what"]) in done:
            continue
        source = (ROOT / mutant["file"]).read_text()
        node = list(ast.walk(ast.parse(source)))[mutant["node"]]
        mutant["line"] = getattr(node, "lineno", 0)
        mutant["source"] = source.splitlines()[mutant["line"] - 1].strip()
        mutant["result"] = judge(mutant, asked.limit)
        known.append(mutant)
        asked.write.write_text(json.dumps(known, indent=1) + "\n")
        print(mutant["result"], mutant["file"], mutant["line"], mutant["what"])
    results = [mutant["result"] for mutant in known]
    n_killed, n_late = results.count("killed"), results.count("timeout")
    print(f"{n_killed} of {len(results) - n_late} mutants are noticed.")
    if n_late:
        print(f"Of {n_late} more the tests took over {asked.limit:.0f} s: unknown.")


if __name__ == "__main__":
    main()
