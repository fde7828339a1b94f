"""Tasks in forked processes: nothing is lost, whatever happens to the process."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
import torch

from modernnca.core.network import InputShape
from modernnca.ensemble import forked
from modernnca.ensemble.ensemble_config import EnsembleConfig
from modernnca.ensemble.forest_member import ForestMember
from modernnca.ensemble.forked import ForkedTasks, can_fork
from modernnca.ensemble.joint_training import forkable
from modernnca.ensemble.network_member import NetworkMember
from modernnca.ensemble.run import Run
from modernnca.ensemble.side_by_side import side_by_side
from modernnca.train.budget import Budget

pytestmark = [
    pytest.mark.skipif(not can_fork(), reason="needs Linux without a GPU"),
    pytest.mark.usefixtures("two_threads"),
]
CPU = torch.device("cpu")
HERE = os.getpid()


@pytest.fixture(autouse=True)
def no_process_is_left():
    """Others than those that were there before, such as a pool of another test."""
    before = set(psutil.Process().children())
    yield
    assert not set(psutil.Process().children()) - before


def where():
    return os.getpid(), torch.get_num_threads()


def die_elsewhere():
    if os.getpid() != HERE:
        os.kill(os.getpid(), signal.SIGKILL)
    return "done here"


def test_results_come_in_order_from_two_processes():
    tasks = [where, where, where, lambda: "last"]
    first, second, third, last = side_by_side(tasks, CPU, Budget(), forkable=[0, 1, 2])
    assert first == third == (HERE, 1)
    assert second[0] != HERE
    assert (second[1], last) == (1, "last")
    assert torch.get_num_threads() == 2


def test_what_is_not_forkable_runs_here():
    found = side_by_side([where, where, where], CPU, Budget(), forkable=[0, 2])
    assert [pid == HERE for pid, _ in found] == [True, True, False]


@pytest.mark.parametrize(
    "lost",
    [die_elsewhere, lambda: "done here" if os.getpid() == HERE else lambda: "a lambda"],
    ids=["killed", "cannot be pickled"],
)
def test_what_a_process_loses_is_done_here(lost):
    tasks = [lambda: "mine", lost]
    assert side_by_side(tasks, CPU, Budget(), forkable=[0, 1]) == ["mine", "done here"]


def test_an_error_is_raised():
    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        side_by_side([lambda: 1, fail], CPU, Budget(), forkable=[0, 1])
    with pytest.raises(ValueError, match="no"):
        side_by_side([fail, lambda: time.sleep(60)], CPU, Budget(), forkable=[0, 1])


def test_a_process_without_a_sign_of_life_is_given_up(monkeypatch):
    monkeypatch.setattr(forked, "_SIGN_OF_LIFE", 0.2)
    monkeypatch.setattr(forked, "_try_a_step", lambda: time.sleep(60))
    began = time.monotonic()
    assert ForkedTasks({0: lambda: 1}, Budget()).collect() == {}
    assert time.monotonic() - began < 20


def test_without_processes_all_is_done_here(monkeypatch):
    def fork():
        raise BlockingIOError("no process is left")

    monkeypatch.setattr(os, "fork", fork)
    found = side_by_side([where, where], CPU, Budget(), forkable=[0, 1])
    assert found == [(HERE, 1), (HERE, 1)]


def test_an_interruption_reaches_the_process():
    budget = Budget()

    def until_interrupted():
        deadline = time.monotonic() + 60
        while not budget.interrupted and time.monotonic() < deadline:
            time.sleep(0.01)
        return budget.exhausted()

    found = side_by_side(
        [budget.interrupt, until_interrupted], CPU, budget, forkable=[0, 1]
    )
    assert found == [None, "interrupted"]


def test_a_process_dies_with_its_parent():
    code = (
        "import os, time, torch\n"
        "from modernnca.ensemble.forked import ForkedTasks\n"
        "from modernnca.train.budget import Budget\n"
        "child = ForkedTasks({0: lambda: time.sleep(60)}, Budget())\n"
        "print(child._pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as parent:
        child = psutil.Process(int(parent.stdout.readline()))
        time.sleep(0.5)  # for its first steps
        assert child.is_running()
        parent.kill()
        child.wait(20)
        assert not child.is_running()


def test_others_members_and_callbacks_stay_in_this_process(a_run):
    class Own(NetworkMember):
        pass

    groups = [[NetworkMember()], [Own()], [ForestMember()], [NetworkMember()]]
    assert forkable(groups, a_run) == [0, 3]
    assert forkable(groups, a_run.but(callbacks=[print])) == []
    own = a_run.config.updated({"eval_metric": lambda y, p: 0.0})
    assert forkable(groups, a_run.but(config=own)) == []


@pytest.fixture
def a_run():
    config = EnsembleConfig.defaults()
    return Run(CPU, Budget(), "regression", config, InputShape(2, 0, 0), [0])
