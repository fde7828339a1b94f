"""Tests of significance: worked examples, other packages, laws."""

import os
from pathlib import Path

import numpy as np
import pytest
from benchmarks.paper_table1 import compare
from pandas import DataFrame
from pandas.testing import assert_frame_equal
from scipy import stats
from tests.lab.stats.frames import DEMSAR, random_scores, rescaled, scores_of, shuffled

from modernnca.lab.stats import (
    average_ranks,
    cliques,
    complete,
    friedman,
    holm,
    losses,
    nemenyi_distance,
    rank_each,
    wilcoxon_holm,
    win_tie_lose,
)
from modernnca.lab.stats.summary import SCORES

NAN = np.nan


# Over runs: Win/Tie/Lose


def verdict(left, right, *, task="binclass"):
    """The verdict on one dataset between (mean, std, n) and (mean, std, n)."""
    scores = scores_of(DataFrame({"a": [0.0], "b": [0.0]}, index=["x"]), task=task)
    scores[["mean", "std", "n"]] = [left, right]
    row = win_tie_lose(scores, "a").iloc[0]
    return {name: int(row[name]) for name in ("win", "tie", "lose") if row[name]}


def test_the_better_mean_wins_if_the_runs_show_it():
    assert verdict((0.9, 0.01, 15), (0.8, 0.01, 15)) == {"win": 1}
    assert verdict((0.9, 0.2, 15), (0.8, 0.2, 15)) == {"tie": 1}
    assert verdict((0.9, 0.01, 15), (0.8, 0.01, 15), task="regression") == {"lose": 1}


def test_without_spread_different_means_differ_and_so_do_those_of_a_single_run():
    assert verdict((0.9, 0.0, 15), (0.8999, 0.0, 15)) == {"win": 1}
    assert verdict((0.9, 0.0, 15), (0.9, 0.0, 15)) == {"tie": 1}
    assert verdict((0.9, 0.0, 1), (0.2, 0.0, 1)) == {"win": 1}
    assert verdict((0.9, 0.0, 15), (0.2, 0.0, 1)) == {"win": 1}


def test_it_is_welchs_test_of_the_runs_themselves():
    rng = np.random.default_rng(0)
    rows, expected = [], {"win": 0, "tie": 0, "lose": 0}
    for number in range(300):
        left = rng.normal(0.5, 0.02, rng.integers(2, 12))
        right = rng.normal(0.51, rng.choice([0.005, 0.05]), rng.integers(2, 12))
        for name, runs in (("a", left), ("b", right)):
            numbers = [runs.mean(), runs.std(), len(runs)]
            rows.append([number, "binclass", name, *numbers, True])
        p = stats.ttest_ind(left, right, equal_var=False).pvalue
        better = "win" if left.mean() > right.mean() else "lose"
        expected[better if p < 0.05 else "tie"] += 1
    found = win_tie_lose(DataFrame(rows, columns=list(SCORES)), "a").iloc[0]
    assert found[list(expected)].to_dict() == expected
    assert min(expected.values()) > 3


def test_a_dataset_without_both_scores_counts_for_neither():
    means = DataFrame(
        {"a": [0.9, NAN, 0.9, 0.9], "b": [0.8, 0.8, NAN, 0.8], "c": 0.9},
        index=list("wxyz"),
    )
    scores = scores_of(means)
    scores = scores[(scores["dataset"] != "z") | (scores["method"] != "b")]
    table = win_tie_lose(scores, "a").set_index("opponent")
    assert table.index.tolist() == ["b", "c"]
    assert table.loc["b"].to_dict() == {
        "win": 1,
        "tie": 0,
        "lose": 0,
        "n": 1,
        "n_untested": 0,
        "n_missing": 2,
    }
    assert table.loc["c", ["tie", "n", "n_missing"]].tolist() == [3, 3, 1]


def test_without_seeds_to_test_with_the_better_score_wins():
    means = DataFrame({"a": [0.9, 0.8, 0.7], "b": [0.8, 0.8, 0.9]}, index=list("xyz"))
    found = win_tie_lose(scores_of(means).assign(n=1, std=0.0), "a").iloc[0]
    expected = {"win": 1, "tie": 1, "lose": 1, "n": 3, "n_untested": 3}
    assert found[list(expected)].to_dict() == expected


@pytest.mark.parametrize("seed", range(5))
def test_a_win_is_the_others_loss_and_neither_order_nor_units_matter(seed):
    scores = random_scores(seed)
    table = win_tie_lose(scores, "m0")
    assert table[["win", "tie", "lose"]].sum(axis=1).equals(table["n"])
    for row in table.itertuples():
        mirror = win_tie_lose(scores, row.opponent).set_index("opponent").loc["m0"]
        assert (mirror["win"], mirror["lose"]) == (row.lose, row.win)
    assert_frame_equal(win_tie_lose(shuffled(scores, seed), "m0"), table)
    assert_frame_equal(win_tie_lose(rescaled(scores), "m0"), table)


def test_unknown_methods_and_levels_are_refused():
    scores = random_scores()
    with pytest.raises(ValueError, match="Unknown method 'm9'; choose one of: m0, m1"):
        win_tie_lose(scores, "m9")
    with pytest.raises(ValueError) as error:
        win_tie_lose(scores, "m0", alpha=5)
    assert str(error.value) == "alpha is 5; it must be between 0 and 1, e.g. 0.05."


@pytest.mark.skipif(
    "MODERNNCA_PAPER" not in os.environ,
    reason="MODERNNCA_PAPER names no folder with talent_published.csv",
)
def test_published_scores_give_the_papers_table_1():
    table = compare(Path(os.environ["MODERNNCA_PAPER"]) / "talent_published.csv")
    assert len(table) == 19
    assert table["gap"].max() <= 0.05


# Over datasets: Friedman, Iman and Davenport, Nemenyi


def test_friedman_and_iman_davenport_of_demsar():
    result = friedman(scores_of(DEMSAR), correct_ties=False)
    assert (result.n_datasets, result.n_methods) == (14, 4)
    assert round(result.statistic, 2) == 9.28
    assert round(result.iman_davenport, 2) == 3.69
    assert result.p == pytest.approx(stats.chi2.sf(9.28, 3), rel=0.01)
    assert result.iman_davenport_p == pytest.approx(stats.f.sf(3.69, 3, 39), rel=0.01)
    assert result.iman_davenport_p < 0.05  # Demsar: the critical value is 2.85


@pytest.mark.parametrize("table", ["demsar", 0, 1])
def test_friedman_corrected_for_ties_is_scipys(table):
    scores = (
        random_scores(table, holes=False) if table != "demsar" else scores_of(DEMSAR)
    )
    expected = stats.friedmanchisquare(*losses(scores).to_numpy().T)
    result = friedman(scores)
    assert result.statistic == pytest.approx(expected.statistic)
    assert result.p == pytest.approx(expected.pvalue)


def test_friedman_at_its_limits():
    alike = DataFrame({"a": [0.5] * 4, "b": [0.5] * 4, "c": [0.5] * 4})
    assert friedman(scores_of(alike))[:2] == (0.0, 1.0)
    ordered = DataFrame({"a": [0.5] * 4, "b": [0.6] * 4, "c": [0.7] * 4})
    result = friedman(scores_of(ordered))
    assert result.statistic == pytest.approx(8.0)  # n (k - 1), the largest there is
    assert (result.iman_davenport, result.iman_davenport_p) == (np.inf, 0.0)


def test_friedman_says_what_it_needs():
    scores = random_scores(holes=False)
    with pytest.raises(ValueError) as error:
        friedman(scores.drop(index=7))
    assert str(error.value) == (
        "Friedman's test needs every method on every dataset, but 'm2' has no row for "
        "'d01'; use complete(scores)."
    )
    assert friedman(complete(scores.drop(index=7))).n_methods == 4
    failed = scores.assign(mean=scores["mean"].mask(scores.index == 7))
    assert friedman(failed).n_datasets == 12
    assert friedman(failed, missing="drop").n_datasets == 11
    with pytest.raises(
        ValueError, match="at least 2 datasets and 2 methods; there are 1"
    ):
        friedman(scores[scores["dataset"] == "d00"])


# Demsar (2006), Table 5(a).
Q = {
    0.05: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
    0.10: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
}


@pytest.mark.parametrize("alpha", Q)
def test_the_critical_values_of_demsar(alpha):
    for k, q in enumerate(Q[alpha], start=2):
        distance = nemenyi_distance(k, 14, alpha=alpha)
        assert distance == pytest.approx(q * np.sqrt(k * (k + 1) / 84), rel=6e-4)
    assert round(nemenyi_distance(4, 14), 2) == 1.25
    assert round(nemenyi_distance(4, 14, alpha=0.10), 2) == 1.12


def test_nemenyis_distance_parts_what_scikit_posthocs_parts():
    posthocs = pytest.importorskip("scikit_posthocs")
    scores = scores_of(DEMSAR)
    ranks = rank_each(scores).mean()
    p = posthocs.posthoc_nemenyi_friedman(DEMSAR)
    distance = nemenyi_distance(4, 14)
    for left in ranks.index:
        for right in ranks.index.drop(left):
            far = abs(ranks[left] - ranks[right])
            assert (p.loc[left, right] < 0.05) == (far > distance)
            alpha = float(p.loc[left, right])
            if alpha < 0.99:  # at its own p a difference is just significant
                own = nemenyi_distance(4, 14, alpha=alpha)
                assert own == pytest.approx(far, rel=1e-3)


def test_autorank_finds_the_same_ranks_friedman_and_distance():
    autorank = pytest.importorskip("autorank").autorank
    result = autorank(DEMSAR, alpha=0.05, force_mode="nonparametric")
    scores = scores_of(DEMSAR)
    ours = average_ranks(scores).set_index("method")["rank"]
    theirs = result.rankdf["meanrank"].loc[ours.index]
    np.testing.assert_allclose(ours, theirs)
    assert result.omnibus == "friedman"
    assert friedman(scores).p == pytest.approx(result.pvalue)
    assert nemenyi_distance(4, 14) == pytest.approx(result.cd, rel=1e-3)


def test_nemenyi_says_what_it_needs():
    with pytest.raises(
        ValueError, match="at least 2 methods and 1 dataset; there are 1"
    ):
        nemenyi_distance(1, 14)


# Over datasets, two by two: Wilcoxon and Holm


def test_the_wilcoxon_example_of_demsar():
    pairs = wilcoxon_holm(scores_of(DEMSAR)).set_index(["left", "right"])
    row = pairs.loc[("C4.5", "C4.5+m")]
    assert row["n"] == 14
    assert row["statistic"] == 12.0
    assert row["p"] < 0.05


@pytest.mark.parametrize("n_datasets", [30, 60])
@pytest.mark.parametrize("seed", range(2))
def test_wilcoxon_holm_is_scikit_posthocs(seed, n_datasets):
    posthocs = pytest.importorskip("scikit_posthocs")
    scores = random_scores(seed, n_datasets=n_datasets, holes=False)
    if n_datasets < 50:  # exact there only without ties
        scores["mean"] += np.random.default_rng(seed).uniform(0, 0.001, len(scores))
    expected = posthocs.posthoc_wilcoxon(
        list(losses(scores).to_numpy().T), p_adjust="holm", zero_method="pratt"
    ).to_numpy()
    ours = wilcoxon_holm(scores)
    np.testing.assert_allclose(ours["p_holm"], expected[np.triu_indices(5, 1)])


def test_pairs_are_compared_where_both_have_scores():
    means = DataFrame(
        {"a": [0.1, 0.2, 0.3, NAN], "b": [0.1, 0.2, NAN, 0.3], "c": [NAN] * 4}
    )
    table = wilcoxon_holm(scores_of(means))
    assert table["n"].tolist() == [2, 0, 0]
    assert table["p"].iloc[0] == 1.0  # no difference on any
    assert table["statistic"].iloc[0] == 1.5
    assert table["p_holm"].iloc[0] == 1.0
    assert table[["p", "p_holm"]].iloc[1:].isna().all(axis=None)
    assert not table["significant"].any()


def test_relative_differences_do_not_know_units_and_raw_ones_do():
    scores = random_scores(4, n_datasets=30)
    scores["mean"] += 0.01 * np.arange(len(scores)) / len(scores)
    relative = wilcoxon_holm(scores, differences="relative")
    assert_frame_equal(
        wilcoxon_holm(rescaled(scores), differences="relative"), relative
    )
    assert (wilcoxon_holm(rescaled(scores))["p"] != wilcoxon_holm(scores)["p"]).any()
    perfect = scores_of(DataFrame({"a": [1.0, 1.0], "b": [1.0, 0.9]}))
    assert wilcoxon_holm(perfect, differences="relative")["statistic"].tolist() == [0.5]
    with pytest.raises(ValueError, match="Unknown kind of difference 'log'"):
        wilcoxon_holm(scores, differences="log")


def test_equal_differences_share_their_rank_whatever_the_rounding():
    means = DataFrame({"a": [0.1, 0.7, 0.9], "b": [0.2, 0.6, 0.8]})
    assert len(set((means["a"] - means["b"]).abs())) > 1
    assert wilcoxon_holm(scores_of(means))["statistic"].tolist() == [2.0]


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_does_not_matter_to_wilcoxon(seed):
    scores = random_scores(seed)
    assert_frame_equal(wilcoxon_holm(shuffled(scores, seed)), wilcoxon_holm(scores))


def test_holm_by_hand():
    # 4 * 0.01; 3 * 0.015; then 2 * 0.02 falls below and takes the larger before it.
    p = np.array([0.02, 0.5, 0.01, 0.015])
    np.testing.assert_allclose(holm(p), [0.045, 0.5, 0.04, 0.045])
    np.testing.assert_array_equal(holm(np.array([0.9, NAN, 0.8])), [1.0, NAN, 1.0])
    assert holm(np.array([])).shape == (0,)


@pytest.mark.parametrize("seed", range(3))
def test_holm_is_statsmodels(seed):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p = np.random.default_rng(seed).beta(0.3, 2, size=40).round(3)
    expected = multitest.multipletests(p, method="holm")[1]
    np.testing.assert_allclose(holm(p), expected)


# Cliques


def bars(order, apart):
    ranks = DataFrame({"method": list(order), "rank": range(len(order))})
    pairs = [[*sorted(pair), True] for pair in apart]
    return cliques(ranks, DataFrame(pairs, columns=["left", "right", "significant"]))


@pytest.mark.parametrize(
    ("apart", "groups"),
    [
        ([], ["abcd"]),
        (["ad"], ["abc", "bcd"]),
        (["ac", "ad", "bd"], ["ab", "bc", "cd"]),
        (["ab", "ac", "ad"], ["bcd"]),
        (["bc"], ["ab", "cd"]),  # a and d do not differ, but those between them do
        (["ab", "bc", "cd"], []),
    ],
)
def test_bars_join_neighbors_that_do_not_differ(apart, groups):
    assert bars("abcd", apart) == [list(group) for group in groups]


def test_cliques_of_demsar_and_of_methods_without_a_rank():
    scores = scores_of(DEMSAR)
    groups = cliques(average_ranks(scores), wilcoxon_holm(scores))
    assert groups == [["C4.5+m+cf", "C4.5+m", "C4.5+cf"], ["C4.5+cf", "C4.5"]]
    ranks = DataFrame({"method": ["b", "a", "x"], "rank": [2.0, 1.0, NAN]})
    pairs = DataFrame([["a", "b", False]], columns=["left", "right", "significant"])
    assert cliques(ranks, pairs) == [["a", "b"]]
