import numpy as np
import pandas as pd
import pytest
from tests.estimators.models import classifier, regressor

from modernnca import ModernNCAClassifier, load
from modernnca.table import preprocessor
from modernnca.table.feature_selection import FeatureSelection, is_wide

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
    return classifier(**QUICK).fit(X[:200], y[:200])


def test_the_features_of_a_wide_table_are_selected(fitted):
    X, y = wide_table()
    wide = fitted.feature_selection_
    assert wide.n_columns == 302
    assert wide.n_kept == len(wide.kept) < 64
    assert {"gene 3", "tissue"} <= set(wide.kept)
    assert fitted.score(X[200:], y[200:]) > 0.7
    treatment = {
        row["name"]: row["treatment"]
        for row in fitted.preparation_.preprocessor.describe()
    }
    assert treatment["gene 3"] == "standardized"
    dropped = [name for name, word in treatment.items() if "feature selection" in word]
    assert len(dropped) == wide.n_columns - wide.n_kept


def test_it_helps_where_most_columns_are_noise(fitted):
    X, y = wide_table()
    whole = classifier(**QUICK, feature_selection=False).fit(X[:200], y[:200])
    assert whole.feature_selection_ is None
    assert fitted.score(X[200:], y[200:]) > whole.score(X[200:], y[200:])


def test_dropped_columns_do_not_matter_but_must_be_there(fitted):
    X, _ = wide_table()
    other = X.copy()
    unused = [name for name in X.columns if name not in fitted.feature_selection_.kept]
    other[unused] = None
    assert np.array_equal(fitted.predict_proba(other), fitted.predict_proba(X))
    with pytest.raises(ValueError, match="lacks the column"):
        fitted.predict(X.drop(columns=unused[0]))


def test_names_neighbors_and_files_work_as_ever(fitted, tmp_path):
    X, _ = wide_table()
    assert list(fitted.feature_names_in_) == list(X.columns)
    _, indices = fitted.kneighbors(X[:200], n_neighbors=3)
    assert (indices[:, 0] == np.arange(200)).all()  # a row is nearest to itself
    fitted.save(tmp_path / "wide.mnca")
    again = load(tmp_path / "wide.mnca")
    assert again.feature_selection_ == fitted.feature_selection_
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.rows_.table.columns.keys() == set(X.columns)


@pytest.mark.parametrize("refit", ["remember", "full", "none"])
def test_regression_selects_features_too(refit):
    X, _ = wide_table()
    y = 100 + 5 * X["gene 3"]
    model = regressor(**QUICK, refit=refit).fit(X[:200], y[:200])
    assert "gene 3" in model.feature_selection_.kept
    assert model.score(X[200:], y[200:]) > 0.3


def test_too_many_numbers_are_not_encoded():
    # Each column matters a little, so 512 of them are significantly worse than all.
    rng = np.random.RandomState(0)
    y = np.arange(150) % 2
    X = rng.randn(150, 3000) + 0.08 * (2 * y[:, None] - 1)
    model = classifier(**QUICK).fit(X, y)
    assert model.feature_selection_.kept is None
    assert model.members_[0].network_.config.encoding == "none"
    more = classifier(**QUICK, max_encoded_features=3000, n_frequencies=2).fit(X, y)
    assert more.members_[0].network_.config.encoding == "plr-lite"


@pytest.mark.parametrize("encoding", ["plr-lite", "none"])
def test_naming_the_encoding_changes_nothing_on_a_wide_table(encoding):
    rng = np.random.RandomState(0)
    y = np.arange(60) % 2
    X = rng.randn(60, 1200) + 0.2 * (2 * y[:, None] - 1)
    quick = {**QUICK, "max_epochs": 1}
    model = classifier(**quick).fit(X, y)
    named = classifier(**quick, encoding=encoding).fit(X, y)
    assert model.feature_selection_.n_kept > 512
    assert np.array_equal(named.predict_proba(X), model.predict_proba(X))


def test_an_encoding_that_is_not_used_warns():
    rng = np.random.RandomState(0)
    y = np.arange(60) % 2
    X = rng.randn(60, 1200) + 0.2 * (2 * y[:, None] - 1)
    model = classifier(**{**QUICK, "max_epochs": 1}, encoding="periodic")
    with pytest.warns(UserWarning, match="encoding='periodic' is not used: this wide"):
        model.fit(X, y)


def test_a_full_refit_decides_about_the_encoding_anew(monkeypatch):
    """The first selection keeps more columns than can be encoded, the second few."""
    kept = iter([None, 20])

    def select(table, names, values, *, seed):
        n_kept = next(kept)
        chosen = None if n_kept is None else tuple(names[:n_kept])
        return FeatureSelection(len(names), n_kept or len(names), (8,), (0.5,), chosen)

    monkeypatch.setattr(preprocessor, "select_features", select)
    X = np.random.RandomState(0).randn(60, 600)
    model = classifier(**{**QUICK, "max_epochs": 1}, refit="full", baseline_check=False)
    model.fit(X, X[:, 0] > 0)
    assert model.members_[0].network_.config.encoding == "plr-lite"
    assert model.members_[0].network_.shape.n_numbers == 20


@pytest.mark.parametrize("n_rows", [2, 3, 40])
def test_few_rows_gaps_and_the_largest_numbers(n_rows):
    X = np.random.RandomState(0).randn(n_rows, 300)
    X[0, :3] = np.inf, np.nan, 1e300
    y = np.arange(n_rows) % 2
    model = classifier(**{**QUICK, "max_epochs": 1}).fit(X, y)
    assert 8 <= model.feature_selection_.n_kept <= model.feature_selection_.n_columns
    assert np.isfinite(model.predict_proba(X)).all()


def test_nothing_changes_for_an_ordinary_table():
    X, y = wide_table(120, 60)
    on, off = (
        classifier(**QUICK, feature_selection=wide).fit(X, y) for wide in (True, False)
    )
    assert on.feature_selection_ is None
    assert np.array_equal(on.predict_proba(X), off.predict_proba(X))


def test_the_paper_does_not_select_features():
    X, y = wide_table(40, 300)
    model = ModernNCAClassifier(preset="paper", max_epochs=1).fit(X, y)
    assert model.feature_selection_ is None
    assert is_wide(302, 40)


def test_the_option_must_be_true_or_false():
    with pytest.raises(ValueError, match="must be True or False; got 'very'"):
        classifier(feature_selection="very").fit([[0], [1]], [0, 1])


def test_the_time_column_stays():
    X, y = wide_table(100, 300)
    X["gene 0"] = np.arange(100.0)
    model = classifier(**QUICK, time_column="gene 0").fit(X, y)
    assert model.feature_selection_.kept is not None
    dropped = [
        c.name
        for c in model.preparation_.preprocessor.schema_.columns
        if c.kind == "unused"
    ]
    assert "gene 0" not in dropped
    assert model.predict(X).shape == (100,)
