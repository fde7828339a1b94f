"""What PyPI shows of the package: links that lead somewhere."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINKS = re.compile(r"\]\(([^)]*)\)")


@pytest.fixture
def hook(monkeypatch):
    """The hook without hatchling, which is there only while the package is built."""
    base = SimpleNamespace(MetadataHookInterface=object)
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", base)
    path = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]["path"]
    spec = importlib.util.spec_from_file_location("pypi_readme", ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("source", ["https://example.org/home/", None])
def test_all_links_of_the_shown_readme_are_absolute(hook, source):
    built = hook.ReadmeHook()
    built.root = ROOT
    metadata = {"urls": {"Source": source} if source else {}}
    built.update(metadata)
    text = metadata["readme"]["text"]
    links = LINKS.findall(text)
    assert all(re.match(r"https://[a-z]", link) for link in links)
    guide = "https://example.org/home/blob/main/docs/guide.md"
    assert (guide in links) == (source is not None)
    assert "docs/guide.md" in text
    assert ("https://example.org/home/raw/main/docs/images/neighbors.png" in links) == (
        source is not None
    )


def test_the_project_names_its_urls():
    urls = PROJECT["project"]["urls"]
    assert "Paper" in urls
    assert all(re.match(r"https://[a-z]", url) for url in urls.values())
    assert "readme" in PROJECT["project"]["dynamic"]
    assert (
        "tools/pypi_readme.py"
        in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    )
