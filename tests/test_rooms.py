"""The rooms keep to themselves: imports go one way."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from modernnca.estimators.estimator import BaseModernNCA
from modernnca.estimators.evidence_methods import EvidenceMixin
from modernnca.estimators.persistence import ESTIMATORS

SRC = Path(__file__).parents[1] / "src" / "modernnca"

# A room may import itself, the hall, and these rooms. `cli` may import all.
MAY_IMPORT = {
    "core": set(),
    "table": set(),
    "train": set(),
    "execute": set(),
    "kernels": {"core"},
    "memory": {"core", "kernels"},
    "tune": {"execute"},
    "ensemble": {"core", "kernels", "table", "train", "memory"},
    "evidence": {"core", "kernels", "table", "memory", "ensemble"},
    "estimators": {"core", "table", "train", "ensemble", "evidence", "tune"},
}
# The rooms of the laboratory: the first set is of its own rooms, the second of the
# product's. Its commands may import all.
LAB_MAY_IMPORT = {
    "stats": (set(), set()),
    "peers": (set(), {"core", "table", "train", "estimators", "tune"}),
    "bench": ({"peers"}, {"table", "tune", "execute"}),
    "report": ({"stats", "bench"}, set()),
}
HALL = {"_config", "_declared", "_files", "_named", "_tree_file", "_version", "errors"}
# Packages that only these rooms may touch.
FORBIDDEN = {
    "core": {"sklearn", "pandas", "numpy", "scipy", "narwhals"},
    "kernels": {"sklearn", "pandas", "numpy", "scipy", "narwhals"},
    "train": {"sklearn", "pandas", "numpy", "scipy", "narwhals"},
    "table": {"torch", "pandas"},
}
FILES = sorted(path for path in SRC.rglob("*.py") if path.parent != SRC)


def imported(path: Path) -> set[str]:
    """The full names of all modules that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module)
            if node.module == "modernnca":
                names |= {f"modernnca.{alias.name}" for alias in node.names}
    return names


def rooms(path: Path) -> set[str]:
    """The rooms, of the product or as `lab.peers`, that a file imports from."""
    names = [name.split(".") for name in imported(path)]
    ours = [name[1:] for name in names if name[0] == "modernnca" and len(name) > 1]
    return {".".join(n[:2]) if n[0] == "lab" else n[0] for n in ours} - HALL


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_a_room_imports_only_what_it_may(path):
    room, *inner = path.relative_to(SRC).parts[:-1]
    outside = {name.partition(".")[0] for name in imported(path)}
    assert not outside & FORBIDDEN.get(room, set())
    if room == "cli" or inner == ["commands"]:
        return
    assert "modernnca" not in imported(path), "import from the room, not from the door"
    if not inner:
        assert rooms(path) <= MAY_IMPORT.get(room, set()) | {room}
        return
    in_lab, in_product = LAB_MAY_IMPORT[inner[0]]
    allowed = {f"lab.{name}" for name in {*in_lab, inner[0]}} | in_product
    assert rooms(path) <= allowed


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_the_product_imports_nothing_of_the_laboratory(path):
    if path.relative_to(SRC).parts[0] != "lab":
        assert not any(room.startswith("lab") for room in rooms(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_nobody_imports_the_shell(path):
    parts = path.relative_to(SRC).parts
    if parts[0] != "cli" and parts[:2] != ("lab", "commands"):
        assert "cli" not in rooms(path)


def test_file_names_are_unique():
    names = [path.name for path in SRC.rglob("*.py") if not path.name.startswith("__")]
    assert [name for name, n in Counter(names).items() if n > 1] == []


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.stat().st_size], ids=lambda path: path.name
)
def test_a_file_opens_with_a_sentence(path):
    sentence = ast.get_docstring(ast.parse(path.read_text()))
    assert sentence
    assert sentence[0].isupper()


def test_fit_is_a_short_story():
    tree = ast.parse((SRC / "estimators" / "estimator.py").read_text())
    (fit,) = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "fit"
    ]
    statements = [node for node in ast.walk(fit) if isinstance(node, ast.stmt)]
    assert len(statements) - 2 <= 25  # without the def itself and the docstring
    branches = (ast.If, ast.For, ast.While, ast.Try)
    assert not any(isinstance(node, branches) for node in statements)


def test_estimators_have_one_base_besides_scikit_learn():
    for estimator in ESTIMATORS.values():
        ours = [kind for kind in estimator.__mro__ if "modernnca" in kind.__module__]
        assert len(ours) <= 4  # a relative, classifier or regressor, base, evidence
        assert ours[-2:] == [BaseModernNCA, EvidenceMixin]
