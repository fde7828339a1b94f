"""Tables as people have them give the predictions of their clean forms."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from tests.estimators.models import classifier, regressor

from modernnca import load

QUICK = {"max_epochs": 2, "n_members": 1, "random_state": 0}
N = 120


def clean_table():
    rng = np.random.RandomState(0)
    day = pd.Timestamp("2014-05-01") + pd.to_timedelta(rng.randint(0, 390, N), "D")
    frame = pd.DataFrame(
        {
            "charges": rng.gamma(2, 700, N).round(1),
            "price": rng.randint(50_000, 2_000_000, N).astype(float),
            "rate": rng.randint(0, 100, N).astype(float),
            "area": rng.gamma(2, 900, N).round(1),
            "sold": day,
            "listed": day - pd.to_timedelta(rng.randint(9, 90, N), "D"),
            "built": day - pd.to_timedelta(rng.randint(900, 9000, N), "D"),
            "color": rng.choice(["red", "green", "blue"], N),
        }
    )
    frame.loc[::9, ["charges", "color", "sold"]] = None
    return frame


def local_comma(number):
    return f"{number:,.1f}".translate(str.maketrans(",.", ".,"))


DIRTY = {
    "charges": lambda cell: " " if pd.isna(cell) else f"{cell:.1f}",
    "price": lambda cell: f"${cell:,.0f}",
    "rate": lambda cell: f"{cell:.0f} %",
    "area": local_comma,
    "sold": lambda cell: "n/a" if pd.isna(cell) else f"{cell:%m/%d/%Y}",
    "listed": lambda cell: f"{cell:%d.%m.%Y}",
    "built": lambda cell: f"{cell:%Y%m%dT000000}",
    "color": lambda cell: "?" if pd.isna(cell) else cell,
}


def dirty_table(frame):
    return pd.DataFrame({name: frame[name].map(DIRTY[name]) for name in frame})


CLEAN = clean_table()
RAW = dirty_table(CLEAN)
SIGNAL = CLEAN["price"] / 1e6 + (CLEAN["color"] == "red") + CLEAN["rate"] / 100


@pytest.mark.parametrize("refit", ["remember", "full"])
def test_a_dirty_table_gives_the_model_of_the_clean_one(refit, tmp_path):
    model = regressor(**QUICK, refit=refit)
    clean = clone(model).fit(CLEAN, SIGNAL)
    raw = clone(model).fit(RAW, SIGNAL)
    np.testing.assert_array_equal(raw.predict(RAW), clean.predict(CLEAN))
    np.testing.assert_array_equal(raw.predict(CLEAN), clean.predict(CLEAN))
    kinds = {column["name"]: column["kind"] for column in raw.columns_}
    assert kinds == {column["name"]: column["kind"] for column in clean.columns_}
    raw.save(tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(RAW), raw.predict(RAW))
    assert again.columns_ == raw.columns_
    one_by_one = [again.predict(RAW.iloc[[row]])[0] for row in range(9)]
    np.testing.assert_allclose(one_by_one, raw.predict(RAW)[:9], rtol=1e-5)
    again.kneighbors()  # of the remembered rows, as they were read


def test_how_columns_were_read_is_told():
    told = {
        column["name"]: column["treatment"].partition(":")[0]
        for column in regressor(**QUICK).fit(RAW, SIGNAL).columns_
    }
    assert told["price"] == "numbers in text"
    assert told["area"] == "numbers in text, with a decimal comma"
    assert told["sold"] == "dates in text, the month before the day"
    assert told["listed"] == "dates in text, the day before the month"
    assert told["built"] == "dates in text"


def test_cells_that_cannot_be_read_are_told_in_fit_and_in_prediction(tmp_path):
    broken = RAW.copy()
    broken.loc[[3, 5], "price"] = "ask us"
    with pytest.warns(
        DataConversionWarning, match="'price' holds numbers in text, but"
    ):
        model = regressor(**QUICK, validation_fraction=0.0).fit(broken, SIGNAL)
    model.save(tmp_path / "m")
    text = "2 of 120 cells cannot be read so \\(such as 'ask us'\\) and are taken as"
    with pytest.warns(DataConversionWarning, match=text):
        found = load(tmp_path / "m").predict(broken)
    gaps = RAW.assign(price=RAW["price"].where(~broken["price"].eq("ask us")))
    np.testing.assert_array_equal(model.predict(gaps), found)


def test_an_ambiguous_order_of_day_and_month_is_told():
    frame = pd.DataFrame({"d": [f"0{i % 9 + 1}/0{i % 7 + 1}/2014" for i in range(40)]})
    text = "'d' holds dates that can be read with the day or the month first; the month"
    with pytest.warns(DataConversionWarning, match=text):
        regressor(**QUICK).fit(frame, np.arange(40.0))


def test_identifiers_are_told_left_out_and_brought_back_by_keep(tmp_path):
    frame = CLEAN.assign(id=[f"{i:04}-KX" for i in range(N)])
    text = "'id' is different in each of the 96 rows, as an identifier is, and is left"
    with pytest.warns(DataConversionWarning, match=text):
        model = regressor(**QUICK).fit(frame, SIGNAL)
    np.testing.assert_array_equal(
        model.predict(frame), regressor(**QUICK).fit(CLEAN, SIGNAL).predict(CLEAN)
    )
    model.predict(CLEAN)  # an identifier need not be there
    kept = clone(model).set_params(keep=["id"]).fit(frame, SIGNAL)
    assert kept.get_params()["keep"] == ["id"]
    assert kept.columns_[-1]["kind"] == "text"
    kept.save(tmp_path / "m")
    assert load(tmp_path / "m").keep == ["id"]


def test_further_columns_are_ignored_and_told():
    model = regressor(**QUICK).fit(CLEAN, SIGNAL)
    more = CLEAN.assign(z=[[1, 2]] * N)  # not even cells that could be read
    text = "^Ignored columns that the model does not use: z.$"
    with pytest.warns(DataConversionWarning, match=text):
        found = model.predict(more)
    np.testing.assert_array_equal(found, model.predict(CLEAN))


PRICES = 100_000 + (SIGNAL * 1e5).round()


@pytest.mark.parametrize(
    "write",
    [lambda y: f"${y:,.0f}", lambda y: f"{y:.1f}".replace(".", ","), str],
    ids=["dollars", "comma", "plain"],
)
def test_prices_in_text_are_numbers(write):
    texts = PRICES.map(write)
    found = regressor(**QUICK).fit(CLEAN, texts).predict(CLEAN)
    wanted = regressor(**QUICK).fit(CLEAN, PRICES).predict(CLEAN)
    np.testing.assert_array_equal(found, wanted)
    halves = (CLEAN[:60], texts[:60]), (CLEAN[60:], texts[60:])
    regressor(**QUICK).fit(*halves[0], eval_set=halves[1])


def test_targets_that_are_not_numbers_are_named():
    texts = PRICES.map("${:,.0f}".format)
    texts[3] = "ask us"
    with pytest.raises(
        ValueError, match="y holds numbers in text, but row 3 is 'ask us'"
    ):
        regressor(**QUICK).fit(CLEAN, texts)
    with pytest.raises(
        ValueError, match="y holds 'red', but a regressor needs numbers"
    ):
        regressor(**QUICK).fit(CLEAN, ["red", "blue"] * (N // 2))


def test_as_many_classes_as_rows_are_refused():
    y = [f"${row:,}" for row in range(N)]
    with pytest.raises(ValueError, match="y has as many classes as rows, 120 "):
        classifier(**QUICK).fit(CLEAN, y)


DAYS = [dt.date(2024, 1, 1 + row % 2) for row in range(N)]


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(pd.to_datetime(DAYS)),
        pd.Series(pd.to_datetime(DAYS)).astype("datetime64[s]"),
        np.array(DAYS, dtype="datetime64[D]"),
        np.array(DAYS, dtype=object),
        np.array([dt.datetime(2024, 1, 1 + row % 2, 12) for row in range(N)], object),
    ],
    ids=["nanoseconds", "seconds", "days", "dates", "datetimes"],
)
def test_classes_that_are_dates_are_saved(y, tmp_path):
    model = classifier(**QUICK).fit(CLEAN, y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.classes_.dtype == model.classes_.dtype
    assert again.classes_.tolist() == model.classes_.tolist()
    assert (again.predict(CLEAN) == model.predict(CLEAN)).all()
    assert set(again.predict(CLEAN).tolist()) <= set(np.asarray(y).tolist())


def test_masked_cells_are_missing():
    rng = np.random.RandomState(0)
    X, mask = rng.randn(N, 3), rng.rand(N, 3) < 0.2
    gapped = np.where(mask, np.nan, X)
    wanted = regressor(**QUICK).fit(gapped, SIGNAL).predict(gapped)
    hidden = np.where(mask, 1e6, X)  # under the mask
    masked = np.ma.array(hidden, mask=mask)
    found = regressor(**QUICK).fit(masked, SIGNAL).predict(masked)
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ValueError, match="row 0 has no label"):
        regressor(**QUICK).fit(X, np.ma.array(SIGNAL, mask=np.arange(N) == 0))
