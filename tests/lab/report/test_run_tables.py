import pytest
from tests.lab.report.frames import failed, records_of, run, scores_of

from modernnca.lab.report import run_tables
from modernnca.lab.report.comparison import dataset_properties


def frame_of(table):
    return table.frame[[column.key for column in table.columns]].to_dict("list")


def test_published_scores_stand_beside_ours_on_the_given_split_only():
    records = records_of(
        run("a", "modernnca", 0.8),
        run("a", "modernnca", 0.9, seed=1),
        run("b", "modernnca", 0.9, split="random-1"),
        run("c", "modernnca", 2.0, task="regression"),
    )
    published = scores_of(
        *(("a", "binclass", "modernNCA", 0.8), ("b", "binclass", "modernNCA", 0.8)),
        *(("c", "regression", "modernNCA", 4.0), ("c", "regression", "xgboost", 4.0)),
    )
    found = frame_of(run_tables.published_table(records, published))
    assert found["dataset"] == ["a", "c"]
    assert found["method"] == ["ModernNCA", "ModernNCA"]
    assert found["n"] == [2, 1]
    assert found["better"] == pytest.approx([0.05, 0.5])


def test_without_a_common_method_there_is_nothing_published():
    published = scores_of(("a", "binclass", "xgboost", 0.8))
    assert run_tables.published_table(records_of(run("a", "knn")), published) is None


def test_default_stands_beside_tuned():
    records = records_of(
        run("a", "knn", 0.8),
        run("a", "knn", 0.9, settings="tuned"),
        run("a", "svm", 0.9),
    )
    found = frame_of(run_tables.tuned_table(records, dataset_properties(records)))
    assert found["method"] == ["KNN"]
    assert (found["mean"], found["mean_tuned"]) == ([0.8], [0.9])
    assert found["better"] == pytest.approx([0.1])
    assert run_tables.tuned_table(records[:1], {}) is None


def test_equal_failures_are_told_once():
    records = records_of(
        *(run(), failed(seed=1), failed(seed=2)),
        failed(status="timeout", error=None),
    )
    found = frame_of(run_tables.failure_table(records))
    assert found["status"] == ["failed", "timeout"]
    assert found["n"] == [2, 1]
    assert found["error"] == ["Boom.", ""]
    assert run_tables.failure_table(records[:1]) is None
