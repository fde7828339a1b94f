"""Relative improvement by hand, and intervals that cover."""

import numpy as np
import pytest
from pandas import DataFrame
from pandas.testing import assert_frame_equal
from tests.lab.stats.frames import random_scores, rescaled, scores_of, shuffled

from modernnca.lab.stats import relative_improvement
from modernnca.lab.stats.intervals import bootstrap_mean

NAN = np.nan


def test_geometric_means_by_hand():
    means = DataFrame(
        {"a": [0.9, 0.6, 1.0, 2.0, 0.0, NAN], "b": [0.8, 0.6, 0.999, 1.0, 0.0, 1.0]},
        index=list("uvwxyz"),
    )
    tasks = dict.fromkeys("uvw", "binclass") | dict.fromkeys("xyz", "regression")
    table = relative_improvement(scores_of(means, task=tasks), "a", "b")
    assert table["task_group"].tolist() == ["classification", "regression", "all"]
    # Errors 0.1 / 0.2, 0.4 / 0.4 and two below the floor; RMSE 2 / 1 and 0 / 0.
    np.testing.assert_allclose(table["ratio"], [0.5 ** (1 / 3), 2**0.5, 1.0])
    assert table["wins"].tolist() == [1, 0, 1]
    assert table["losses"].tolist() == [0, 1, 1]
    assert table["ties"].tolist() == [2, 1, 3]
    assert table["n"].tolist() == [3, 2, 5]
    assert (table["low"] <= table["ratio"]).all()
    assert (table["high"] >= table["ratio"]).all()


def test_no_ratio_leaves_the_floor_and_its_inverse():
    means = DataFrame({"a": [0.0, np.inf], "b": [1.0, 1e9]}, index=["x", "y"])
    scores = scores_of(means, task="regression")
    one, other = (scores[scores["dataset"] == name] for name in "xy")
    ratios = [
        relative_improvement(part, "a", "b")["ratio"].iloc[0] for part in (one, other)
    ]
    np.testing.assert_allclose(ratios, [0.002, 500])


@pytest.mark.parametrize("seed", range(5))
def test_order_and_units_do_not_matter_and_the_other_way_round_is_the_inverse(seed):
    scores = random_scores(seed)
    table = relative_improvement(scores, "m0", "m1")
    assert_frame_equal(relative_improvement(shuffled(scores), "m0", "m1"), table)
    assert_frame_equal(relative_improvement(rescaled(scores), "m0", "m1"), table)
    back = relative_improvement(scores, "m1", "m0")
    np.testing.assert_allclose(back["ratio"], 1 / table["ratio"])
    np.testing.assert_allclose(back["low"], 1 / table["high"])
    assert back["wins"].equals(table["losses"].rename("wins"))


def test_a_group_without_a_dataset_has_no_row():
    scores = scores_of(DataFrame({"a": [0.9], "b": [0.8], "c": [NAN]}, index=["x"]))
    groups = relative_improvement(scores, "a", "b")["task_group"].tolist()
    assert groups == ["classification", "all"]
    assert relative_improvement(scores, "a", "c").empty


def test_the_interval_covers_what_it_should():
    rng = np.random.default_rng(0)
    covered = [
        low <= 0.3 <= high
        for seed in range(400)
        for low, high in [bootstrap_mean(rng.normal(0.3, 1, 60), n_boot=500, seed=seed)]
    ]
    assert 0.91 <= np.mean(covered) <= 0.98


def test_seeds_repeat_and_bad_values_are_refused():
    scores = random_scores()
    first = relative_improvement(scores, "m0", "m1", seed=1)
    assert_frame_equal(relative_improvement(scores, "m0", "m1", seed=1), first)
    other = relative_improvement(scores, "m0", "m1", seed=2)
    assert (other["low"] != first["low"]).any()
    for floor in (0, 1):
        with pytest.raises(ValueError, match=f"floor is {floor}; it must lie between"):
            relative_improvement(scores, "m0", "m1", floor=floor)
    with pytest.raises(ValueError, match="Unknown method 'x'; choose one of: m0"):
        relative_improvement(scores, "m0", "x")
