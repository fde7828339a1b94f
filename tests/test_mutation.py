"""The figure of the last mutation run, in CONTRIBUTING.md, is that of its results."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RESULTS = json.loads((ROOT / "tools" / "mutation.json").read_text())


@pytest.fixture(scope="module")
def script():
    path = ROOT / "tools" / "mutate.py"
    spec = importlib.util.spec_from_file_location("mutate_script", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_guide_has_the_figure(script):
    text = " ".join((ROOT / "CONTRIBUTING.md").read_text("utf-8").split())
    assert script.figure(RESULTS).split(";")[0] in text


def test_nine_of_ten_mutants_are_noticed():
    results = [m["result"] for m in RESULTS if "equivalent" not in m]
    n_killed, n_survived = results.count("killed"), results.count("survived")
    assert n_killed >= 0.9 * (n_killed + n_survived)


def test_an_equivalent_mutant_has_a_reason():
    equivalent = [m for m in RESULTS if "equivalent" in m]
    assert all(m["result"] == "survived" for m in equivalent)
    assert all(len(m["equivalent"]) > 20 for m in equivalent)


@pytest.mark.parametrize(
    ("source", "what", "changed"),
    [
        ("x = a + b", "operator", "x = a - b"),
        ("x = a and b", "and/or", "x = a or b"),
        ("x = 3", "constant", "x = 7"),
        ("x = True", "boolean", "x = False"),
        ("x = 1 if a else 2", "condition", "x = 1 if not a else 2"),
        ("f(x)", "statement", "None"),
    ],
)
def test_a_mutant_is_one_change(script, source, what, changed):
    tree = script.ast.parse(source)
    [number] = [n for n, kind in script.places(tree) if kind == what][:1]
    assert script.mutate(source, number, what) == changed


def test_messages_and_types_are_left_alone(script):
    source = "def f(x: int = 1) -> int:\n    raise ValueError(f'{x + 1}')"
    kinds = [kind for _, kind in script.places(script.ast.parse(source))]
    assert kinds == ["constant"]
