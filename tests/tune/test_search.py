"""Search: it finds the optimum, survives interruptions, and counts trials right."""

import math
import os
import signal
import sys
import time

import numpy as np
import optuna
import pytest
from tests.processes import start
from tests.tune.quadratic import SPACE, Deadly, Written, slow_valley, valley

from modernnca.errors import MissingExtraError
from modernnca.execute.local import Here, Pool
from modernnca.tune.search import search
from modernnca.tune.space import Choice, Float, Int, Maybe


def settings_of(found):
    return [trial.settings for trial in found.trials]


def test_it_finds_the_bottom_of_a_valley_better_than_chance():
    found = [search(valley, SPACE, trials=50, seed=seed).score for seed in range(3)]
    rng = np.random.RandomState(0)
    x, y = rng.uniform(-5, 5, (3, 50)), 10 ** rng.uniform(-4, 0, (3, 50))
    chance = (-((x - 2) ** 2) - (np.log10(y) + 2) ** 2).max(axis=1)
    assert np.mean(found) > -0.02
    assert np.mean(found) > np.mean(chance) / 5


def test_it_minimizes_too():
    found = search(lambda at, _: at["x"] ** 2, {"x": Float(-9, 9)}, trials=40)
    assert found.score > 60  # maximizing is the default
    found = search(
        lambda at, _: at["x"] ** 2, {"x": Float(-9, 9)}, trials=40, direction="minimize"
    )
    assert found.score < 0.5
    assert found.score == min(trial.score for trial in found.trials)


def test_choices_and_maybes_are_found():
    space = {"kind": Choice(["bad", "good"]), "n": Maybe(Int(1, 9), 0)}
    found = search(
        lambda at, _: (at["kind"] == "good") - abs(at["n"] - 7), space, trials=50
    )
    assert found.settings == {"kind": "good", "n": 7}


def test_the_same_seed_tries_the_same_settings():
    one, two, other = (search(valley, SPACE, trials=25, seed=s) for s in (1, 1, 2))
    assert settings_of(one) == settings_of(two)
    assert settings_of(one) != settings_of(other)


def test_a_search_in_pieces_is_the_search_in_one(tmp_path):
    whole = search(valley, SPACE, trials=25, seed=3)
    for trials in (4, 13, 25):
        pieces = search(valley, SPACE, trials=trials, seed=3, storage=tmp_path)
        assert len(pieces.trials) == trials
    assert settings_of(pieces) == settings_of(whole)
    assert pieces.score == whole.score


def test_the_start_comes_first_even_from_outside_of_the_space():
    start = {"x": 77.0, "y": 0.5}
    found = search(valley, SPACE, trials=15, start=start)
    assert found.trials[0].settings == start
    assert found.trials[0].score == valley(start, None)
    assert all(abs(trial.settings["x"]) <= 5 for trial in found.trials[1:])
    assert found.score > found.trials[0].score


def test_a_start_that_is_best_is_what_is_found():
    best = {"x": 2.0, "y": 0.01}
    assert search(valley, SPACE, trials=12, start=best).settings == best


def test_trials_that_raise_are_failed_ones_and_the_search_goes_on():
    def score(settings, report):
        if settings["x"] < 0:
            raise RuntimeError("x is below zero")
        return math.nan if settings["x"] > 4 else settings["x"]

    found = search(score, {"x": Float(-5, 5)}, trials=30)
    failed = [trial for trial in found.trials if trial.state == "failed"]
    below = [trial for trial in failed if trial.settings["x"] < 0]
    assert {trial.error for trial in below} == {"RuntimeError: x is below zero"}
    above = {trial.error for trial in failed if trial.settings["x"] > 4}
    assert above == {"ValueError: the score is nan"}
    assert len(found.trials) == 30
    assert 0 < found.score <= 4


def test_if_all_fail_the_first_error_is_said(tmp_path):
    def score(settings, report):
        raise RuntimeError("no such luck")

    for storage in (None, tmp_path):
        with pytest.raises(ValueError) as error:
            search(score, SPACE, trials=3, storage=storage)
        assert str(error.value) == (
            "None of the 3 trials returned a score; the first error was: "
            "RuntimeError: no such luck"
        )


@pytest.mark.parametrize("pruner", ["median", "halving"])
def test_hopeless_trials_are_pruned(pruner):
    steps = []

    def score(settings, report):
        for step in range(1, 41):
            steps.append(step)
            report(step, valley(settings, report) * (1 + 1 / step))
        return valley(settings, report)

    found = search(score, SPACE, trials=40, pruner=pruner)
    states = [trial.state for trial in found.trials]
    assert states.count("pruned") >= 8
    assert len(steps) < 40 * 40 * 0.8
    assert found.score > -1
    assert set(states[:3]) <= {"done", "pruned"}
    n_steps = len(steps)
    steps.clear()
    search(score, SPACE, trials=40, pruner="none")
    assert len(steps) == 1600 > n_steps


def test_the_time_limit_is_kept():
    began = time.monotonic()
    found = search(slow_valley, SPACE, trials=1000, time_limit=0.8)
    assert 0.5 < time.monotonic() - began < 2
    assert found.ended == "time_limit"
    assert 2 <= len(found.trials) <= 6


def test_a_trial_that_reports_ends_when_the_time_is_up_and_is_tried_again(tmp_path):
    def score(settings, report):
        for step in range(1000 if hurry and len(tried) else 1):
            report(step, 0.0)
            time.sleep(0.005)
        tried.append(settings["x"])
        return settings["x"]

    hurry, tried = True, []
    found = search(score, SPACE, trials=3, time_limit=0.5, storage=tmp_path)
    assert len(found.trials) == len(tried) == 1
    hurry = False
    found = search(score, SPACE, trials=3, storage=tmp_path)
    assert [trial.settings["x"] for trial in found.trials] == tried
    assert len(tried) == 3


def test_time_is_left_to_run_the_best_again():
    found = search(slow_valley, SPACE, trials=1000, time_limit=1.0, refit=True)
    spent = sum(trial.seconds for trial in found.trials)
    assert spent < 0.9 + 0.15


def test_no_trial_in_time_is_said():
    def score(settings, report):
        time.sleep(0.05)
        report(1, 0.0)

    with pytest.raises(
        ValueError, match="The time limit was reached before the first trial ended"
    ):
        search(score, SPACE, trials=3, time_limit=0.01)


def test_control_c_keeps_what_was_found():
    def score(settings, report):
        tried.append(settings)
        if len(tried) == 4:
            raise KeyboardInterrupt
        return settings["x"]

    tried = []
    found = search(score, SPACE, trials=10)
    assert found.ended == "interrupted"
    assert len(found.trials) == 3
    tried = [None] * 3
    with pytest.raises(KeyboardInterrupt):
        search(score, SPACE, trials=10)


def test_each_trial_is_told_once_and_may_end_the_search(tmp_path):
    told = []
    search(valley, SPACE, trials=3, storage=tmp_path, on_trial=told.append)
    assert [trial.place for trial in told] == [0, 1, 2]
    again = []
    found = search(
        valley,
        SPACE,
        trials=9,
        storage=tmp_path,
        on_trial=lambda trial: again.append(trial) or trial.place == 5,
    )
    assert [trial.place for trial in again] == [0, 1, 2, 3, 4, 5]
    assert again[:3] == told
    assert found.ended == "on_trial"


def test_optuna_stays_silent_and_as_it_was(capfd, tmp_path):
    optuna.logging.set_verbosity(optuna.logging.INFO)
    search(valley, SPACE, trials=12, storage=tmp_path)
    assert optuna.logging.get_verbosity() == optuna.logging.INFO
    assert capfd.readouterr() == ("", "")


KILLED = """
from pathlib import Path
from modernnca.tune.search import search
from tests.tune.quadratic import SPACE, Written
search(Written(Path({log!r})), SPACE, trials=12, seed=5, storage={storage!r})
"""


def lines_of(log):
    return log.read_text().splitlines() if log.exists() else []


def start_search(tmp_path, *, until):
    """A search in another process, when it has begun so many trials."""
    log = tmp_path / "log"
    script = KILLED.format(log=str(log), storage=str(tmp_path / "kept"))
    process = start([sys.executable, "-c", script])
    while len(lines_of(log)) < until:
        assert process.poll() is None
        time.sleep(0.01)
    return log, process


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_killed_search_goes_on_with_what_is_missing(tmp_path):
    log, process = start_search(tmp_path, until=5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    n_before = len(lines_of(log))
    assert n_before < 12
    found = search(Written(log), SPACE, trials=12, seed=5, storage=tmp_path / "kept")
    whole = search(valley, SPACE, trials=12, seed=5)
    assert settings_of(found) == settings_of(whole)
    assert [trial.score for trial in found.trials] == [t.score for t in whole.trials]
    # What was under way is tried again, and nothing else.
    tried = lines_of(log)
    assert len(tried) in (12, 13)
    assert len(set(tried)) == 12


def test_a_half_written_line_is_mended(tmp_path):
    search(valley, SPACE, trials=4, storage=tmp_path)
    with open(tmp_path / "study.journal", "ab") as file:
        file.write(b'{"op_code":4,"worker')
    found = search(valley, SPACE, trials=8, storage=tmp_path)
    assert settings_of(found) == settings_of(search(valley, SPACE, trials=8))


def test_a_folder_that_cannot_be_read_is_said(tmp_path):
    (tmp_path / "study.journal").write_text("not a journal\nat all\n")
    with pytest.raises(ValueError, match=r"study\.journal' cannot be read .* move"):
        search(valley, SPACE, trials=2, storage=tmp_path)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(NotADirectoryError, match="is a file; name a folder"):
        search(valley, SPACE, trials=2, storage=file)


@pytest.mark.parametrize(
    "other", [{"seed": 1}, {"belongs_to": "b"}, {"start": {"x": 0.0, "y": 0.1}}]
)
def test_another_search_in_the_folder_is_refused(tmp_path, other):
    search(valley, SPACE, trials=2, storage=tmp_path)
    with pytest.raises(
        ValueError, match=r"holds another search .*; empty it or choose"
    ):
        search(valley, SPACE, trials=3, storage=tmp_path, **other)
    search(valley, SPACE, trials=2, storage=tmp_path, name="its own/name", **other)


def test_several_processes_try_no_more_than_asked_for(tmp_path):
    log = tmp_path / "log"
    found = search(Written(log), SPACE, trials=9, storage=tmp_path, executor=Pool(3))
    assert len(lines_of(log)) == len(found.trials) == 9
    assert len(set(lines_of(log))) == 9
    assert found.score == max(trial.score for trial in found.trials)


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_two_searches_at_once_share_the_trials(tmp_path):
    log, process = start_search(tmp_path, until=1)
    found = search(Written(log), SPACE, trials=12, seed=5, storage=tmp_path / "kept")
    assert process.wait() == 0
    assert len(found.trials) in (11, 12)  # the other one may still run the last
    assert len(lines_of(log)) == 12


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_place_where_processes_die_is_given_up(tmp_path):
    log = tmp_path / "log"
    found = search(Deadly(log), SPACE, trials=5, storage=tmp_path, executor=Pool(2))
    died = [trial for trial in found.trials if trial.state == "failed"]
    assert died
    assert len(found.trials) == 5
    assert {trial.error for trial in died} == {
        "The process running this trial died 2 times."
    }
    assert all((trial.settings["x"] > 0) == (trial in died) for trial in found.trials)
    begun = [float(x) for x in lines_of(log)]
    assert {begun.count(trial.settings["x"]) for trial in died} == {2}  # once more


def test_an_executor_here_is_the_search_itself(tmp_path):
    there = search(valley, SPACE, trials=12, storage=tmp_path, executor=Here())
    assert settings_of(there) == settings_of(search(valley, SPACE, trials=12))


def test_an_executor_that_cannot_start_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"the first error was: .*pickle"):
        search(lambda at, _: 1.0, SPACE, trials=2, storage=tmp_path, executor=Pool(1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"trials": 0}, "trials must be a whole number of at least 1; got 0"),
        ({"time_limit": 0}, "time_limit must be above 0 seconds, or None; got 0"),
        ({"direction": "up"}, "Unknown direction 'up'; choose one of: maximize"),
        ({"pruner": "axe"}, "Unknown pruner 'axe'; choose one of: halving, median"),
        ({"space": {}}, "The search space is empty; give it at least one setting"),
        ({"start": {"x": 1.0}}, "The start settings lack y; give a value"),
        ({"executor": Here()}, "An executor needs a storage: give a folder"),
    ],
)
def test_invalid_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        search(valley, **{"space": SPACE, "trials": 2, **arguments})


def test_without_optuna_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r'pip install "modernnca\[tune\]"'):
        search(valley, SPACE, trials=1)
