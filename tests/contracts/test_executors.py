"""The executor contract; an executor listed in EXECUTORS is tested."""

import time

import pytest

from modernnca.execute import EXECUTORS
from tests.execute import jobs


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=pytest.mark.ray if name == "ray" else ())
        for name in EXECUTORS
    ],
)
def executor(request):
    return EXECUTORS[request.param]()


def test_it_is_a_loop_in_which_errors_are_outcomes(executor):
    outcomes = sorted(executor.map(jobs.uneven, range(8)))
    assert [outcome.index for outcome in outcomes] == list(range(8))
    for number, outcome in enumerate(outcomes):
        if number % 3:
            assert outcome == (number, number * number, None, "done")
        else:
            lines = outcome.error.splitlines()
            assert (outcome.value, outcome.kind) == (None, "failed")
            assert lines[0] == "Traceback (most recent call last):"
            assert lines[1].endswith("in uneven")
            assert lines[-1] == f"ValueError: {number} is a multiple of 3"


def test_no_jobs_no_outcomes(executor):
    assert list(executor.map(jobs.square, [])) == []


def test_to_leave_and_to_lack_memory_are_outcomes_too(executor):
    (left,) = executor.map(jobs.exit_with, [3])
    assert (left.kind, left.error.splitlines()[-1]) == ("failed", "SystemExit: 3")
    said = [None, "CUDA out of memory.", "std::bad_alloc"]
    lacking = list(executor.map(jobs.run_out_of_memory, said))
    assert [outcome.kind for outcome in lacking] == ["memory"] * 3


def test_large_values_come_back_whole(executor):
    outcomes = executor.map(jobs.large, [30_000_000] * 3)
    assert all(outcome.value == b"\1" * 30_000_000 for outcome in outcomes)


def test_closed_early_it_stops_what_runs_and_starts_nothing_more(executor, tmp_path):
    todo = [(str(tmp_path), number, 3.0 if number else 0.01) for number in range(10**5)]
    outcomes = executor.map(jobs.sleep_and_note, todo)
    first = next(outcomes)
    assert first.value == first.index**2
    outcomes.close()
    time.sleep(3.5)
    assert len(list(tmp_path.iterdir())) <= 2
