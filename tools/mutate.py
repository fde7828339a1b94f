"""Do the tests notice if the code is changed? Mutate it at random places, and run them.

    python tools/mutate.py --mutants 80 --seed 0 --write tools/mutation.json

A mutant is one small change of the syntax tree: another comparison or arithmetic
operator, another constant, a boolean turned round, a condition negated, a statement
left out. Each is written to a copy of the source; then the tests that are about the
file run until one fails. Mutants that pass them all survive, and so do those that are
not noticed within a minute of computing. The results are written after each mutant,
and an interrupted run resumes; places are drawn evenly over all places of the rooms,
so that the figure is that of the code.

A survivor that no test could tell from the code gets its reason by hand, as
"equivalent": it is listed, and left out of the figure. `--again` tries the other
survivors once more, with the tests of today; what was noticed before is counted apart.
"""

import argparse
import ast
import copy
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import psutil
import pytest

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
OPTIONS = "tests/test_docs.py::test_the_tables_of_options_are_up_to_date"
ALSO = {
    "core": ("tests/core", "tests/parity", "tests/contracts/test_{}.py", OPTIONS),
    "estimators": ("tests/estimators/test_*.py", OPTIONS),
    "lab/bench": ("tests/lab/bench/test_*.py",),
    "lab/stats": ("tests/lab/stats",),
}
# Rooms with slow tests: those that mention the function come first, or suffice.
FIRST, ALONE = ("estimators",), ("lab/bench",)
MAX_WAIT = 1800.0  # seconds; a test may wait for what a mutant never does
QUICK = "not slow and not ray"
# Imported once, for all runs of tests: this takes longer than many a test.
PACKAGES = ("pandas", "scipy.stats", "sklearn.ensemble", "torch")


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


def tests_of(file: Path, function: str) -> list[str]:
    """The tests about a function: those named after its file, then those of its room.

    >>> tests_of(SOURCE / "core" / "init.py", "uniform")[:2]
    ['tests/core/test_init.py', 'tests/core']
    """
    room = file.parent.relative_to(SOURCE).as_posix()
    named = sorted((ROOT / "tests").rglob(f"test_{file.stem}.py"))
    wider = []
    for pattern in ALSO[room]:
        pattern = pattern.format(file.stem)
        wider += sorted(ROOT.glob(pattern)) if "*" in pattern else [ROOT / pattern]
    words = (f"{room.replace('/', '.')}.{file.stem} ", f"{function}(")
    about = [p for p in wider if p.is_file() and any(w in p.read_text() for w in words)]
    if room in FIRST:
        wider = [*about, *wider]
    elif room in ALONE:
        wider = about or named or wider
    found = [path.relative_to(ROOT).as_posix() for path in [*named, *wider]]
    there = [path for path in found if (ROOT / path.split("::")[0]).exists()]
    return [*dict.fromkeys(there)]


def function_at(tree: ast.Module, line: int) -> str:
    """The name of the innermost function around a line; "" outside of all.

    >>> function_at(ast.parse("def f():\\n    return 1"), 2)
    'f'
    """
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, kinds) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(around, key=lambda node: node.lineno).name if around else ""


def draw(n: int, seed: int) -> list[dict]:
    """Some places of all files, each as likely as any other."""
    every = [
        {"file": file.relative_to(ROOT).as_posix(), "node": number, "what": what}
        for room in ROOMS
        for file in sorted((SOURCE / room).glob("*.py"))
        for number, what in places(ast.parse(file.read_text()))
    ]
    return random.Random(seed).sample(every, min(n, len(every)))


def try_out(mutant: dict, seconds: int) -> dict:
    """Whether tests notice a mutant: "killed", "survived", or "timeout": unknown."""
    with tempfile.TemporaryDirectory() as name:
        folder, file = Path(name), ROOT / mutant["file"]
        shutil.copytree(ROOT / "src", folder / "src")
        source = file.read_text()
        changed = folder / mutant["file"]
        changed.write_text(mutate(source, mutant["node"], mutant["what"]))
        tests = tests_of(file, function_at(ast.parse(source), mutant["line"]))
        process = get_context("fork").Process(
            target=_run_tests, args=(folder, [str(changed), *tests], seconds)
        )
        process.start()
        process.join(MAX_WAIT)
        if process.exitcode is None:
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
            process.kill()
            process.join()
            return {"result": "timeout"}
        if process.exitcode in (0, -signal.SIGXCPU):
            return {"result": "survived"}
        output = (folder / "output").read_text()
        told = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
        by = told[1] if told else output[-200:]
        return {"result": "killed", "by": by.replace(f"{folder}/", "")}


def _run_tests(folder: Path, tests: list[str], seconds: int) -> None:
    """Run tests, and doctests, on the source in a folder; in a process of its own."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    resource.setrlimit(resource.RLIMIT_CPU, (int(used) + seconds, -1))
    with open(folder / "output", "w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    os.chdir(ROOT)
    os.environ["PYTHONPATH"] = str(folder / "src")
    sys.path.insert(0, str(folder / "src"))
    options = ["-x", "-q", "-p", "no:cacheprovider", "-m", QUICK]
    options += ["-c", str(ROOT / "pyproject.toml")]
    code = pytest.main([*options, *tests])
    sys.stdout.flush()
    os._exit(code)


def main() -> None:
    """Run the mutants that have no result yet, and print the figure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mutants", type=int, default=80)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=60, help="of computing for each")
    parser.add_argument("--write", type=Path, required=True)
    parser.add_argument("--again", action="store_true", help="try survivors again")
    asked = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in PACKAGES:
        import_module(name)
    known = json.loads(asked.write.read_text()) if asked.write.exists() else []
    tried = set()
    if asked.again:
        left = [m for m in known if m["result"] != "killed" and "equivalent" not in m]
        tried = {(m["file"], m["node"], m["what"]) for m in left}
        known = [m for m in known if m not in left]
    done = {(m["file"], m["node"], m["what"]) for m in known}
    for mutant in draw(asked.mutants, asked.seed):
        if (mutant["file"], mutant["node"], mutant["what"]) in done:
            continue
        source = (ROOT / mutant["file"]).read_text()
        node = list(ast.walk(ast.parse(source)))[mutant["node"]]
        mutant["line"] = getattr(node, "lineno", 0)
        mutant["source"] = source.splitlines()[mutant["line"] - 1].strip()
        mutant |= try_out(mutant, asked.seconds)
        if (mutant["file"], mutant["node"], mutant["what"]) in tried:
            mutant["before"] = "survived"
        known.append(mutant)
        asked.write.write_text(json.dumps(known, indent=1) + "\n")
        print(*(mutant[k] for k in ("result", "file", "line", "what")), flush=True)
    print(figure(known))


def figure(mutants: list[dict]) -> str:
    """How many mutants are noticed, in words."""
    results = ["equivalent" if "equivalent" in m else m["result"] for m in mutants]
    n_killed, n_survived = results.count("killed"), results.count("survived")
    n_first = sum(m["result"] == "killed" and "before" not in m for m in mutants)
    return (
        f"{n_killed} of {n_killed + n_survived} mutants are noticed, {n_first} of them "
        f"by the tests that were there; {results.count('equivalent')} more are "
        f"equivalent to the code, and of {results.count('timeout')} it is unknown."
    )


if __name__ == "__main__":
    main()
