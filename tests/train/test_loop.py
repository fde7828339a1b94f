"""The loop: it learns, it keeps the best, it ends for the right reason, it goes on."""

import math
from copy import deepcopy
from types import SimpleNamespace

import pytest
import torch

from modernnca.train.loop import Pace, Plan, train
from modernnca.train.optim import OPTIMIZERS
from modernnca.train.seeding import seeded

# One step up an epoch for the scripted learner.
COUNTING = Plan(
    optimizer="sgd", learning_rate=1.0, weight_decay=0.0, batch_size=2, patience=None
)
RATES = {"adamw": 0.03, "sgd": 0.1, "lbfgs": 1.0}


def plan(**changes):
    return Plan(**(vars(COUNTING) | changes))


def run(learner, plan, **options):
    return train(learner, plan, torch.Generator().manual_seed(0), **options)


def scores(*values):
    """Verdicts with these scores, all at the same loss."""
    return [(value, 1.0) for value in values]


# ------------------------------------------------------------------ it learns


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_each_optimizer_finds_the_known_solution(least_squares, name):
    learner = least_squares()
    history = run(
        learner,
        plan(
            optimizer=name,
            learning_rate=RATES.get(name, 0.03),
            batch_size=24 if name == "lbfgs" else 8,
            max_epochs=200,
        ),
    )
    assert history.epochs[-1].train_loss < 1e-3 * history.epochs[0].train_loss
    linear = learner.module[1]
    torch.testing.assert_close(linear.weight.T, learner.w, atol=0.02, rtol=0)
    assert linear.bias.item() == pytest.approx(3, abs=0.02)


def test_an_epoch_visits_each_row_once_in_a_new_order(scripted):
    learner = scripted()
    learner.n_rows = 10
    run(learner, plan(batch_size=4, max_epochs=2))
    assert [len(batch) for batch in learner.batches] == [4, 4, 2, 4, 4, 2]
    visited = [row for batch in learner.batches for row in batch]
    first, second = visited[:10], visited[10:]
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second


def test_the_train_loss_is_the_mean_over_rows(scripted):
    # Batches of 2, 2 and 1 rows with losses 0, -1, -2, as the weight goes 0, 1, 2.
    learner = scripted()
    learner.n_rows = 5
    history = run(learner, plan(max_epochs=1))
    assert history.epochs[0].train_loss == pytest.approx((2 * 0 - 2 * 1 - 1 * 2) / 5)


def test_every_epoch_starts_in_training_mode(scripted):
    modes = []
    learner = scripted(during=lambda _: modes.append(learner.module.training))
    run(
        learner,
        plan(max_epochs=3),
        callbacks=[lambda _: learner.module.eval() and None],
    )
    assert modes == [True] * 3


def test_a_learner_may_change_its_pace_by_the_share_of_training_done(scripted):
    seen = []

    def pace(progress):
        seen.append(progress)
        return Pace(rate=progress)

    learner = scripted(scores(1, 2))
    learner.n_rows, learner.pace = 4, pace  # two steps an epoch
    run(learner, plan(max_epochs=2))
    assert seen == [0, 0.25, 0.5, 0.75]
    assert learner.weight == pytest.approx(sum(seen))  # a step goes up by the rate


def test_a_pace_goes_on_where_it_was(least_squares):
    kept = []
    settings = plan(learning_rate=0.1, weight_decay=0.01, max_epochs=4)
    learner = least_squares()
    learner.pace = lambda progress: Pace(1 - progress, progress)
    run(learner, settings, keep=lambda state: kept.append(deepcopy(state)))
    later = least_squares()
    later.pace = learner.pace
    run(later, settings, resume=kept[1])
    assert torch.equal(later.module[1].weight, learner.module[1].weight)


# ---------------------------------------------------------- it keeps the best


def test_the_best_weights_come_back(scripted):
    learner = scripted(scores(0.1, 0.5, 0.9, 0.3, 0.2))
    history = run(learner, plan(max_epochs=5))
    assert history.best_epoch == 3
    assert learner.weight == 3
    assert [epoch.best for epoch in history.epochs] == [True, True, True, False, False]
    assert [epoch.score for epoch in history.epochs] == [0.1, 0.5, 0.9, 0.3, 0.2]
    assert [epoch.epoch for epoch in history.epochs] == [1, 2, 3, 4, 5]


def test_a_tie_goes_to_the_lower_loss_and_else_to_the_earlier(scripted):
    learner = scripted([(0.5, 3.0), (0.5, 1.0), (0.5, 2.0), (0.5, 1.0), (0.4, 0.0)])
    assert run(learner, plan(max_epochs=5)).best_epoch == 2
    assert learner.weight == 2


def test_an_undefined_score_is_never_the_best(scripted):
    learner = scripted([(math.nan, 0.0), (0.1, 1.0), (math.nan, 0.0)])
    assert run(learner, plan(max_epochs=3)).best_epoch == 2
    assert learner.weight == 2


def test_without_judgement_the_last_weights_stay(scripted):
    def refuse():
        raise AssertionError("validated")

    learner = scripted()
    learner.validate = refuse
    history = run(learner, plan(max_epochs=4, judged=False, patience=1))
    assert learner.weight == 4
    assert (history.best_epoch, history.ended) == (4, "max_epochs")
    assert all(math.isnan(epoch.score) for epoch in history.epochs)


# ------------------------------------------------------------ reasons to end


def test_max_epochs_is_kept(scripted):
    history = run(scripted(scores(*range(9))), plan(max_epochs=3, patience=5))
    assert (len(history.epochs), history.ended) == (3, "max_epochs")


@pytest.mark.parametrize("patience", [0, 1, 3])
def test_patience_bears_so_many_bad_epochs_and_not_one_more(scripted, patience):
    # The second epoch is the best.
    learner = scripted(scores(0.1, 0.9, *[0.5] * 20))
    history = run(learner, plan(max_epochs=20, patience=patience))
    assert history.ended == "patience"
    assert len(history.epochs) == 2 + patience + 1
    assert learner.weight == 2


def test_an_improvement_renews_the_patience(scripted):
    verdicts = scores(0.1, 0.0, 0.0, 0.2, 0.0, 0.0, 0.3, 0.0, 0.0, 0.0)
    history = run(scripted(verdicts), plan(max_epochs=50, patience=2))
    assert history.best_epoch == 7
    assert len(history.epochs) == 10


def test_without_patience_all_epochs_are_run(scripted):
    history = run(scripted(scores(1, *[0] * 30)), plan(max_epochs=30, patience=None))
    assert len(history.epochs) == 30


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until somebody moves it."""
    clock = SimpleNamespace(now=100.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr("modernnca.train.loop.time", clock)

    def tick(n_steps):
        clock.now += 1

    clock.tick = tick
    return clock


def test_the_deadline_is_overrun_by_one_step_at_most(scripted, clock):
    # Three steps an epoch, one second each; time for 5.5: the sixth is the last.
    learner = scripted(scores(1, 2, 3), clock.tick)
    learner.n_rows = 6
    history = run(learner, plan(deadline=105.5))
    assert len(learner.batches) == 6
    assert history.ended == "time_limit"
    assert history.best_epoch == 1
    assert learner.weight == 3  # the first epoch was judged, the second was not
    assert [epoch.seconds for epoch in history.epochs] == [3]


def test_a_deadline_before_the_first_judgement_leaves_the_last_weights(scripted, clock):
    learner = scripted(scores(1), clock.tick)
    learner.n_rows = 20
    history = run(learner, plan(deadline=101.5))
    assert (history.ended, history.best_epoch, history.epochs) == ("time_limit", 0, [])
    assert learner.weight == 2


def interrupt_at(step):
    def during(n_steps):
        if n_steps == step:
            raise KeyboardInterrupt

    return during


def test_an_interruption_within_a_step_keeps_the_best_weights(scripted):
    learner = scripted(scores(0.1, 0.9, 0.5, 0.4), interrupt_at(4))
    history = run(learner, plan(max_epochs=9))
    assert history.ended == "interrupted"
    assert (history.best_epoch, learner.weight) == (2, 2)
    assert len(history.epochs) == 4


def test_other_errors_are_not_swallowed(scripted):
    def fail(n_steps):
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        run(scripted(during=fail), plan())


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_no_number_ends_it_with_the_best_weights(scripted, value):
    learner = scripted(
        scores(0.1, 0.9, 0.5), lambda n_steps: value if n_steps == 3 else None
    )
    history = run(learner, plan(max_epochs=9))
    assert (history.ended, history.best_epoch) == ("diverged", 2)
    assert learner.weight == 2


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_diverging_at_once_leaves_the_first_weights(scripted, optimizer):
    learner = scripted(during=lambda n_steps: math.nan)
    history = run(learner, plan(optimizer=optimizer))
    assert (history.ended, history.epochs) == ("diverged", [])
    assert learner.weight == 0


def test_callbacks_see_each_epoch_once_and_may_end_it(scripted):
    seen, all_seen = [], []

    def stop_at_three(epoch):
        seen.append(epoch)
        return epoch.epoch == 3

    history = run(
        scripted(scores(1, 2, 3, 4)),
        plan(max_epochs=9),
        callbacks=[stop_at_three, lambda epoch: all_seen.append(epoch)],
    )
    assert history.ended == "callback"
    assert seen == all_seen == history.epochs
    assert len(seen) == 3


def test_an_unknown_optimizer_is_named_with_the_choices(scripted):
    with pytest.raises(ValueError) as error:
        run(scripted(), plan(optimizer="adam"))
    assert str(error.value) == (
        "Unknown optimizer 'adam'; choose one of: adamw, adamw-95, lbfgs, sgd."
    )


# ------------------------------------------------------------------- it goes on


def timeless(epochs):
    return [epoch._replace(seconds=0.0) for epoch in epochs]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_going_on_later_gives_the_same_bits(least_squares, name):
    settings = plan(
        optimizer=name,
        learning_rate=RATES.get(name, 0.03),
        weight_decay=1e-3,
        batch_size=8,
        max_epochs=6,
    )
    kept = []
    with seeded(0) as generator:
        learner = least_squares(dropout=0.3)
        whole = train(
            learner,
            settings,
            generator,
            keep=lambda state: kept.append(deepcopy(state)),
        )
    expected = learner.module.state_dict()
    assert len(kept) == 6
    for state in kept:
        with seeded(99) as generator:  # any seed: the state brings its own
            later = least_squares(dropout=0.3)
            rest = train(later, settings, generator, resume=state)
        for key, value in later.module.state_dict().items():
            assert torch.equal(value, expected[key])
        assert timeless(rest.epochs) == timeless(whole.epochs)
        assert (rest.best_epoch, rest.ended) == (whole.best_epoch, whole.ended)


def test_going_on_remembers_the_patience_the_best_and_the_time(scripted, clock):
    kept = []
    verdicts = scores(0.9, 0.1, 0.1, 0.1, 0.1, 0.1)
    run(
        scripted(verdicts, clock.tick),
        plan(max_epochs=2, patience=2),
        keep=lambda state: kept.append(deepcopy(state)),
    )
    clock.now += 1000  # the pause does not count
    learner = scripted(verdicts[2:], clock.tick)
    history = run(learner, plan(max_epochs=9, patience=2), resume=kept[-1])
    assert (history.ended, history.best_epoch, learner.weight) == ("patience", 1, 1)
    assert [epoch.seconds for epoch in history.epochs] == [1, 2, 3, 4]


def test_a_finished_training_goes_on_to_nothing(scripted):
    kept = []
    settings = plan(max_epochs=3)
    verdicts = scores(0.1, 0.9, 0.5)
    run(scripted(verdicts), settings, keep=lambda state: kept.append(deepcopy(state)))
    learner = scripted()
    history = run(learner, settings, resume=kept[-1])
    assert learner.batches == []
    assert (history.ended, learner.weight) == ("max_epochs", 2)
