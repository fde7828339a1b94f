import numpy as np
import pandas as pd
import pytest

from modernnca import ModernNCAClassifier, ModernNCARegressor, load
from modernnca.estimators.wide import is_wide

QUICK = {"preset": "fast", "max_epochs": 6, "random_state": 0}


def wide_table(n_rows=260, n_columns=300):
    rng = np.random.RandomState(0)
    x = rng.randn(n_rows, n_columns)
    frame = pd.DataFrame(x, columns=[f"gene {i}" for i in range(n_columns)])
    frame["tissue"] = np.where(x[:, 3] > 0, "liver", "lung")
    frame["batch"] = rng.choice(list("abcdef"), n_rows)
    return frame, np.where(x[:, 3] + 0.3 * x[:, 11] > 0, "sick", "well")


@pytest.fixture(scope="module")
def fitted():
    X, y = wide_table()
    return ModernNCAClassifier(**QUICK).fit(X[:200], y[:200])


def test_a_wide_table_is_screened_and_says_so(fitted):
    X, y = wide_table()
    wide = fitted.wide_
    assert wide.n_columns == 302
    assert wide.n_kept == len(wide.kept) < 64
    assert {"gene 3", "tissue"} <= set(wide.kept)
    assert fitted.score(X[200:], y[200:]) > 0.7
    treatment = {row["name"]: row["treatment"] for row in fitted.table_.describe()}
    assert treatment["gene 3"] == "standardized"
    left_out = [name for name, word in treatment.items() if "left out" in word]
    assert len(left_out) == wide.n_columns - wide.n_kept


def test_screening_helps_where_most_columns_are_noise(fitted):
    X, y = wide_table()
    whole = ModernNCAClassifier(**QUICK, wide=False).fit(X[:200], y[:200])
    assert whole.wide_ is None
    assert fitted.score(X[200:], y[200:]) > whole.score(X[200:], y[200:])


def test_left_out_columns_do_not_matter_but_must_be_there(fitted):
    X, _ = wide_table()
    other = X.copy()
    unused = [name for name in X.columns if name not in fitted.wide_.kept]
    other[unused] = None
    assert np.array_equal(fitted.predict_proba(other), fitted.predict_proba(X))
    with pytest.raises(ValueError, match="lacks the column"):
        fitted.predict(X.drop(columns=unused[0]))


def test_names_neighbors_and_files_work_as_ever(fitted, tmp_path):
    X, _ = wide_table()
    assert list(fitted.feature_names_in_) == list(X.columns)
    near = fitted.kneighbors(X[:200], n_neighbors=3)
    assert (near.indices[:, 0] == np.arange(200)).all()  # a row is nearest to itself
    fitted.save(tmp_path / "wide.mnca")
    again = load(tmp_path / "wide.mnca")
    assert again.wide_ == fitted.wide_
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.remembered_.table.columns.keys() == set(X.columns)


@pytest.mark.parametrize("refit", ["remember", "full", None])
def test_numbers_are_screened_too(refit):
    X, _ = wide_table()
    y = 100 + 5 * X["gene 3"]
    model = ModernNCARegressor(**QUICK, refit=refit).fit(X[:200], y[:200])
    assert "gene 3" in model.wide_.kept
    assert model.score(X[200:], y[200:]) > 0.3


def test_too_many_numbers_are_not_encoded():
    # Each column says a little, so 512 of them are surely worse than all.
    rng = np.random.RandomState(0)
    y = np.arange(150) % 2
    X = rng.randn(150, 3000) + 0.08 * (2 * y[:, None] - 1)
    model = ModernNCAClassifier(**QUICK).fit(X, y)
    assert model.wide_.kept is None
    assert model.settings_.encoding == "none"


def test_an_encoding_that_was_asked_for_stays():
    X, y = wide_table(40, 700)
    told = ModernNCAClassifier(**QUICK, encoding="periodic", n_frequencies=2)
    assert told.fit(X.iloc[:, :700], y).settings_.encoding == "periodic"


@pytest.mark.parametrize("n_rows", [2, 3, 40])
def test_few_rows_gaps_and_the_largest_numbers(n_rows):
    X = np.random.RandomState(0).randn(n_rows, 300)
    X[0, :3] = np.inf, np.nan, 1e300
    y = np.arange(n_rows) % 2
    model = ModernNCAClassifier(**{**QUICK, "max_epochs": 1}).fit(X, y)
    assert 8 <= model.wide_.n_kept <= model.wide_.n_columns
    assert np.isfinite(model.predict_proba(X)).all()


def test_nothing_changes_for_an_ordinary_table():
    X, y = wide_table(120, 60)
    on, off = (
        ModernNCAClassifier(**QUICK, wide=wide).fit(X, y) for wide in (True, False)
    )
    assert on.wide_ is None
    assert np.array_equal(on.predict_proba(X), off.predict_proba(X))


def test_the_paper_knows_no_wide_tables():
    X, y = wide_table(40, 300)
    model = ModernNCAClassifier(preset="paper", max_epochs=1).fit(X, y)
    assert model.wide_ is None
    assert is_wide(302, 40)


def test_yes_or_no():
    with pytest.raises(ValueError, match="wide must be True or False; got 'very'"):
        ModernNCAClassifier(wide="very").fit([[0], [1]], [0, 1])


def test_the_time_column_stays():
    X, y = wide_table(100, 300)
    X["gene 0"] = np.arange(100.0)
    model = ModernNCAClassifier(**QUICK, time_column="gene 0").fit(X, y)
    assert model.wide_.kept is not None
    left_out = [c.name for c in model.table_.schema_.columns if c.kind == "unused"]
    assert "gene 0" not in left_out
    assert model.predict(X).shape == (100,)
