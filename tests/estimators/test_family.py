"""The relatives of ModernNCA are the paper's, in their configs and in what they do."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes, load_wine

from modernnca import (
    PRESETS,
    LNCAClassifier,
    LNCARegressor,
    ModernNCAClassifier,
    ModernNCARegressor,
    NCAClassifier,
    TabConClassifier,
    TabConRegressor,
)

X, Y = load_wine(return_X_y=True)
DX, DY = load_diabetes(return_X_y=True)
QUICK = {"max_epochs": 2, "random_state": 0}

# The paper's table "L-NCA": one check mark more in each row.
LADDER = {
    "nca-v0": (True, "lbfgs", "sum", "knn"),
    "nca-v1": (False, "lbfgs", "sum", "knn"),
    "nca-v2": (False, "sgd", "sum", "knn"),
    "nca-v3": (False, "sgd", "log", "knn"),
    "nca-v4": (False, "sgd", "log", "soft"),
}


@pytest.mark.parametrize("name", LADDER)
def test_each_step_of_the_ladder_is_the_papers(name):
    config = PRESETS[name]
    steps = (config.cap_dim, config.optimizer, config.loss, config.prediction)
    assert steps == LADDER[name]
    assert config.distance == "squared-euclidean"
    assert (config.encoding, config.embedding) == ("none", "linear")
    assert config.sampler == "all"
    assert (config.temperature, config.n_members) == (1.0, 1)
    whole = name in ("nca-v0", "nca-v1")  # L-BFGS takes all rows at once
    assert config.batch_size == (None if whole else 1024)


@pytest.fixture(scope="module")
def ladder():
    return {name: NCAClassifier(preset=name, **QUICK).fit(X, Y) for name in LADDER}


def test_only_v0_has_no_more_dimensions_than_columns(ladder):
    dims = {name: model.transform(X).shape[1] for name, model in ladder.items()}
    assert dims == {name: X.shape[1] if name == "nca-v0" else 128 for name in LADDER}


def test_up_to_v3_five_neighbors_vote_and_then_all(ladder):
    for name, model in ladder.items():
        fifths = model.predict_proba(X) * 5
        hard = np.allclose(fifths, fifths.round(), atol=1e-4)
        assert hard == (name != "nca-v4"), name


def test_l_nca_is_the_last_step(ladder):
    assert LNCAClassifier._default_preset == LNCARegressor._default_preset == "nca-v4"
    found = LNCAClassifier(**QUICK).fit(X, Y).predict_proba(X)
    assert np.array_equal(found, ladder["nca-v4"].predict_proba(X))


def test_l_nca_votes_by_squared_distances_of_a_linear_projection():
    model = LNCARegressor(**QUICK, config={"refit": "none"})
    model.fit(DX[:300], DY[:300], eval_set=(DX[300:], DY[300:]))
    ours = torch.from_numpy(model.transform(DX)).double()
    linear = np.linalg.lstsq(np.c_[DX, np.ones(len(DX))], ours.numpy(), rcond=None)[0]
    np.testing.assert_allclose(np.c_[DX, np.ones(len(DX))] @ linear, ours, atol=1e-4)
    weights = (-torch.cdist(ours[300:], ours[:300]).square()).softmax(1).numpy()
    np.testing.assert_allclose(model.predict(DX[300:]), weights @ DY[:300], rtol=1e-3)


def test_tabcon_is_the_papers():
    config = PRESETS["tabcon"]
    assert (config.loss, config.sampler, config.prediction) == ("mcml", "batch", "knn")
    assert (config.distance, config.temperature) == ("cosine", 0.1)
    assert (config.target_bins, config.n_blocks) == (10, 1)


def test_tabcon_predicts_by_five_neighbors():
    model = TabConClassifier(**QUICK).fit(X, Y)
    fifths = model.predict_proba(X) * 5
    np.testing.assert_allclose(fifths, fifths.round(), atol=1e-4)


def test_tabcon_compares_ten_bins_of_numbers():
    model = TabConRegressor(**QUICK).fit(DX, DY)
    assert model.preparation_.target_bins == 10
    assert model.members_[0].network_.temperature.item() == pytest.approx(0.1)


def test_the_paper_stops_and_predicts_as_the_public_code():
    config = PRESETS["paper"]
    assert config.tie_break == "later"
    assert config.min_gain == 0.0
    assert (config.calibrate, config.cooling, config.baseline_check) == (False,) * 3
    assert (config.warmup, config.final_rate, config.weight_averaging) == (0, 1, 0)
    assert (config.max_epochs, config.dense_rounds, config.finetune) == (200, 0, 0)
    assert (config.categorical_encoding, config.missing_indicators) == ("onehot", False)
    assert (config.loss, config.prediction, config.sampler) == ("log", "soft", "random")
    assert config.distance == "euclidean"


@pytest.mark.parametrize("kind", [ModernNCAClassifier, ModernNCARegressor])
def test_the_papers_model_is_one_uncalibrated_network(kind):
    x, y = (X, Y) if kind is ModernNCAClassifier else (DX, DY)
    model = kind(preset="paper", **QUICK).fit(x, y)
    assert len(model.members_) == 1
    assert getattr(model.calibration_, "power", 1.0) == 1.0  # probabilities as they are
    assert getattr(model.calibration_, "floor", 0.0) == 0.0
    assert model.baseline_ is None
