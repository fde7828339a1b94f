"""The rooms keep to themselves: imports go one way."""

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "modernnca"

# A room may import itself, the hall, and these rooms. `cli` may import all.
MAY_IMPORT = {
    "core": set(),
    "table": set(),
    "train": set(),
    "execute": set(),
    "stats": set(),
    "memory": {"core"},
    "tune": {"execute"},
    "estimators": {"core", "table", "train", "memory", "tune"},
    "peers": {"core", "table", "train", "estimators", "tune"},
    "bench": {"table", "peers", "tune", "execute"},
    "report": {"stats", "bench"},
    "explore": {"estimators", "bench", "stats"},
}
HALL = {"_named", "errors", "_version"}
# Packages that only these rooms may touch.
FORBIDDEN = {
    "core": {"sklearn", "pandas", "numpy", "scipy", "narwhals"},
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


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_a_room_imports_only_what_it_may(path):
    room = path.relative_to(SRC).parts[0]
    names = imported(path)
    outside = {name.partition(".")[0] for name in names}
    assert not outside & FORBIDDEN.get(room, set())
    if room == "cli":
        return
    ours = {name.split(".")[1] for name in names if name.startswith("modernnca.")}
    assert ours <= MAY_IMPORT[room] | {room} | HALL
    assert "modernnca" not in names, "import from the room, not from the door"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_nobody_imports_the_shell(path):
    if path.relative_to(SRC).parts[0] != "cli":
        assert not any(name.startswith("modernnca.cli") for name in imported(path))


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.stat().st_size], ids=lambda path: path.name
)
def test_a_file_opens_with_a_sentence(path):
    sentence = ast.get_docstring(ast.parse(path.read_text()))
    assert sentence
    assert sentence[0].isupper()
