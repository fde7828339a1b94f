"""Ranks by hand, and the laws they keep."""

import numpy as np
import pytest
from pandas import DataFrame
from pandas.testing import assert_frame_equal
from tests.lab.stats.frames import DEMSAR, random_scores, rescaled, scores_of, shuffled

from modernnca.lab.stats import average_ranks, rank_each

NAN = np.nan


def hand():
    """Of method d there is no row on z."""
    means = DataFrame(
        {
            "a": [0.9, 0.8, NAN, 0.5],
            "b": [0.9, 0.7, 0.6, 0.5],
            "c": [0.1, NAN, NAN, 0.5],
            "d": [0.2, 0.6, 0.7, 0.0],
        },
        index=list("wxyz"),
    )
    scores = scores_of(means)
    return scores[(scores["dataset"] != "z") | (scores["method"] != "d")]


def test_equals_share_the_mean_rank_and_failures_the_last():
    ranks = rank_each(hand())
    np.testing.assert_array_equal(
        ranks.to_numpy(),
        [[1.5, 1.5, 4, 3], [1, 2, 4, 3], [3.5, 2, 3.5, 1], [2, 2, 2, NAN]],
    )


def test_drop_leaves_out_datasets_with_a_failure_but_not_with_an_absence():
    ranks = rank_each(hand(), missing="drop")
    assert ranks.index.tolist() == ["w", "z"]
    np.testing.assert_array_equal(ranks.loc["z"], [2, 2, 2, NAN])


def test_averages_say_over_how_many_datasets_and_failures():
    table = average_ranks(hand()).set_index("method")
    assert table.index.tolist() == ["b", "a", "d", "c"]
    assert table.loc["d"].tolist() == [pytest.approx(7 / 3), 3, 0]
    assert table.loc["a"].tolist() == [2.0, 4, 1]
    assert table.loc["c"].tolist() == [pytest.approx(13.5 / 4), 4, 2]


def test_lower_rmse_ranks_first():
    means = DataFrame({"a": [2.0], "b": [1.0]}, index=["x"])
    ranks = rank_each(scores_of(means, task="regression"))
    assert ranks.loc["x"].to_dict() == {"a": 2.0, "b": 1.0}


def test_the_average_ranks_of_demsar():
    table = average_ranks(scores_of(DEMSAR)).set_index("method")["rank"].round(3)
    printed = {"C4.5": 3.143, "C4.5+m": 2.0, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964}
    assert table.to_dict() == printed


@pytest.mark.parametrize("missing", ["last", "drop"])
@pytest.mark.parametrize("seed", range(5))
def test_neither_order_nor_units_matter(seed, missing):
    scores = random_scores(seed)
    table = average_ranks(scores, missing=missing)
    assert_frame_equal(average_ranks(shuffled(scores, seed), missing=missing), table)
    assert_frame_equal(average_ranks(rescaled(scores), missing=missing), table)


@pytest.mark.parametrize("seed", range(5))
def test_the_ranks_of_a_dataset_always_have_the_same_sum(seed):
    ranks = rank_each(random_scores(seed))
    k = ranks.notna().sum(axis=1)
    np.testing.assert_allclose(ranks.sum(axis=1), k * (k + 1) / 2)


def test_an_unknown_treatment_is_refused():
    with pytest.raises(ValueError) as error:
        rank_each(hand(), missing="first")
    assert str(error.value) == (
        "Unknown treatment of missing scores 'first'; choose one of: drop, last."
    )
