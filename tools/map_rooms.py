"""Write the map of the rooms in docs/architecture.md from the files themselves.

python tools/map_rooms.py          # rewrites the map
python tools/map_rooms.py --check  # fails if it is not up to date
"""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
SOURCE = ROOT / "src" / "modernnca"
BEGIN, END = "<!-- map: begin -->\n", "<!-- map: end -->\n"
_WIDTH = 22


def summary(path: Path) -> str:
    """The first sentence of a file's docstring."""
    told = ast.get_docstring(ast.parse(path.read_text())) or ""
    return " ".join(told.partition("\n\n")[0].split()).rstrip(".")


def lines(folder: Path, depth: int = 0) -> list[str]:
    """A line for each file of a folder, then its folders in the same way."""
    indent = "  " * depth
    found = []
    for path in sorted(folder.glob("*.py")):
        if path.name.startswith("__") or not path.stat().st_size:
            continue
        found.append(f"{indent}{path.name:<{_WIDTH}}{summary(path)}")
    for room in sorted(path for path in folder.iterdir() if path.is_dir()):
        if not any(room.rglob("*.py")):
            continue
        told = summary(room / "__init__.py") if (room / "__init__.py").exists() else ""
        found.append(f"{indent}{room.name + '/':<{_WIDTH}}{told}".rstrip())
        found += lines(room, depth + 1)
    return found


def page() -> str:
    """The page with a fresh map."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    drawn = "\n".join(lines(SOURCE))
    return f"{before}{BEGIN}```text\n{drawn}\n```\n{END}{after}"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(page() != PAGE.read_text() and "run: python tools/map_rooms.py")
    PAGE.write_text(page())
