"""Pool: workers, and no process left behind after an interrupt or a kill."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from modernnca.execute.executor import Limits, Resources
from modernnca.execute.local import Here, Pool
from tests.execute import jobs
from tests.execute.test_child_process import assert_gone
from tests.processes import start

# A function of the main script, as users write it.
SCRIPT = """
import sys
from modernnca.execute import Pool
from tests.execute import jobs

def sleep(folder):
    jobs.sleep_beside_another(folder)

if __name__ == "__main__":
    print("ready", flush=True)
    try:
        list(Pool(2).map(sleep, sys.argv[1:] * 4))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        raise
"""


def seconds_of(pool, function, todo, **options):
    """Seconds of a map in a pool whose server runs already."""
    list(pool.map(jobs.square, [0]))
    begin = time.monotonic()
    outcomes = list(pool.map(function, todo, **options))
    assert {outcome.kind for outcome in outcomes} == {"done"}
    return time.monotonic() - begin


def test_jobs_run_side_by_side():
    assert seconds_of(Pool(4), jobs.sleep, [1] * 4) < 3.5


def test_a_job_that_needs_more_cpus_takes_more_places():
    pool = Pool(4)
    assert seconds_of(pool, jobs.sleep, [0.3] * 4, resources=Resources(cpus=4)) >= 1.2
    assert seconds_of(pool, jobs.sleep, [0.1] * 2, resources=Resources(cpus=9)) >= 0.2


def test_a_job_has_threads_for_each_cpu_it_needs():
    (outcome,) = Pool(2, threads_each=2).map(
        jobs.threads, [0], resources=Resources(cpus=2)
    )
    assert outcome.value == ("4", 4, {4})


def test_what_happens_to_one_job_leaves_the_others_alone():
    todo = [(jobs.square, 5), (jobs.segfault, 0), (jobs.sleep, 60), (jobs.square, 6)]
    outcomes = sorted(Pool(2).map(jobs.call, todo, limits=Limits(seconds=3)))
    assert [outcome.kind for outcome in outcomes] == ["done", "died", "timeout", "done"]
    assert [outcome.value for outcome in outcomes] == [25, None, None, 36]


def test_jobs_that_cannot_be_sent_fail_and_the_others_run():
    outcomes = sorted(Pool(2).map(jobs.square, [2, lambda: 0, lambda: 0, 3]))
    assert [outcome.kind for outcome in outcomes] == [
        "done",
        "failed",
        "failed",
        "done",
    ]
    assert "lambda" in outcomes[1].error


def test_a_function_that_cannot_be_sent_is_refused():
    with pytest.raises(TypeError) as error:
        list(Pool(1).map(lambda job: job, [1, 2]))
    assert str(error.value).startswith("<function test_a_function_that_cannot")
    assert str(error.value).endswith("; define it at the top level of a module.")


@pytest.mark.parametrize("arguments", [(0,), (-1,), (None, 0)])
def test_a_pool_without_places_or_threads_is_refused(arguments):
    with pytest.raises(ValueError, match=r"=(0|-1) must be at least 1\.$"):
        Pool(*arguments)


def test_by_default_the_threads_of_all_places_are_no_more_than_cores():
    alone, double = Pool(), Pool(threads_each=2)
    assert 1 <= alone.n_workers <= os.cpu_count()
    assert double.n_workers == max(1, alone.n_workers // 2)


@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGKILL])
def test_a_pool_that_is_interrupted_or_killed_leaves_no_process(blow, tmp_path):
    root = Path(__file__).parents[2]
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(tmp_path)]
    paths = f"{root}{os.pathsep}{root / 'src'}"
    environment = {**os.environ, "PYTHONPATH": paths}
    with start(command, env=environment, stdout=subprocess.PIPE, text=True) as parent:
        until = time.monotonic() + 120
        while len(notes := list(tmp_path.glob("*.pids"))) < 2:
            assert time.monotonic() < until
            time.sleep(0.05)
        parent.send_signal(blow)
        parent.wait(10)
        said = parent.stdout.read()
    assert said == "ready\n" + "interrupted\n" * (blow == signal.SIGINT)
    assert len(notes) == len(list(tmp_path.glob("*.pids"))) == 2
    for path in notes:
        assert_gone(path)


def swallow_an_interrupt(job):
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise SystemError("returned a result with an exception set") from None


def test_an_interrupt_that_a_library_turns_into_an_error_is_no_failed_job():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        list(Here().map(swallow_an_interrupt, [1, 2]))
    assert signal.getsignal(signal.SIGINT) is before
