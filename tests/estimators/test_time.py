"""A time column: who is held out, what the time becomes, and who answers whom."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from tests.estimators.tables import classes_of, mixed_table, numbers_of

from modernnca import (
    LNCAClassifier,
    ModernNCAClassifier,
    ModernNCARegressor,
    TabConRegressor,
    load,
)
from modernnca.errors import TableError
from modernnca.tune.space import Int

FRAME = mixed_table()
LABELS, NUMBERS = classes_of(FRAME), numbers_of(FRAME)
QUICK = {"max_epochs": 2, "n_members": 1, "guard": False, "random_state": 0}
TOLD = {**QUICK, "time_column": "day", "past_only": "prediction"}


def test_without_a_time_column_nothing_changes():
    plain = ModernNCARegressor(**QUICK).fit(FRAME, NUMBERS)
    told = ModernNCARegressor(
        **{**TOLD, "past_only": "never"},
        time_features="column",
        validation_rows="random",
    ).fit(FRAME, NUMBERS)
    assert (told.predict(FRAME) == plain.predict(FRAME)).all()
    assert plain.clock_ is None


@pytest.mark.parametrize("rows", ["last", "blocks"])
@pytest.mark.parametrize("column", ["day", 4])
def test_rows_are_held_out_by_time(rows, column):
    model = ModernNCAClassifier(
        **{**TOLD, "time_column": column}, validation_rows=rows, refit=None
    )
    origin = model.fit(FRAME, LABELS).remembered_.origin
    days = FRAME["day"].iloc[origin]
    held = FRAME["day"].drop(index=origin)
    assert len(held) == 24
    if rows == "last":
        assert held.min() >= days.max()
    else:
        assert held.min() < days.quantile(0.2) < days.quantile(0.8) < held.max()


def test_the_future_does_not_answer():
    model = ModernNCARegressor(**TOLD).fit(FRAME, NUMBERS)
    before = model.predict(FRAME)
    june = np.datetime64("2024-06-01")
    y = model.remembered_.y.astype(float)
    y[model.remembered_.table.columns["day"] >= june] += 1000
    changed = replace(model.remembered_, y=y)
    model._remember(changed, [member.net for member in model.members_])
    after, past = model.predict(FRAME), (FRAME["day"] < june).to_numpy()
    np.testing.assert_array_equal(after[past], before[past])
    assert (after[~past] > before[~past]).all()


@pytest.mark.parametrize("n_members", [1, 2])
def test_neighbors_are_of_the_past(n_members):
    model = ModernNCAClassifier(**{**TOLD, "n_members": n_members})
    model.fit(FRAME, LABELS)
    found = model.kneighbors(FRAME, n_neighbors=len(FRAME))
    days = FRAME["day"].to_numpy()
    later = days[found.indices] > days[:, None]
    assert not found.shares[later].any()
    np.testing.assert_allclose(found.shares.sum(1), 1, rtol=1e-5)
    if n_members == 1:
        assert np.isinf(found.distances[later]).all()


def test_only_judging_and_always_change_what_is_learned():
    future = FRAME.assign(day=pd.Timestamp("2030-01-01"))
    told = {}
    for past_only in ("never", "prediction", "judging", "always"):
        model = ModernNCARegressor(**{**TOLD, "past_only": past_only})
        told[past_only] = model.fit(FRAME, NUMBERS).predict(future)
        told[past_only, "score"] = model.history_[0].score
    np.testing.assert_array_equal(told["prediction"], told["never"])
    assert told["judging", "score"] != told["never", "score"]
    assert (told["always"] != told["never"]).any()


@pytest.mark.parametrize("past_only", ["never", "prediction", "judging", "always"])
def test_later_rows_are_all_told_what_all_rows_say(past_only):
    model = ModernNCARegressor(**{**TOLD, "past_only": past_only}).fit(FRAME, NUMBERS)
    whole = model.predict(FRAME.assign(day=pd.Timestamp("2030-01-01")))
    unknown = model.predict(FRAME.assign(day=pd.NaT))
    latest = FRAME["day"].max()
    assert np.isfinite([whole, unknown]).all()
    if past_only != "never":
        asked = model._read_asking(FRAME.assign(day=pd.NaT)).moments
        assert (asked == model._read_asking(FRAME.assign(day=latest)).moments).all()


@pytest.mark.parametrize(
    ("features", "treatment"),
    [
        ("column", "days, month, day, weekday, standardized"),
        ("fourier", "13 Fourier features"),
        ("both", "days, month, day, weekday, standardized, 13 Fourier features"),
        ("seasons", "12 Fourier features"),
        ("none", "dropped"),
    ],
)
def test_what_becomes_of_the_time_column(features, treatment):
    model = ModernNCAClassifier(**TOLD, time_features=features).fit(FRAME, LABELS)
    told = {column["name"]: column for column in model.table_.describe()}
    assert told["day"]["treatment"] == treatment
    moved = FRAME.assign(day=FRAME["day"] + pd.Timedelta("400D"))
    same = (model.transform(FRAME) == model.transform(moved)).all()
    assert same == (features == "none")


@pytest.mark.parametrize("column", ["day", "text", "weight"])
@pytest.mark.parametrize("rows", [True, False])
def test_files_keep_the_time(tmp_path, column, rows):
    frame = FRAME.assign(text=FRAME["day"].dt.strftime("%Y-%m-%d"))
    settings = {**TOLD, "time_column": column, "time_features": "both"}
    model = ModernNCAClassifier(**settings, validation_rows="blocks")
    model.fit(frame, LABELS).save(tmp_path / "m.mnca", rows=rows)
    again = load(tmp_path / "m.mnca")
    expected = model.predict_proba(frame)
    np.testing.assert_array_equal(again.predict_proba(frame), expected)
    assert again.get_params()["time_column"] == column
    with pytest.raises(TableError, match=f"lacks the time_column '{column}', which"):
        again.predict(frame.drop(columns=column))


def test_clones_and_tuning_know_the_time():
    model = ModernNCARegressor(**TOLD, validation_rows="last")
    assert clone(model).get_params() == model.get_params()
    model.tune(FRAME, NUMBERS, trials=2, space={"dim": Int(4, 8)})
    held = np.argsort(FRAME["day"].to_numpy(), kind="stable")[-24:]
    alone = clone(model).set_params(refit=None).fit(FRAME, NUMBERS)
    assert set(alone.remembered_.origin).isdisjoint(held)
    error = np.sqrt(np.mean((alone.predict(FRAME.iloc[held]) - NUMBERS[held]) ** 2))
    assert model.best_score_ == pytest.approx(-error)


@pytest.mark.parametrize("kind", [LNCAClassifier, TabConRegressor])
def test_relatives_know_the_time(kind):
    y = LABELS if kind is LNCAClassifier else NUMBERS
    model = kind(**{**TOLD, "past_only": "always"}, validation_rows="last")
    assert len(model.fit(FRAME, y).predict(FRAME)) == len(FRAME)


def test_an_eval_set_has_times_of_its_own():
    late = FRAME.assign(day=FRAME["day"] + pd.Timedelta("900D"))
    model = ModernNCARegressor(**TOLD).fit(FRAME, NUMBERS, eval_set=(late, NUMBERS))
    moments = model.members_[0].memory.moments
    assert len(moments) == 240
    assert moments[:120].max() < moments[120:].min()


@pytest.mark.parametrize("features", ["fourier", "seasons", "none"])
def test_time_may_be_all_there_is(features):
    hours = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=20, freq="h")})
    model = ModernNCARegressor(**QUICK, time_column="when", time_features=features).fit(
        hours, np.arange(20.0)
    )
    assert np.isfinite(model.predict(hours)).all()


def test_rows_may_all_have_happened_at_once():
    frame = FRAME.assign(day=pd.Timestamp("2024-01-01"))
    model = ModernNCAClassifier(**TOLD, time_features="both", validation_rows="last")
    assert len(model.fit(frame, LABELS).predict(FRAME)) == len(FRAME)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"time_column": "noon"}, "Unknown column 'noon' in time_column; the columns"),
        ({"time_column": 9}, "Unknown column 9 in time_column"),
        ({"time_column": "color"}, "'color' must hold dates or numbers, but holds 're"),
        (
            {"time_column": "size", "categorical_columns": ["size"]},
            "The time_column 'size' is to be taken as categories; leave it out of",
        ),
        ({"past_only": "always"}, "past_only='always' needs to know when rows happ"),
        ({"validation_rows": "last"}, "validation_rows='last' needs .* time_column"),
        ({"time_features": "none"}, "time_features='none' needs .* time_column"),
        (
            {"time_column": "day", "past_only": "yes"},
            "Unknown past_only 'yes'; choose one of: always, judging, never, predic",
        ),
        (
            {"time_column": "day", "validation_rows": "first"},
            "Unknown way to choose validation_rows 'first'; choose one of: blocks, la",
        ),
        (
            {"time_column": "day", "time_features": "sin"},
            "Unknown treatment of the time column 'sin'; choose one of: both, column",
        ),
    ],
)
def test_what_is_wrong_is_said(settings, words):
    with pytest.raises(ValueError, match=words):
        ModernNCAClassifier(**{**QUICK, **settings}).fit(FRAME, LABELS)
