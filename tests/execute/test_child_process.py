"""A call in a child process: every way to end, and nothing left behind."""

import builtins
import os
import pickle
import time

import psutil
import pytest

from modernnca.errors import MissingExtraError
from modernnca.execute.child_process import call_in_child
from modernnca.execute.executor import Limits
from tests.execute import jobs

MIB = 2**20


def call(function, job, threads=1, **limits):
    payload = pickle.dumps((function, job))
    return call_in_child(payload, limits=Limits(**limits), threads=threads)


def test_a_call_within_its_limits_gives_its_value():
    outcome = call(jobs.square, 3, seconds=60, memory_bytes=8 * 2**30)
    assert outcome == (0, 9, None, "done")


def test_a_call_that_takes_too_long_is_stopped():
    begin = time.monotonic()
    outcome = call(jobs.sleep, 60, seconds=0.3)
    assert outcome == (0, None, "Stopped after 0.3 seconds.", "timeout")
    assert time.monotonic() - begin < 20


def test_a_call_that_closed_its_pipes_is_still_stopped():
    assert call(jobs.close_all_and_sleep, 60, seconds=1).kind == "timeout"


def test_a_call_that_holds_too_much_is_stopped_with_what_it_started():
    before = {process.pid for process in psutil.process_iter()}
    outcome = call(jobs.hold, 1500 * MIB, seconds=60, memory_bytes=1300 * MIB)
    assert outcome.kind == "memory"
    assert outcome.error.endswith(" MiB in memory; the limit is 1,300 MiB.")
    held = [
        process
        for process in psutil.process_iter()
        if process.pid not in before and process.memory_info().rss > 1000 * MIB
    ]
    # Killed, they take a moment to give so much memory back.
    assert psutil.wait_procs(held, timeout=20)[1] == []


@pytest.mark.parametrize(
    ("function", "job", "message"),
    [
        (jobs.segfault, None, "was killed by SIGSEGV"),
        (
            jobs.kill_oneself,
            None,
            "was killed by SIGKILL, possibly because memory ran out",
        ),
        (jobs.leave, 7, "exited with code 7 before it returned a value"),
        (jobs.leave, 0, "exited with code 0 before it returned a value"),
    ],
)
def test_a_call_whose_process_ends_has_died(function, job, message):
    assert call(function, job) == (0, None, f"The process {message}.", "died")


@pytest.mark.parametrize("function", [jobs.unsendable, jobs.unreadable])
def test_a_value_that_cannot_travel_is_a_failure(function):
    outcome = call(function, None)
    assert outcome.kind == "failed"
    assert "lambda" in outcome.error or "no number" in outcome.error


@pytest.mark.parametrize("threads", [1, 3])
def test_libraries_compute_with_as_many_threads_as_given(threads):
    outcome = call(jobs.threads, None, threads=threads)
    assert outcome.value == (str(threads), threads, {threads})


def test_the_environment_is_that_of_now_and_ours_stays(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    for value in ("first", "second"):
        monkeypatch.setenv("MODERNNCA_TEST", value)
        assert call(jobs.variable, "MODERNNCA_TEST").value == value
    monkeypatch.delenv("MODERNNCA_TEST")
    assert call(jobs.variable, "MODERNNCA_TEST").value is None
    assert os.environ["OMP_NUM_THREADS"] == "5"
    assert "MKL_NUM_THREADS" not in os.environ


def test_the_main_script_is_not_run_again():
    assert call(jobs.main_file, None).value is None


def test_a_call_may_use_a_pool_itself():
    assert call(jobs.squares_in_a_pool, [1, 2, 3], seconds=120).value == [1, 4, 9]


def test_a_process_left_behind_by_a_call_is_ended(tmp_path):
    call(jobs.sleep_beside_another, str(tmp_path), seconds=3)
    (path,) = tmp_path.glob("*.pids")
    assert_gone(path)


def test_without_psutil_a_memory_limit_names_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "psutil":
            raise ImportError(name=name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError) as error:
        call(jobs.sleep, 60, memory_bytes=2**40)
    assert str(error.value) == (
        'A memory limit needs psutil: pip install "modernnca[bench]"'
    )


def assert_gone(path):
    """No process of those written down there runs, or soon not."""
    until = time.monotonic() + 10
    for pid in map(int, path.read_text().split()):
        while runs(pid):
            assert time.monotonic() < until, f"process {pid} still runs"
            time.sleep(0.05)


def runs(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
