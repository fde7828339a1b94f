import pandas as pd
import pytest
from tests.lab.report.frames import records_of, run, scores_of

from modernnca.lab.report import score_tables
from modernnca.lab.report.analysis import COSTS, analyze
from modernnca.lab.report.comparison import comparisons, dataset_properties

# Ours is the best on a and b, ties on c, and is last on d without a score.
SCORES = scores_of(
    *(("a", "binclass", "ours", 0.9), ("a", "binclass", "x", 0.8)),
    *(("b", "multiclass", "ours", 0.8), ("b", "multiclass", "x", 0.6)),
    *(("c", "regression", "ours", 2.0), ("c", "regression", "x", 2.0)),
    *(("d", "regression", "ours", None), ("d", "regression", "x", 5.0)),
)


@pytest.fixture
def analysis():
    return analyze(comparisons(SCORES)[0], "ours", None)


def frame_of(table):
    return table.frame[[column.key for column in table.columns]].to_dict("list")


def test_the_main_table_has_ranks_and_outcomes(analysis):
    found = frame_of(score_tables.main_table(analysis))
    assert found["method"] == ["ours", "x"]
    assert found["rank"] == pytest.approx(
        [(1 + 1 + 1.5 + 2) / 4, (2 + 2 + 1.5 + 1) / 4]
    )
    assert found["best"] == [3, 2]
    assert found["n_missing"] == [1, 0]
    # Of x: 0.2 / 0.1, 0.4 / 0.2 and 2 / 2, so the cube root of 4.
    assert found["value"] == pytest.approx([0, 4 ** (1 / 3) - 1])
    assert [found[name][1] for name in ("win", "tie", "lose")] == [2, 1, 0]
    assert "fit_seconds" not in found  # scores alone have no times


def test_the_main_table_has_costs_where_they_are_known():
    costs = pd.DataFrame(
        [["a", "ours", 3.0, 1.0, 2.0**30, 9.0], ["b", "ours", 5.0, 1.0, 2.0**30, 9.0]],
        columns=["dataset", "method", *COSTS],
    )
    table = score_tables.main_table(analyze(comparisons(SCORES)[0], "ours", costs))
    ours = dict(zip([c.key for c in table.columns], table.texts()[0], strict=True))
    assert (ours["fit_seconds"], ours["peak_bytes"]) == ("4.0 s", "1.0 GiB")


def test_outcomes_are_shares_of_the_tables_with_both_scores(analysis):
    found = frame_of(score_tables.outcome_table(analysis))
    assert found["opponent"] == ["x"]
    shares = [found[f"{name}_share"][0] for name in ("win", "tie", "lose")]
    assert shares == pytest.approx([2 / 3, 1 / 3, 0])
    assert found["n"] == [3]


def test_lost_tables_put_a_missing_score_first(analysis):
    table = score_tables.lost_tables(analysis, dataset_properties(SCORES))
    assert frame_of(table)["dataset"] == ["d"]
    assert frame_of(table)["best"] == ["x"]
    assert [column.key for column in table.columns][:3] == ["dataset", "task", "ours"]


def test_to_whom_the_hero_loses_is_counted(analysis):
    found = frame_of(score_tables.lost_to_table(analysis))
    assert found == {"method": ["x"], "lose": [0], "ahead": [1], "best": [1]}


def test_kinds_of_tables_are_ranked_apart(analysis):
    known = {
        name: {"task": facts["task"], "rows": rows, "columns": float("nan")}
        for (name, facts), rows in zip(
            dataset_properties(SCORES).items(),
            (500.0, 1000.0, 10_000.0, 10_001.0),
            strict=True,
        )
    }
    found = frame_of(score_tables.kind_table(analysis, known))
    assert dict(zip(found["kind"], found["n"], strict=True)) == {
        **{"binclass": 1, "multiclass": 1, "regression": 2},
        **{"under 1,000 rows": 1, "1,000 to 10,000 rows": 2, "over 10,000 rows": 1},
    }
    assert found["ours"][2] == pytest.approx(1.75)
    assert (found["best"][2], found["rank"][2]) == ("x", pytest.approx(1.25))


def test_win_rates_are_in_the_order_of_ranks(analysis):
    table = score_tables.win_rate_table(analysis)
    assert table.texts() == [["ours", "0.50", "0.62"], ["x", "0.38", "0.50"]]


def test_metrics_are_ranked_each():
    rows = [run("a", "x", 0.9, auc=0.7), run("a", "y", 0.8, auc=0.8)]
    records = records_of(*rows)
    scores = scores_of(("a", "binclass", "x", 0.9), ("a", "binclass", "y", 0.8))
    table = score_tables.metric_table(
        records, analyze(comparisons(scores)[0], "x", None)
    )
    assert table is not None
    assert frame_of(table) == {
        **{"method": ["x", "y"], "accuracy": [1.0, 2.0], "auc": [2.0, 1.0]}
    }
