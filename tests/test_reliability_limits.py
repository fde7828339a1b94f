"""Small versions of the campaigns in reliability/: fuzzed tables, limits, memory."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "reliability"


@pytest.fixture(autouse=True)
def on_path(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)


def test_fuzzed_tables_give_sound_models_or_a_sentence():
    found = importlib.import_module("fuzzed_tables").run(range(25))
    assert found["wrong"] == {}
    assert found["ended"]["sound"] > 15


def test_an_unsound_model_would_be_found(tmp_path, monkeypatch):
    fuzzed = importlib.import_module("fuzzed_tables")
    model, table, new, y = fuzzed.make_case(3)
    model.fit(table, y)
    assert fuzzed._check(model, table, new, tmp_path / "m") == "sound"
    answer = fuzzed._answer

    def batched(asked):
        return lambda rows: answer(asked)(rows) + 1e-2 * len(rows)

    monkeypatch.setattr(fuzzed, "_answer", batched)
    assert fuzzed._check(model, table, new, tmp_path / "m") == "batch-dependent"
    monkeypatch.setattr(
        fuzzed, "_answer", lambda asked: lambda rows: answer(asked)(rows) * np.nan
    )
    assert fuzzed._check(model, table, new, tmp_path / "m") == "nan"


@pytest.mark.slow
def test_a_short_limit_holds_for_a_large_table():
    limits = importlib.import_module("time_limits")
    found = limits.measure("classification", 60_000, 20, 5.0)
    # The tests share their cores, so the limit may be overrun by more than alone.
    assert found["seconds"] < 2 * 5.0
    assert found["score"] > 0.5


def test_memory_does_not_grow_with_predictions():
    memory = importlib.import_module("memory_growth")
    found = memory.run(n_predictions=20, n_fits=2)
    assert found["over predictions"]["grown"] < 64
    assert found["over fits"]["grown"] < 128


@pytest.mark.parametrize("name", ["fuzzed_tables", "time_limits", "memory_growth"])
def test_a_campaign_shows_its_help(name, monkeypatch, capsys):
    module = importlib.import_module(name)
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 0
    assert "--write" in capsys.readouterr().out


def test_the_pages_show_the_figures_of_the_campaigns():
    report = importlib.import_module("report")
    for page in report.PAGES:
        assert report.write(page.read_text()) == page.read_text(), page.name


def test_fuzzed_tables_go_on_where_they_were_killed(tmp_path, monkeypatch):
    fuzzed, kept = importlib.import_module("fuzzed_tables"), []
    path = tmp_path / "figures.json"
    how = {0: "sound", 1: "refused", 2: "nan"}
    monkeypatch.setattr(fuzzed, "run_case", lambda number, _: how[number % 3])
    first = fuzzed.run(range(25), keep=kept.append)
    fuzzed.write_figures(kept[0], path)
    before = json.loads(path.read_text())
    again = fuzzed.run(range(before["tables"], 25), before=before)
    assert [figures["tables"] for figures in kept] == [20, 25]
    assert again == first
    assert first["wrong"] == {str(number): "nan" for number in range(2, 25, 3)}
