import pandas as pd
from tests.lab.report.frames import failed, records_of, run, scores_of

from modernnca.lab.report.contest import contests, labeled, properties, with_tasks


def test_groups_are_cut_by_task():
    scores = scores_of(
        *(("a", "binclass", "x", 0.9), ("a", "binclass", "y", 0.8)),
        *(("b", "regression", "x", 3.0), ("b", "regression", "y", 4.0)),
    )
    found = {contest.group: contest.n_datasets for contest in contests(scores)}
    assert found == {"all": 2, "classification": 1, "regression": 1}


def test_one_kind_of_task_is_one_group():
    scores = scores_of(("b", "regression", "x", 3.0))
    assert [contest.group for contest in contests(scores)] == ["regression"]


def test_a_method_of_one_task_is_not_compared_over_all():
    scores = scores_of(
        *(("a", "binclass", "x", 0.9), ("a", "binclass", "classes-only", 0.8)),
        ("b", "regression", "x", 3.0),
    )
    whole, classification, _ = contests(scores)
    assert whole.methods == ["x"]
    assert whole.words == (
        "Not compared here, since run on too few of these tables of each kind: "
        "classes-only.",
    )
    assert classification.methods == ["classes-only", "x"]


def test_a_table_that_someone_has_not_run_yet_is_left_out():
    scores = scores_of(
        *(("a", "binclass", "x", 0.9), ("a", "binclass", "y", 0.8)),
        *(("b", "binclass", "x", 0.7), ("b", "binclass", "y", 0.7)),
        ("c", "binclass", "x", 0.6),
    )
    (contest,) = contests(scores)
    assert contest.n_datasets == 2
    assert contest.words == (
        "1 of 3 tables are left out, since not all of these methods were run on them.",
    )


def test_a_missing_score_stays_and_is_said():
    scores = scores_of(("a", "binclass", "x", 0.9), ("a", "binclass", "y", None))
    (contest,) = contests(scores)
    assert contest.n_datasets == 1
    assert contest.words[0].startswith("1 of 2 scores are missing (y 1). A missing")


def test_settings_other_than_the_default_are_named():
    records = records_of(run(method="knn"), run(method="knn", settings="tuned"))
    assert list(labeled(records)["method"]) == ["KNN", "KNN (tuned)"]
    assert list(labeled(records[1:])["method"]) == ["KNN"]


def test_a_failure_takes_the_task_of_its_table():
    records = records_of(run("a", task="multiclass"), failed("a"), failed("b"))
    assert list(with_tasks(records)["task"]) == ["multiclass", "multiclass", ""]


def test_properties_of_tables_are_told_where_they_are_known():
    records = records_of(run("a", n_train=7, n_columns=3), failed("a"))
    assert properties(with_tasks(records))["a"] == {
        **{"task": "binclass", "rows": 7.0, "columns": 3.0}
    }
    unknown = properties(scores_of(("a", "binclass", "x", 0.9)))["a"]
    assert pd.isna(unknown["rows"])


def test_the_methods_and_tables_with_most_scores_are_compared():
    few = [("a", "binclass", m, 0.9) for m in "uvwxyz"]
    many = [(f"t{i}", "binclass", m, 0.8) for i in range(2) for m in "xy"]
    (contest,) = contests(scores_of(*few, *many))
    # Six on one table are as many scores as two on three: of equal ones, more tables.
    assert (contest.methods, contest.n_datasets) == (["x", "y"], 3)
    more = [("b", "binclass", m, 0.7) for m in "uvwxyz"]
    (contest,) = contests(scores_of(*few, *many, *more))
    assert (contest.methods, contest.n_datasets) == (list("uvwxyz"), 2)
