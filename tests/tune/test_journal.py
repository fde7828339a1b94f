"""The journal of a search: damage is found, and a full disk told with the file."""

import os

import numpy as np
import pytest
from tests.estimators.models import regressor
from tests.tune.quadratic import SPACE, valley

from modernnca.errors import StoreError
from modernnca.tune import journal as journal_room
from modernnca.tune.ledger import Ledger, SearchSpec
from modernnca.tune.search import search


def searched(folder, trials=6):
    found = search(valley, SPACE, trials=trials, storage=folder)
    return [trial[:5] for trial in found.trials]


def test_every_damage_is_found(tmp_path):
    expected, path = searched(tmp_path), tmp_path / "study.journal"
    content, rng = path.read_bytes(), np.random.RandomState(0)
    for place in rng.randint(0, len(content), 60):
        broken = bytearray(content)
        broken[place] ^= 1 << rng.randint(8)
        path.write_bytes(broken)
        if place == len(content) - 1:  # the last line is not complete, and is dropped
            assert len(searched(tmp_path)) == len(expected)
            continue
        with pytest.raises(ValueError, match=r"study\.journal' cannot be read"):
            searched(tmp_path)
    lines = content.splitlines(keepends=True)
    for place in range(0, len(lines) - 1, 5):  # a line lost, or two exchanged
        path.write_bytes(b"".join(lines[:place] + lines[place + 1 :]))
        with pytest.raises(ValueError, match="cannot be read"):
            searched(tmp_path)


CRAFTED = [
    ('"place":2', '"place":"x"'),
    ('"place":2', '"place":-1'),
    ('"op_code":4', '"op_code":"x"'),
    ('"param_value_internal":', '"param_value_internal":1e9,"x":'),
    ('"values":[', '"values":["high",'),
    ('"values":[', '"values":[1e999],"x":['),  # it would be the best for ever
]


@pytest.mark.parametrize("change", CRAFTED, ids=str)
def test_a_crafted_journal_is_refused_in_a_sentence(change, tmp_path):
    searched(tmp_path)
    path, digest, content = tmp_path / "study.journal", "", b""
    assert change[0] in path.read_text()
    for line in path.read_text().replace(*change).splitlines():
        text = line.partition(" ")[2].encode()
        digest = journal_room._digest(digest, text)
        content += digest.encode() + b" " + text + b"\n"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"study\.journal' cannot be read"):
        searched(tmp_path)


def test_a_line_cut_short_by_a_killed_process_is_written_over(tmp_path):
    spec = SearchSpec(SPACE, storage=tmp_path)
    with Ledger(spec) as ledger:
        ledger.end(ledger.claim(3), score=1.0)
        with open(tmp_path / "study.journal", "ab") as file:  # another one's
            file.write(b"0123456789abcdef {")
        ledger.end(ledger.claim(3), score=2.0)
    with Ledger(spec) as ledger:
        assert [trial.score for trial in ledger.trials()] == [1.0, 2.0]


def test_a_full_disk_is_told_with_the_file_and_loses_no_trial(tmp_path, monkeypatch):
    expected, path = searched(tmp_path, trials=3), tmp_path / "study.journal"
    before = path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match=r"study\.journal' .*No space left"):
            searched(tmp_path)
    assert path.read_bytes() == before
    assert searched(tmp_path)[:3] == expected


def test_a_disk_that_is_full_for_a_moment_fails_no_trial(tmp_path, monkeypatch):
    """What cannot be recorded did not happen: the trial is run again."""

    def full(handle):
        raise OSError(28, "No space left on device")

    def reporting(at, report):
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            report(1, 0.5)

    with pytest.raises(StoreError, match="No space left"):
        search(reporting, SPACE, trials=1, storage=tmp_path)
    assert [state for _, _, _, state, _ in searched(tmp_path, trials=1)] == ["done"]


def test_present_options_without_a_score_are_told(tmp_path, monkeypatch):
    """Their trial died twice: what was found may be worse than they are."""
    X = np.random.RandomState(0).randn(40, 2)
    model = regressor(max_epochs=1, n_members=1, random_state=0)
    end = Ledger.end

    def killed(self, handle, **result):
        if handle.optuna_trial.user_attrs["place"] == 0:
            result = {"error": "The process running this trial died 2 times."}
        end(self, handle, **result)

    monkeypatch.setattr(Ledger, "end", killed)
    with pytest.warns(UserWarning, match=r"were not scored \(The process running"):
        model.tune(X, X[:, 0], trials=2)
