"""The loop: it learns, keeps the best, ends for the right reason, and resumes."""

import math
from copy import deepcopy

import pytest
import torch

from modernnca.train.budget import Budget
from modernnca.train.generators import Generators
from modernnca.train.loop import Pace, TrainingConfig, train
from modernnca.train.optimizers import OPTIMIZERS

# The scripted learner goes one step up in an epoch.
COUNTING = TrainingConfig(
    optimizer="sgd",
    learning_rate=1.0,
    weight_decay=0.0,
    batch_size=2,
    max_epochs=200,
    drop_last=False,
    patience=math.inf,
    min_gain=0.0,
    final_rate=1.0,
    warmup=0.0,
    tie_break="loss",
    weight_averaging=0.0,
)
RATES = {"adamw": 0.03, "sgd": 0.1, "lbfgs": 1.0}


def config(**changes):
    return COUNTING.updated(changes)


def run(learner, config, **options):
    generators = Generators.from_seed(0, torch.device("cpu"))
    return train(learner, config, generators, **options)


def scores(*values):
    """Results with these scores, all at the same loss."""
    return [(value, 1.0) for value in values]


# ------------------------------------------------------------------ it learns


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_each_optimizer_finds_the_known_solution(least_squares, generators, name):
    learner = least_squares(generators())
    history = run(
        learner,
        config(
            optimizer=name,
            learning_rate=RATES.get(name, 0.03),
            batch_size=24 if name == "lbfgs" else 8,
            max_epochs=200,
        ),
    )
    assert history.epochs[-1].train_loss < 1e-3 * history.epochs[0].train_loss
    linear = learner.module
    torch.testing.assert_close(linear.weight.T, learner.w, atol=0.02, rtol=0)
    assert linear.bias.item() == pytest.approx(3, abs=0.02)


def test_an_epoch_visits_each_row_once_in_a_new_order(scripted):
    learner = scripted()
    learner.n_rows = 10
    run(learner, config(batch_size=4, max_epochs=2))
    assert [len(batch) for batch in learner.batches] == [4, 4, 2, 4, 4, 2]
    visited = [row for batch in learner.batches for row in batch]
    first, second = visited[:10], visited[10:]
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second


def test_the_train_loss_is_the_mean_over_rows(scripted):
    # Batches of 2, 2 and 1 rows with losses 0, -1, -2, as the weight goes 0, 1, 2.
    learner = scripted()
    learner.n_rows = 5
    history = run(learner, config(max_epochs=1))
    assert history.epochs[0].train_loss == pytest.approx((2 * 0 - 2 * 1 - 1 * 2) / 5)


def test_every_epoch_starts_in_training_mode(scripted):
    modes = []
    learner = scripted(during=lambda _: modes.append(learner.module.training))
    run(
        learner,
        config(max_epochs=3),
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
    run(learner, config(max_epochs=2))
    assert seen == [0, 0.25, 0.5, 0.75]
    assert learner.weight == pytest.approx(sum(seen))  # a step goes up by the rate


def test_a_schedule_is_resumed_where_it_was(least_squares, generators):
    kept = []
    settings = config(learning_rate=0.1, weight_decay=0.01, max_epochs=4)
    learner = least_squares(generators())
    learner.pace = lambda progress: Pace(1 - progress, progress)
    run(learner, settings, keep=lambda state: kept.append(deepcopy(state)))
    later = least_squares(generators())
    later.pace = learner.pace
    run(later, settings, resume=kept[1])
    assert torch.equal(later.module.weight, learner.module.weight)


# ---------------------------------------------------------- it keeps the best


def test_the_best_weights_come_back(scripted):
    learner = scripted(scores(0.1, 0.5, 0.9, 0.3, 0.2))
    history = run(learner, config(max_epochs=5))
    assert history.best_epoch == 3
    assert learner.weight == 3
    assert [epoch.best for epoch in history.epochs] == [True, True, True, False, False]
    assert [epoch.score for epoch in history.epochs] == [0.1, 0.5, 0.9, 0.3, 0.2]
    assert [epoch.epoch for epoch in history.epochs] == [1, 2, 3, 4, 5]


def test_a_tie_goes_to_the_lower_loss_and_else_to_the_earlier(scripted):
    learner = scripted([(0.5, 3.0), (0.5, 1.0), (0.5, 2.0), (0.5, 1.0), (0.4, 0.0)])
    assert run(learner, config(max_epochs=5)).best_epoch == 2
    assert learner.weight == 2


def test_a_tie_may_go_to_the_later_epoch(scripted):
    learner = scripted([(0.5, 3.0), (0.5, 1.0), (0.5, 2.0), (0.4, 0.0)])
    settings = config(max_epochs=4, tie_break="later")
    assert run(learner, settings).best_epoch == 3
    assert learner.weight == 3


def test_an_undefined_score_is_never_the_best(scripted):
    learner = scripted([(math.nan, 0.0), (0.1, 1.0), (math.nan, 0.0)])
    assert run(learner, config(max_epochs=3)).best_epoch == 2
    assert learner.weight == 2


def test_without_validation_the_last_weights_stay(scripted):
    def refuse():
        raise AssertionError("validated")

    learner = scripted()
    learner.validate = refuse
    history = run(learner, config(max_epochs=4, patience=1), validated=False)
    assert learner.weight == 4
    assert (history.best_epoch, history.ended) == (4, "max_epochs")
    assert all(math.isnan(epoch.score) for epoch in history.epochs)


# ------------------------------------------------------------ reasons to end


def test_max_epochs_is_kept(scripted):
    history = run(scripted(scores(*range(9))), config(max_epochs=3, patience=5))
    assert (len(history.epochs), history.ended) == (3, "max_epochs")


@pytest.mark.parametrize("patience", [0, 1, 3])
def test_patience_bears_so_many_bad_epochs_and_not_one_more(scripted, patience):
    # The second epoch is the best.
    learner = scripted(scores(0.1, 0.9, *[0.5] * 20))
    history = run(learner, config(max_epochs=20, patience=patience))
    assert history.ended == "patience"
    assert len(history.epochs) == 2 + patience + 1
    assert learner.weight == 2


def test_an_improvement_renews_the_patience(scripted):
    results = scores(0.1, 0.0, 0.0, 0.2, 0.0, 0.0, 0.3, 0.0, 0.0, 0.0)
    history = run(scripted(results), config(max_epochs=50, patience=2))
    assert history.best_epoch == 7
    assert len(history.epochs) == 10


def test_infinite_patience_runs_all_epochs(scripted):
    settings = config(max_epochs=30, patience=math.inf)
    history = run(scripted(scores(1, *[0] * 30)), settings)
    assert len(history.epochs) == 30


def test_the_time_limit_is_overrun_by_one_step_at_most(scripted, clock):
    # Three steps an epoch, one second each; time for 5.5: the sixth is the last.
    learner = scripted(scores(1, 2, 3), clock.tick)
    learner.n_rows = 6
    history = run(learner, config(), budget=Budget(5.5))
    assert len(learner.batches) == 6
    assert history.ended == "time_limit"
    assert history.best_epoch == 1
    assert learner.weight == 3  # the first epoch was validated, the second was not
    assert [epoch.seconds for epoch in history.epochs] == [3]


def test_a_part_of_an_epoch_counts_with_the_one_before(scripted, clock):
    """Without validation the last weights are kept, but no epoch is made up."""
    learner = scripted([], clock.tick)
    learner.n_rows = 6
    history = run(learner, config(), validated=False, budget=Budget(5.5))
    assert history.ended == "time_limit"
    assert (history.best_epoch, len(history.epochs)) == (1, 1)
    assert learner.weight == 6


def test_a_time_limit_within_the_first_epoch_leaves_the_last_weights(scripted, clock):
    learner = scripted(scores(1), clock.tick)
    learner.n_rows = 20
    history = run(learner, config(), budget=Budget(1.5))
    assert (history.ended, history.best_epoch, history.epochs) == ("time_limit", 0, [])
    assert learner.weight == 2


def interrupt_at(step):
    def during(n_steps):
        if n_steps == step:
            raise KeyboardInterrupt

    return during


def test_an_interruption_within_a_step_keeps_the_best_weights(scripted):
    learner = scripted(scores(0.1, 0.9, 0.5, 0.4), interrupt_at(4))
    budget = Budget()
    history = run(learner, config(max_epochs=9), budget=budget)
    assert history.ended == "interrupted"
    assert (history.best_epoch, learner.weight) == (2, 2)
    assert len(history.epochs) == 4
    assert budget.interrupted


def test_an_interruption_in_a_callback_keeps_the_epoch(scripted):
    def interrupt(epoch):
        if epoch.epoch == 3:
            raise KeyboardInterrupt

    budget = Budget()
    learner = scripted(scores(0.1, 0.2, 0.9, 0.4))
    history = run(learner, config(max_epochs=9), budget=budget, callbacks=[interrupt])
    assert history.ended == "interrupted"
    assert (history.best_epoch, learner.weight, len(history.epochs)) == (3, 3, 3)
    assert budget.interrupted


def test_an_interrupted_budget_ends_the_training_after_a_step(scripted):
    # Two steps an epoch; the third step is the first of the second epoch.
    budget = Budget()
    learner = scripted(scores(1, 2), lambda n: budget.interrupt() if n == 2 else None)
    learner.n_rows = 4
    history = run(learner, config(), budget=budget)
    assert (history.ended, history.best_epoch) == ("interrupted", 1)
    assert (len(learner.batches), learner.weight) == (3, 2)


@pytest.mark.parametrize("place", ["step", "callback"])
def test_the_second_interruption_is_raised(scripted, place):
    budget = Budget()

    def interrupt_twice(_):
        budget.interrupt()
        raise KeyboardInterrupt

    during = interrupt_twice if place == "step" else lambda n_steps: None
    callbacks = [interrupt_twice] if place == "callback" else []
    with pytest.raises(KeyboardInterrupt):
        run(scripted(during=during), config(), budget=budget, callbacks=callbacks)


def test_other_errors_are_not_swallowed(scripted):
    def fail(n_steps):
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        run(scripted(during=fail), config())


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_ends_it_with_the_best_weights(scripted, value):
    learner = scripted(
        scores(0.1, 0.9, 0.5), lambda n_steps: value if n_steps == 3 else None
    )
    history = run(learner, config(max_epochs=9))
    assert (history.ended, history.best_epoch) == ("diverged", 2)
    assert learner.weight == 2


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_diverging_at_once_leaves_the_first_weights(scripted, optimizer):
    learner = scripted(during=lambda n_steps: math.nan)
    history = run(learner, config(optimizer=optimizer))
    assert (history.ended, history.epochs) == ("diverged", [])
    assert learner.weight == 0


def test_callbacks_see_each_epoch_once_and_may_end_it(scripted):
    seen, all_seen = [], []

    def stop_at_three(epoch):
        seen.append(epoch)
        return epoch.epoch == 3

    history = run(
        scripted(scores(1, 2, 3, 4)),
        config(max_epochs=9),
        callbacks=[stop_at_three, lambda epoch: all_seen.append(epoch)],
    )
    assert history.ended == "callback"
    assert seen == all_seen == history.epochs
    assert len(seen) == 3


def test_an_unknown_optimizer_is_named_with_the_choices(scripted):
    with pytest.raises(ValueError) as error:
        run(scripted(), config(optimizer="adam"))
    assert str(error.value) == (
        "Unknown optimizer 'adam'; choose one of: adamw, adamw-95, lbfgs, muon, sgd."
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"optimizer": "adam"},
            "optimizer must be one of: adamw, adamw-95, lbfgs, muon, sgd; got 'adam'.",
        ),
        ({"learning_rate": 0}, "learning_rate must be a number above 0; got 0."),
        ({"max_epochs": 0}, "max_epochs must be a whole number of at least 1; got 0."),
        (
            {"patience": 1.5},
            "patience must be a whole number of at least 0 or inf; got 1.5.",
        ),
        ({"tie_break": "first"}, "tie_break must be one of: later, loss; got 'first'."),
    ],
)
def test_bad_options_are_named_with_what_is_allowed(changes, message):
    with pytest.raises(ValueError) as error:
        config(**changes).check()
    assert str(error.value) == message


def test_good_options_pass_the_check():
    config(patience=0).check()
    config(patience=math.inf, batch_size=None).check()
    TrainingConfig.defaults().check()


# ------------------------------------------------------------------ it resumes


def timeless(epochs):
    return [epoch._replace(seconds=0.0) for epoch in epochs]


@pytest.mark.parametrize("averaging", [0.0, 2.0])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_resuming_gives_the_same_bits(least_squares, generators, name, averaging):
    settings = config(
        optimizer=name,
        learning_rate=RATES.get(name, 0.03),
        weight_decay=1e-3,
        batch_size=8,
        max_epochs=6,
        weight_averaging=averaging,
    )
    kept = []
    drawn = generators(0)
    learner = least_squares(drawn, dropout=0.3)
    whole = train(
        learner, settings, drawn, keep=lambda state: kept.append(deepcopy(state))
    )
    expected = learner.module.state_dict()
    assert len(kept) == 6
    for state in kept:
        drawn = generators(99)  # any seed: the state brings its own
        later = least_squares(drawn, dropout=0.3)
        rest = train(later, settings, drawn, resume=state)
        for key, value in later.module.state_dict().items():
            assert torch.equal(value, expected[key])
        assert timeless(rest.epochs) == timeless(whole.epochs)
        assert (rest.best_epoch, rest.ended) == (whole.best_epoch, whole.ended)


def test_resuming_remembers_the_patience_the_best_and_the_time(scripted, clock):
    kept = []
    results = scores(0.9, 0.1, 0.1, 0.1, 0.1, 0.1)
    run(
        scripted(results, clock.tick),
        config(max_epochs=2, patience=2),
        keep=lambda state: kept.append(deepcopy(state)),
    )
    clock.now += 1000  # the pause does not count
    learner = scripted(results[2:], clock.tick)
    history = run(learner, config(max_epochs=9, patience=2), resume=kept[-1])
    assert (history.ended, history.best_epoch, learner.weight) == ("patience", 1, 1)
    assert [epoch.seconds for epoch in history.epochs] == [1, 2, 3, 4]


def test_a_finished_training_has_nothing_to_resume(scripted):
    kept = []
    settings = config(max_epochs=3)
    results = scores(0.1, 0.9, 0.5)
    run(scripted(results), settings, keep=lambda state: kept.append(deepcopy(state)))
    learner = scripted()
    history = run(learner, settings, resume=kept[-1])
    assert learner.batches == []
    assert (history.ended, learner.weight) == ("max_epochs", 2)


# ------------------------------------------------------------- it leaves no trace


def test_the_global_generator_is_neither_read_nor_changed(least_squares, generators):
    weights = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        drawn = generators(0)
        learner = least_squares(drawn, dropout=0.3)
        train(learner, config(learning_rate=0.1, max_epochs=3), drawn)
        assert torch.equal(torch.get_rng_state(), before)
        weights.append(learner.module.weight)
    assert torch.equal(*weights)


# ---------------------------------------------------------- schedule and batches


def test_the_rate_grows_in_the_warmup_and_falls_to_the_end(scripted):
    learner = scripted(scores(1, 2, 3, 4))
    learner.n_rows = 2  # one step an epoch, of size 1 at the full rate
    run(learner, config(max_epochs=4, warmup=2.0, final_rate=0.5))
    # Shares of 4 epochs: 0, 1/4, 1/2, 3/4; warmup 0, 1/2, 1, 1.
    expected = 0 + 0.5 * 0.875 + 0.75 + 0.625
    assert learner.weight == pytest.approx(expected)


def test_batches_have_one_size_and_other_rows_are_left_out_each_time(scripted):
    learner = scripted()
    learner.n_rows = 11
    run(learner, config(batch_size=4, max_epochs=3, drop_last=True))
    assert [len(batch) for batch in learner.batches] == [5, 5] * 3
    left = [
        set(range(11)) - {row for batch in learner.batches[i : i + 2] for row in batch}
        for i in (0, 2, 4)
    ]
    assert all(len(rows) == 1 for rows in left)
    assert len(set.union(*left)) > 1
