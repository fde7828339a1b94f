"""The experiments: scripts on the public API that run, pages that match the records."""

import ast
import re
import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "experiments"
FILES = sorted(FOLDER.glob("*.py"))
SCRIPTS = [path for path in FILES if path.stem != "common"]
PAGES = [path.with_suffix(".md") for path in SCRIPTS]
INDEX = FOLDER / "README.md"
REPORT = re.compile(r"<!-- (report[^>]*?) -->\n(.*?)<!-- end -->", re.DOTALL)
# Of named tuples these are public; of a script's own classes, all names are.
_ALLOWED = {"_replace", "_asdict", "_fields"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in _ALLOWED


def root(node: ast.AST) -> str | None:
    """The name that a chain of attributes and subscripts begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def assigned(node: ast.AST) -> list[ast.AST]:
    """What a statement writes to or deletes."""
    if isinstance(node, ast.Assign | ast.Delete):
        return node.targets
    single = isinstance(node, ast.AugAssign | ast.AnnAssign)
    return [node.target] if single else []


def offenses(source: str) -> list[str]:
    """Where a script leaves the public API of modernnca, or patches it."""
    tree, found, ours = ast.parse(source), [], set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for alias in node.names:
            whole = alias.name
            if isinstance(node, ast.ImportFrom):
                whole = f"{node.module}.{alias.name}"
            if "mock" in whole or "monkeypatch" in whole.lower():
                found.append(f"line {node.lineno}: imports {whole}")
            if whole.split(".")[0] == "modernnca":
                ours.add(alias.asname or alias.name.split(".")[0])
                if any(is_private(part) for part in whole.split(".")):
                    found.append(f"line {node.lineno}: imports {whole}")
    for node in ast.walk(tree):
        name = getattr(node, "attr", getattr(node, "id", ""))
        own = getattr(getattr(node, "value", None), "id", "") in ("self", "cls")
        if isinstance(node, ast.Attribute) and is_private(name) and not own:
            found.append(f"line {node.lineno}: accesses {name}")
        if name == "monkeypatch":
            found.append(f"line {node.lineno}: uses monkeypatch")
        for target in assigned(node):
            if not isinstance(target, ast.Name) and root(target) in ours:
                found.append(f"line {node.lineno}: assigns into {root(target)}")
        if isinstance(node, ast.Call) and root(node.func) in (
            *("getattr", "setattr", "delattr", "hasattr"),
        ):
            into = node.func.id != "getattr" and root(node.args[0]) in ours
            constant = getattr(node.args[1], "value", "")
            if into or (isinstance(constant, str) and is_private(constant)):
                found.append(f"line {node.lineno}: {node.func.id} of {constant!r}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_script_keeps_to_the_public_api(path):
    assert offenses(path.read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        "from modernnca._config import Config",
        "from modernnca.ensemble.combine import _mixture_weights",
        "import modernnca._named",
        "model._votes(X)",
        "f(model)._votes(X)",
        "self.model_._votes(X)",
        "import modernnca\nmodernnca.PRESETS['default'] = None",
        "from modernnca.ensemble import combine\ncombine.fit_combiner = None",
        "from modernnca import PRESETS\ndel PRESETS['fast']",
        "from modernnca.ensemble import combine\nsetattr(combine, 'x', None)",
        "getattr(model, '_votes')(X)",
        "from unittest import mock",
        "from unittest.mock import patch",
        "def test(monkeypatch): monkeypatch.setattr(a, 'b', None)",
    ],
)
def test_private_names_and_patches_are_found(source):
    assert offenses(source)


def test_public_names_are_no_offense():
    source = "from modernnca import PRESETS\nx = PRESETS['fast']\nvotes._replace(a=x)"
    assert offenses(source) == []


def links(page: Path) -> list[str]:
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"\]\((?!https?:)([^)]+)\)", prose)


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", [INDEX, *PAGES], ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for link in links(page):
        target, _, anchor = link.partition("#")
        path = page.parent / target if target else page
        assert path.exists(), link
        assert not anchor or anchor in anchors(path), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_states_the_verdict_and_links_its_script_and_records(page):
    text = page.read_text()
    assert "\n**Verdict.** " in text
    assert f"python experiments/{page.stem}.py run" in text
    records = FOLDER.glob(f"{page.stem}*.csv")
    own = [page.with_suffix(".py"), *records]
    assert {path.name for path in own} <= set(links(page))


def test_all_files_belong_to_a_page_and_all_pages_are_in_the_index():
    assert {page.name for page in PAGES} <= set(links(INDEX))
    owned = {link for page in PAGES for link in links(page)}
    others = {"README.md", "common.py", *(page.name for page in PAGES)}
    files = {path.name for path in FOLDER.iterdir() if path.is_file()}
    assert files - owned - others == set()
    assert len(INDEX.read_text().splitlines()) <= 60


@pytest.fixture
def run_script(monkeypatch, capsys):
    """Run a script in this process, as torch takes seconds to import; its output."""
    monkeypatch.syspath_prepend(FOLDER)

    def run(script: Path, *arguments: str) -> str:
        with monkeypatch.context() as patched:
            patched.setattr(sys, "argv", [str(script), *arguments])
            runpy.run_path(str(script), run_name="__main__")
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_tables_of_a_page_are_those_of_its_records(page, run_script):
    for command, shown in REPORT.findall(page.read_text()):
        made = run_script(page.with_suffix(".py"), *command.split())
        assert made.strip() == shown.strip()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs(script, run_script):
    before = {path: path.stat().st_mtime_ns for path in FOLDER.glob("*.csv")}
    shown = run_script(script, "--quick")
    assert shown.count("\n|") > 1
    assert {path: path.stat().st_mtime_ns for path in FOLDER.glob("*.csv")} == before
