"""Cooling: a memory of all rows is denser than the sample of training."""

import numpy as np
import pytest
import torch

import modernnca
from modernnca.core.distances import DISTANCES
from modernnca.core.origin import Origin
from modernnca.core.rows import Examples, Rows
from modernnca.core.softnn import Rule
from modernnca.ensemble.cooling import (
    N_FACTORS,
    fit_cooling,
    n_cooling_queries,
    rescaled_cooling,
    votes_at_factors,
)
from modernnca.memory.exact_memory import ExactMemory
from modernnca.table.evaluation import Evaluator
from modernnca.table.targets import ClassificationTarget, RegressionTarget
from tests.estimators.models import regressor

NUMBERS = np.array([0.0, 2.0])


def evaluator(metric="rmse"):
    return Evaluator(NUMBERS, None, RegressionTarget().fit(NUMBERS), metric)


def votes_best_at(best):
    """Standardized targets are -1 and 1; off the best factor votes miss them."""
    factors = 2 ** (-np.arange(N_FACTORS) / 4)
    return [np.array([[-1.0], [1.0]]) + abs(np.log(f / best)) for f in factors]


@pytest.mark.parametrize("best", [1.0, 0.5, 0.25])
def test_the_factor_with_the_least_loss_is_found(best):
    found, loss = fit_cooling(votes_best_at(best), evaluator())
    assert found == pytest.approx(best, rel=0.01)
    assert loss == pytest.approx(0, abs=1e-3)


def test_it_never_heats_and_has_an_end():
    assert fit_cooling(votes_best_at(3.0), evaluator())[0] == 1.0
    assert fit_cooling(votes_best_at(1e-9), evaluator())[0] >= 0.1


def test_a_metric_of_the_user_is_not_called():
    def metric(y, prediction):
        raise AssertionError

    assert fit_cooling(votes_best_at(0.5), evaluator(metric))[0] < 1
    codes = np.array(["a", "b"])
    target = ClassificationTarget().fit(codes)
    votes = np.array([[0.9, 0.1], [0.2, 0.8]])
    loss = Evaluator(codes, None, target, metric).loss(votes)
    assert loss == pytest.approx(-np.log([0.9, 0.8]).mean())


def test_the_factor_follows_the_number_of_voters():
    # In two dimensions distances go with the root of the number of rows.
    assert rescaled_cooling(0.1, 10_000, 100, 1_000) == pytest.approx(10**-0.5)
    assert rescaled_cooling(0.1, 10_000, 100, 100) == pytest.approx(0.1)
    assert rescaled_cooling(0.1, 10_000, 100, 10_000) == 1.0
    assert rescaled_cooling(1.0, 10_000, 100, 1_000) == 1.0


def test_a_dense_memory_is_cooled_and_the_factor_is_saved(tmp_path):
    """A wave that a sample of 32 rows does not resolve, and a thousand rows do."""
    rng = np.random.RandomState(0)
    x = rng.rand(1500, 1)
    y = np.sin(40 * x[:, 0])
    options = {"n_members": 1, "batch_size": 32, "max_epochs": 4, "finetune": 0.0}
    options |= {"baseline_check": False, "random_state": 0}
    models = {
        cooling: regressor(**options, cooling=cooling).fit(x, y)
        for cooling in (True, False)
    }
    network = models[True].members_[0]
    assert network.cooling_ < 0.9
    assert models[False].members_[0].cooling_ == 1.0
    new = rng.rand(300, 1)
    errors = {
        cooling: np.square(model.predict(new) - np.sin(40 * new[:, 0])).mean()
        for cooling, model in models.items()
    }
    assert errors[True] < errors[False]
    models[True].save(tmp_path / "m.mnca")
    again = modernnca.load(tmp_path / "m.mnca")
    assert again.members_[0].cooling_ == network.cooling_
    np.testing.assert_array_equal(again.predict(new), models[True].predict(new))


@pytest.mark.parametrize("timed", [False, True])
def test_the_votes_at_a_factor_are_those_of_a_memory_at_that_temperature(timed):
    generator = torch.Generator().manual_seed(0)
    keys, query = (torch.randn(n, 3, generator=generator) for n in (40, 7))
    values = torch.randn(40, 2, generator=generator)
    when = torch.arange(40) if timed else None
    none = torch.zeros(40, 0)
    rows = Rows(none, none, none.long(), when)
    train = Examples(rows, values, values, torch.rand(40, generator=generator) + 0.5)
    origin = Origin(torch.arange(7) * 5 + 3) if timed else None
    rule = Rule(DISTANCES["euclidean"], torch.tensor(0.7))
    found = votes_at_factors(query, keys, train, rule, origin)
    for place, votes in enumerate(found):
        cooled = rule._replace(temperature=rule.temperature * 2 ** (-place / 4))
        weights = {"log_weights": train.log_weights, "origin": rows.origin}
        memory = ExactMemory(keys, values, cooled, **weights)
        expected = memory.vote(query, origin).mean.double().numpy()
        np.testing.assert_allclose(votes, expected, rtol=1e-4, atol=1e-5)


def test_fewer_rows_are_asked_where_many_are_remembered():
    assert n_cooling_queries(100) == n_cooling_queries(1000) == 2048
    assert n_cooling_queries(8192) == 512
    assert n_cooling_queries(1_000_000) == 256


def test_of_a_sorted_eval_set_all_parts_are_asked(monkeypatch):
    asked = []

    def spy(votes, evaluate):
        asked.append((evaluate.y, votes[0]))
        return 0.5, 1.0

    room = "modernnca.ensemble.network_member"
    monkeypatch.setattr(f"{room}.fit_cooling", spy)
    monkeypatch.setattr(f"{room}.n_cooling_queries", lambda n_rows: 50)
    x = np.random.RandomState(1).rand(400, 1)
    held = np.linspace(0, 1, 200)[:, None]
    model = regressor(n_members=1, max_epochs=2, random_state=0)
    model.fit(x, x[:, 0], eval_set=(held, held[:, 0]))
    ((y, votes),) = asked
    assert len(y) == len(votes) == 50
    assert (y.min(), y.max()) == (0, pytest.approx(1, abs=0.05))
