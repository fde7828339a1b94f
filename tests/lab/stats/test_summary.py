"""Runs to scores, and scores laid out."""

import math

import numpy as np
import pandas as pd
import pytest
from tests.lab.stats.frames import random_scores, records_of, scores_of

from modernnca.lab.stats import complete, losses, summarize, task_group
from modernnca.lab.stats.summary import METRICS, SCORES


def runs(scores, *, dataset="iris", task="multiclass", method="knn", split=0):
    return [
        (dataset, task, method, split, seed, "done", score)
        for seed, score in enumerate(scores)
    ]


def test_a_mean_and_a_population_spread_over_seeds():
    row = summarize(records_of(runs([0.8, 0.9, 1.0]))).iloc[0]
    assert row["mean"] == pytest.approx(0.9)
    assert row["std"] == pytest.approx(math.sqrt(0.02 / 3))
    assert (row["n"], row["higher"], row["task"]) == (3, True, "multiclass")


def test_classes_are_judged_by_accuracy_and_numbers_by_rmse():
    rows = runs([0.8]) + runs([3.0, 5.0], dataset="houses", task="regression")
    scores = summarize(records_of(rows)).set_index("dataset")
    assert list(summarize(records_of(rows)).columns) == list(SCORES)
    assert scores.loc["houses", "mean"] == 4.0
    assert scores["higher"].to_dict() == {"iris": True, "houses": False}


def test_failed_runs_are_no_scores_and_a_method_that_only_failed_stays():
    records = records_of(
        [
            ("iris", "multiclass", "knn", 0, 0, "done", 0.9),
            ("iris", "multiclass", "knn", 0, 1, "timeout", 0.1),
            ("iris", "multiclass", "svm", 0, 0, "memory", np.nan),
        ]
    )
    scores = summarize(records).set_index("method")
    assert scores.loc["knn", ["mean", "n"]].tolist() == [0.9, 1]
    assert scores.loc["svm", "n"] == 0
    assert math.isnan(scores.loc["svm", "mean"])


def test_of_several_splits_the_runs_are_the_splits():
    rows = runs([0.7, 0.9], split=0) + runs([0.5, 0.7], split=1)
    row = summarize(records_of(rows)).iloc[0]
    assert row["mean"] == pytest.approx(0.7)
    assert row["std"] == pytest.approx(0.1)
    assert row["n"] == 2


def test_several_settings_are_told_apart_and_one_is_not_said():
    records = records_of(runs([0.7]))
    both = pd.concat([records, records.assign(settings="tuned", accuracy=0.8)])
    named = summarize(both).set_index("method")["mean"]
    assert named.to_dict() == {"knn (default)": 0.7, "knn (tuned)": 0.8}
    assert summarize(records.assign(settings="tuned"))["method"].tolist() == ["knn"]


def test_a_named_metric_keeps_the_tasks_it_judges():
    rows = runs([0.8]) + runs([3.0], dataset="houses", task="regression")
    records = records_of(rows).assign(
        **{"log-loss": [0.5, np.nan], "r2": [np.nan, 0.4]}
    )
    scores = summarize(records, "log-loss")
    assert scores["dataset"].tolist() == ["iris"]
    assert not scores["higher"].any()
    assert summarize(records, "r2")["mean"].tolist() == [0.4]
    assert losses(summarize(records, "r2")).iloc[0, 0] == pytest.approx(0.6)


@pytest.mark.parametrize("metric", [None, *METRICS])
def test_no_records_are_no_scores(metric):
    empty = records_of(runs([0.8])).iloc[:0]
    scores = summarize(empty, metric)
    assert list(scores.columns) == list(SCORES)
    assert scores.empty
    assert losses(scores).empty


def test_losses_turn_accuracy_around_and_keep_rmse():
    means = pd.DataFrame({"a": [0.75, 3.0], "b": [np.nan, 2.0]}, index=["x", "y"])
    table = losses(scores_of(means, task={"x": "binclass", "y": "regression"}))
    assert table.loc["x", "a"] == 0.25
    assert math.isnan(table.loc["x", "b"])
    assert table.loc["y"].tolist() == [3.0, 2.0]


def test_equal_runs_in_another_order_are_equal():
    one, two = [0.1, 0.2, 0.3], [0.3, 0.2, 0.1]
    rows = runs(one, method="a") + runs(two, method="b")
    table = losses(summarize(records_of(rows)))
    assert sum(one) != sum(two)
    assert table.loc["iris", "a"] == table.loc["iris", "b"]


def test_complete_keeps_those_who_took_part_everywhere():
    scores = random_scores(holes=False)
    assert len(complete(scores)) == len(scores)
    absent = (scores["method"] == "m1") & (scores["dataset"] == "d03")
    failed = (scores["method"] == "m2") & (scores["dataset"] == "d05")
    scores.loc[failed, "mean"] = np.nan
    scores = scores[~absent]
    assert set(complete(scores)["method"]) == {"m0", "m2", "m3", "m4"}
    kept = complete(scores, drop="datasets")
    assert set(kept["method"]) == set(scores["method"])
    assert "d03" not in set(kept["dataset"])
    assert kept["dataset"].nunique() == 11


def test_bad_frames_are_refused_in_words():
    scores = random_scores()
    with pytest.raises(ValueError, match=r"has no column 'std', 'n'; it has: dataset"):
        losses(scores.drop(columns=["std", "n"]))
    twice = pd.concat([scores, scores.iloc[[0]]])
    with pytest.raises(ValueError, match=r"two rows for method 'm0' on dataset 'd00'"):
        losses(twice)
    mixed = scores.copy()
    mixed.loc[0, "task"] = "regression"
    with pytest.raises(ValueError, match=r"dataset 'd00' mix several tasks"):
        losses(mixed)
    with pytest.raises(ValueError, match=r"Unknown task 'classes'; choose one of: bin"):
        task_group("classes")
    with pytest.raises(ValueError, match=r"Unknown metric 'f1'; choose one of: acc"):
        summarize(records_of(runs([0.8])), "f1")
    with pytest.raises(ValueError, match=r"has no column 'auc'"):
        summarize(records_of(runs([0.8])), "auc")
    with pytest.raises(ValueError, match=r"Unknown value of drop 'rows'"):
        complete(scores, drop="rows")
