"""Members side by side: what they learn is what they would learn alone."""

import threading
import time

import numpy as np
import pytest
import torch

from modernnca.ensemble import side_by_side
from modernnca.ensemble.network_member import NetworkMember
from modernnca.train.budget import Budget
from tests.estimators.models import classifier, regressor
from tests.estimators.tables import classes_of, mixed_table, numbers_of

CPU = torch.device("cpu")
FRAME = mixed_table(120)
QUICK = {"max_epochs": 2, "random_state": 0, "preset": "default"}


@pytest.mark.usefixtures("two_threads")
def test_tasks_run_at_once_with_a_part_of_the_threads():
    meet = threading.Barrier(2, timeout=30)  # passed only if both are there

    def task():
        meet.wait()
        return torch.get_num_threads()

    assert side_by_side.side_by_side([task, task], CPU, Budget()) == [1, 1]
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_results_come_in_order():
    first = threading.Event()
    tasks = [lambda: first.wait(30) and "a", lambda: first.set() or "b", lambda: "c"]
    assert side_by_side.side_by_side(tasks, CPU, Budget()) == ["a", "b", "c"]


@pytest.mark.usefixtures("two_threads")
def test_an_error_stops_the_others_and_is_raised():
    budget = Budget()

    def fail():
        raise ValueError("no")

    def until_stopped():
        deadline = time.monotonic() + 30
        while not budget.interrupted and time.monotonic() < deadline:
            time.sleep(0.01)

    with pytest.raises(ValueError, match="no"):
        side_by_side.side_by_side([fail, until_stopped], CPU, budget)
    assert budget.interrupted


@pytest.mark.parametrize("make", [classifier, regressor])
def test_two_threads_give_the_bits_of_one(make):
    y = classes_of(FRAME) if make is classifier else numbers_of(FRAME)
    models = []
    for n_threads in (1, 2):
        before = torch.get_num_threads()
        torch.set_num_threads(n_threads)
        try:
            models.append(make(**QUICK).fit(FRAME, y))
        finally:
            torch.set_num_threads(before)
    one, two = models
    epochs = [[epoch[:4] for epoch in model.history_] for model in models]
    np.testing.assert_array_equal(*epochs)
    assert one.member_weights_ == two.member_weights_
    np.testing.assert_array_equal(one.transform(FRAME), two.transform(FRAME))


@pytest.mark.usefixtures("two_threads")
def test_callbacks_are_called_one_at_a_time():
    inside, seen = threading.Lock(), []

    def callback(epoch):
        assert inside.acquire(blocking=False)
        seen.append(epoch)
        time.sleep(0.05)  # long enough for another member's epoch
        inside.release()

    model = classifier(**QUICK, callbacks=[callback]).fit(FRAME, classes_of(FRAME))
    assert len([e for e in seen if not np.isnan(e.score)]) == len(model.history_) == 8


@pytest.mark.usefixtures("two_threads")
def test_the_time_is_shared_by_rounds(monkeypatch):
    """Four members alone, two at once: each has half of the time."""
    ends = {}
    fit = NetworkMember.fit

    def spy(member, train, valid, run):
        ends[run.number] = run.budget.end - run.budget.begin
        return fit(member, train, valid, run)

    monkeypatch.setattr(NetworkMember, "fit", spy)
    monkeypatch.setattr(side_by_side, "can_fork", lambda: False)  # to see all of them
    options = {**QUICK, "patience": 5, "time_limit": 100, "finetune": 0.0}
    classifier(**options).fit(FRAME, classes_of(FRAME))
    found = [ends[number] for number in range(4)]
    assert found == pytest.approx([50, 50, 100, 100], rel=0.1)
