"""Leave-one-out votes of a fitted model, held to memories without the row."""

import numpy as np
import pytest
import torch

from modernnca import KNNMember, ModernNCAClassifier, ModernNCARegressor, load
from modernnca.ensemble.baselines import ConstantMember
from modernnca.ensemble.combine import Combiner
from modernnca.ensemble.ensemble import Ensemble
from modernnca.ensemble.forest_member import ForestMember
from modernnca.ensemble.member import Remembered
from modernnca.ensemble.network_member import NetworkMember
from modernnca.evidence.leave_one_out import votes_without_self
from modernnca.testing import make_examples

N_ROWS = 60
QUICK = {"max_epochs": 2, "random_state": 0, "device": "cpu"}
QUICK["config"] = {"baseline_check": False, "dim": 4}


def table(n_classes=3):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((N_ROWS, 3))
    return X, np.digitize(X[:, 0], [-0.5, 0.5])[:N_ROWS] % n_classes


@pytest.fixture(scope="module")
def classifier():
    kinds = [NetworkMember(), NetworkMember(), ForestMember(), KNNMember()]
    X, y = table()
    weights = np.linspace(0.5, 2, N_ROWS)
    model = ModernNCAClassifier(members=[*kinds, ConstantMember()], **QUICK)
    return model.fit(X, np.array(["a", "b", "c"])[y], sample_weight=weights)


@pytest.fixture(scope="module")
def regressor():
    X, _ = table()
    y = 10 * X[:, 0] + 3
    return ModernNCARegressor(n_members=3, **QUICK).fit(X, y)


def votes_without(model, row):
    """The combined vote on a remembered row of a memory that never had it."""
    remembered = model.ensemble_.remembered
    others = torch.arange(len(remembered.values)) != row
    votes = []
    for member in model.members_:
        rest = Remembered(
            remembered.values[others],
            None if remembered.weights is None else remembered.weights[others],
        )
        memory = member.memory_of(member.keys_[others], rest)
        votes.append(memory.vote(member.keys_[row, None]).mean.double().numpy())
    return model.ensemble_.combine(np.stack(votes))


def test_no_member_lets_a_row_vote_on_itself(classifier):
    found, index = classifier.loo(), classifier.rows_.index
    for place in range(0, N_ROWS, 7):
        row = int(np.flatnonzero(index == place)[0])
        expected = classifier.calibration_(votes_without(classifier, row))
        np.testing.assert_allclose(found.probabilities[place], expected[0], atol=1e-5)


def test_numbers_come_in_their_own_units(regressor):
    found, index = regressor.loo(), regressor.rows_.index
    assert found.probabilities is None
    for place in range(0, N_ROWS, 7):
        row = int(np.flatnonzero(index == place)[0])
        vote = votes_without(regressor, row)[:, 0]
        expected = regressor.preparation_.target.decode(vote)
        np.testing.assert_allclose(found.predictions[place], expected[0], rtol=1e-4)


def test_rows_are_in_the_order_of_the_table(classifier, regressor):
    X, y = table()
    assert (classifier.loo().rows == np.arange(N_ROWS)).all()
    assert (classifier.loo().y == np.array(["a", "b", "c"])[y]).all()
    np.testing.assert_allclose(regressor.loo().y, 10 * X[:, 0] + 3, atol=1e-4)


def test_the_score_is_that_of_the_predictions(classifier, regressor):
    found, n_rows = classifier.loo(), N_ROWS
    right = (found.predictions == found.y).mean()
    assert found.score == pytest.approx(right)
    error = np.sqrt(right * (1 - right) / (n_rows - 1))
    assert found.score_error == pytest.approx(error)
    found = regressor.loo()
    residual = ((found.y - found.predictions) ** 2).sum()
    total = ((found.y - found.y.mean()) ** 2).sum()
    assert found.score == pytest.approx(1 - residual / total)


def test_a_file_without_rows_has_the_same_votes(classifier, tmp_path):
    classifier.save(tmp_path / "model", rows=False)
    found = load(tmp_path / "model", device="cpu").loo()
    np.testing.assert_array_equal(found.probabilities, classifier.loo().probabilities)


def test_later_rows_do_not_vote():
    rng, time = np.random.RandomState(0), np.arange(40.0)
    X, y = np.c_[rng.standard_normal(40), time], time + rng.standard_normal(40)
    model = ModernNCARegressor(time_column=1, n_members=1, **QUICK).fit(X, y)
    found = model.loo()
    for place in range(1, 40):
        assert found.predictions[place] <= y[:place].max() + 1e-4


def test_a_member_that_cannot_leave_a_row_out_is_named(classifier, monkeypatch):
    monkeypatch.setattr(ForestMember, "leave_one_out", lambda self, rows: None)
    with pytest.raises(ValueError, match="kind 'forest' cannot leave a row out"):
        classifier.loo()


def test_one_row_has_no_others():
    row, constant = make_examples(1, "regression"), ConstantMember()
    alone = Ensemble.remembering([constant], Combiner.mean(1), row)
    with pytest.raises(ValueError, match=r"needs at least 2 remembered rows; .* has 1"):
        next(votes_without_self(alone, np.arange(1)))
