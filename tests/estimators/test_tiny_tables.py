"""No fitted model predicts NaN, however small and degenerate the table is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.estimators.models import classifier, regressor

from modernnca.core.distances import DISTANCES

RNG = np.random.RandomState(0)
QUERIES = np.r_[RNG.randn(5, 2), [[0, 0], [1e9, -1e9], [np.nan, np.inf]]]
QUICK = {"max_epochs": 2, "n_members": 3}


def check(model, X, y, **extra):
    model.fit(X, y, **extra)
    whole = getattr(model, "predict_proba", model.predict)
    answers = whole(QUERIES[:, : X.shape[1]])
    assert np.isfinite(answers).all()
    if answers.ndim == 2:
        np.testing.assert_allclose(answers.sum(1), 1)
    assert np.isfinite(model.member_weights_).all()


def table(kind, n_rows, rng):
    """Rows that are random, all the same, in two clusters, or few distinct ones."""
    if kind == "random":
        return rng.randn(n_rows, 2)
    if kind == "same":
        return np.ones((n_rows, 2))
    if kind == "clusters":
        return np.repeat([[0.0, 1.0]], n_rows, axis=0) * (
            np.arange(n_rows)[:, None] % 2
        )
    return rng.randint(2, size=(n_rows, 2)).astype(float)


@pytest.mark.parametrize("seed", range(12))
def test_six_rows_of_two_classes(seed):
    """The table on which forests without gain and coinciding points gave NaN."""
    y = np.array([0, 0, 1, 1, 1, 1])
    X = np.random.RandomState(seed).randn(6, 2)
    check(classifier(**QUICK, random_state=seed), X, y)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    n_rows=st.integers(2, 14),
    kind=st.sampled_from(["random", "same", "clusters", "few"]),
    task=st.sampled_from(["classification", "regression", "constant"]),
    weights=st.sampled_from([None, "tiny", "huge", "mixed"]),
    options=st.sampled_from(
        [
            {},
            {"preset": "fast"},
            {"preset": "paper"},
            {"prediction": "knn"},
            {"loss": "t-distribution"},
            {"fused": False},
            {"n_blocks": 0, "encoding": "none"},
            {"validation_fraction": 0.5},
            {"refit": "full"},
            *({"distance": name} for name in DISTANCES),
        ]
    ),
    seed=st.integers(0, 99),
)
def test_no_table_gives_nan(n_rows, kind, task, weights, options, seed):
    rng = np.random.RandomState(seed)
    X = table(kind, n_rows, rng)
    make, y = regressor, rng.randn(n_rows)
    if task == "classification":
        make, y = classifier, np.r_[0, 1, rng.randint(3, size=n_rows - 2)]
    elif task == "constant":
        y = np.full(n_rows, 3.0)
    scale = {"tiny": 1e-12, "huge": 1e12, "mixed": 10.0 ** rng.randint(-9, 9, n_rows)}
    extra = {}
    if weights is not None:
        extra["sample_weight"] = scale[weights] * np.ones(n_rows)
    check(make(**{**QUICK, **options}, random_state=seed), X, y, **extra)
