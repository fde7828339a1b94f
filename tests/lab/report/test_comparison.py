import pandas as pd
from tests.lab.report.frames import failed, records_of, run, scores_of

from modernnca.lab.report.comparison import (
    comparisons,
    dataset_properties,
    fill_tasks,
    label_methods,
)


def test_groups_are_cut_by_task():
    scores = scores_of(
        *(("a", "binclass", "x", 0.9), ("a", "binclass", "y", 0.8)),
        *(("b", "regression", "x", 3.0), ("b", "regression", "y", 4.0)),
    )
    found = {
        comparison.group: comparison.n_datasets for comparison in comparisons(scores)
    }
    assert found == {"all": 2, "classification": 1, "regression": 1}


def test_one_kind_of_task_is_one_group():
    scores = scores_of(("b", "regression", "x", 3.0))
    assert [comparison.group for comparison in comparisons(scores)] == ["regression"]


def test_a_method_of_one_task_is_not_compared_over_all():
    scores = scores_of(
        *(("a", "binclass", "x", 0.9), ("a", "binclass", "classes-only", 0.8)),
        ("b", "regression", "x", 3.0),
    )
    whole, classification, _ = comparisons(scores)
    assert whole.methods == ["x"]
    assert whole.notes == (
        "Not compared here, because they were run on too few datasets of each task: "
        "classes-only.",
    )
    assert classification.methods == ["classes-only", "x"]


def test_a_table_that_someone_has_not_run_yet_is_left_out():
    scores = scores_of(
        *(("a", "binclass", "x", 0.9), ("a", "binclass", "y", 0.8)),
        *(("b", "binclass", "x", 0.7), ("b", "binclass", "y", 0.7)),
        ("c", "binclass", "x", 0.6),
    )
    (comparison,) = comparisons(scores)
    assert comparison.n_datasets == 2
    assert comparison.notes == (
        "1 of 3 datasets are left out, because not all of these methods were run on "
        "them.",
    )


def test_a_missing_score_stays_and_is_said():
    scores = scores_of(("a", "binclass", "x", 0.9), ("a", "binclass", "y", None))
    (comparison,) = comparisons(scores)
    assert comparison.n_datasets == 1
    assert comparison.notes[0].startswith("1 of 2 scores are missing (y 1). In ranks")


def test_settings_other_than_the_default_are_named():
    records = records_of(run(method="knn"), run(method="knn", settings="tuned"))
    assert list(label_methods(records)["method"]) == ["KNN", "KNN (tuned)"]
    assert list(label_methods(records[1:])["method"]) == ["KNN"]


def test_a_failure_takes_the_task_of_its_table():
    records = records_of(run("a", task="multiclass"), failed("a"), failed("b"))
    assert list(fill_tasks(records)["task"]) == ["multiclass", "multiclass", ""]


def test_properties_of_tables_are_told_where_they_are_known():
    records = records_of(run("a", n_train=7, n_columns=3), failed("a"))
    assert dataset_properties(fill_tasks(records))["a"] == {
        **{"task": "binclass", "rows": 7.0, "columns": 3.0}
    }
    unknown = dataset_properties(scores_of(("a", "binclass", "x", 0.9)))["a"]
    assert pd.isna(unknown["rows"])


def test_the_methods_and_tables_with_most_scores_are_compared():
    few = [("a", "binclass", m, 0.9) for m in "uvwxyz"]
    many = [(f"t{i}", "binclass", m, 0.8) for i in range(2) for m in "xy"]
    (comparison,) = comparisons(scores_of(*few, *many))
    # Six on one table are as many scores as two on three: of equal ones, more tables.
    assert (comparison.methods, comparison.n_datasets) == (["x", "y"], 3)
    more = [("b", "binclass", m, 0.7) for m in "uvwxyz"]
    (comparison,) = comparisons(scores_of(*few, *many, *more))
    assert (comparison.methods, comparison.n_datasets) == (list("uvwxyz"), 2)
