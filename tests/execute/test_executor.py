"""Executors: resources, limits, and exceptions as outcomes."""

import pytest

from modernnca._named import named
from modernnca.execute import EXECUTORS
from modernnca.execute.executor import Limits, Resources, attempt


def dig(depth):
    """Recurse, through two functions so that the traceback stays long."""
    return (lambda: dig(depth - 1))() if depth else 1 // 0


def test_a_long_traceback_is_cut_to_its_end():
    lines = attempt(dig, 100).error.splitlines()
    assert len(lines) == 30
    assert lines[-1].startswith("ZeroDivisionError")


def test_the_traceback_begins_in_the_function_that_was_called():
    _, place, *_ = attempt(dig, 0).error.splitlines()
    assert place.endswith("in dig")


def test_an_interrupt_is_no_outcome():
    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt(interrupted, None)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Limits(seconds=0), "The limit seconds is 0; it must be above 0."),
        (
            lambda: Limits(memory_bytes=-1),
            "The limit memory_bytes is -1; it must be above 0.",
        ),
        (
            lambda: Limits(seconds=float("nan")),
            "The limit seconds is nan; it must be above 0.",
        ),
        (
            lambda: Resources(cpus=0),
            "A job needs more than 0 CPUs and at least 0 GPUs; "
            "got Resources(cpus=0, gpus=0).",
        ),
    ],
)
def test_limits_and_needs_without_sense_are_refused(make, message):
    with pytest.raises(ValueError) as error:
        make()
    assert str(error.value) == message


@pytest.mark.parametrize(("cpus", "threads"), [(0.5, 1), (1, 1), (2, 2), (3.5, 3)])
def test_a_job_computes_with_as_many_threads_as_it_needs_cpus(cpus, threads):
    assert Resources(cpus=cpus).threads == threads


def test_an_executor_is_chosen_by_name():
    with pytest.raises(ValueError) as error:
        named("executor", "slurm", EXECUTORS)
    assert str(error.value) == (
        "Unknown executor 'slurm'; choose one of: here, pool, ray."
    )
