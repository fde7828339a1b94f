"""The ensemble: few queries are answered together, as each would be alone."""

import pickle

import numpy as np
import pytest
import torch

from modernnca.core.network_stack import NetworkStack
from tests.estimators.models import classifier, regressor

RNG = np.random.RandomState(0)
X = np.c_[RNG.randn(150, 4), RNG.randint(3, size=(150, 1))]
QUICK = {"max_epochs": 2, "random_state": 0, "baseline_check": False}


def fit(task, **options):
    if task == "regression":
        return regressor(**QUICK, **options).fit(X, X[:, 0])
    return classifier(**QUICK, **options).fit(X, X[:, 0] > 0)


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"preset": "best", "d_block": 16},
        {"time_column": 4},
        {"prediction": "knn"},
        {"distance": "manhattan"},
        {"distance": "cosine"},
    ],
    ids=str,
)
def test_few_queries_get_the_votes_of_the_members(task, options):
    model = fit(task, **options)
    assert isinstance(model.ensemble_._stacked, NetworkStack)
    queries = model._read_queries(X[:12])
    found = model.ensemble_.votes(queries)
    with torch.inference_mode():
        for votes, member in zip(found, model.members_, strict=True):
            alone = member.vote(queries).mean.numpy()
            np.testing.assert_allclose(votes, alone, rtol=1e-4, atol=1e-5)


def test_few_queries_are_evaluated_together(monkeypatch):
    model = fit("classification")
    calls = []
    call = NetworkStack.__call__

    def count(stacked, rows):
        calls.append(rows.n_rows)
        return call(stacked, rows)

    monkeypatch.setattr(NetworkStack, "__call__", count)
    model.predict(X[:1])
    model.predict(X[:16])
    model.predict(X[:17])
    assert calls == [1, 16]


@pytest.mark.parametrize("options", [{"n_members": 1}, {"encoding": "ple"}], ids=str)
def test_one_network_or_other_encodings_are_evaluated_alone(options):
    model = fit("regression", **options)
    assert model.ensemble_._stacked is None
    assert model.predict(X[:1]).shape == (1,)


def test_what_is_stacked_is_not_pickled():
    model = fit("regression")
    size = len(pickle.dumps(model))
    model.predict(X[:1])
    assert len(pickle.dumps(model)) == size
