"""The code in the README and in docs/ runs as it stands."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_on_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in BLOCK.findall(page.read_text()):
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_map_of_the_rooms_names_every_file():
    readme = (ROOT / "README.md").read_text()
    source = ROOT / "src" / "modernnca"
    for path in source.rglob("*.py"):
        hall = path.name in ("__init__.py", "__main__.py", "_version.py")
        if path.stat().st_size and not hall:
            line = rf"^ +(\w+\.py )*{path.name} "
            assert re.search(line, readme, re.MULTILINE), path.name
