"""Every variant of the paper runs on the same estimator, by name."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import train_test_split
from tests.estimators.models import classifier, regressor
from tests.estimators.tables import classes_of, mixed_table, numbers_of

from modernnca import (
    PRESETS,
    ModernNCAClassifier,
    ModernNCARegressor,
)
from modernnca.core.distances import DISTANCES
from modernnca.core.embeddings import EMBEDDINGS
from modernnca.core.encodings import ENCODINGS
from modernnca.core.losses import LOSSES
from modernnca.core.network import COLUMN_SCALES
from modernnca.core.samplers import SAMPLERS
from modernnca.core.transforms import TRANSFORMS
from modernnca.ensemble.mixture import default_members
from modernnca.estimators.presets import preset_for
from modernnca.table.categorical import CATEGORICAL_ENCODINGS
from modernnca.train.optimizers import OPTIMIZERS

FRAME = mixed_table(60)
VARIANTS = [
    {name: value}
    for name, values in {
        "numeric_transform": TRANSFORMS,
        "standardize": [True, False],
        "categorical_encoding": CATEGORICAL_ENCODINGS,
        "encoding": ENCODINGS,
        "distance": DISTANCES,
        "loss": LOSSES,
        "sampler": SAMPLERS,
        "optimizer": OPTIMIZERS,
        "preset": PRESETS,
        "prediction": ["soft", "knn"],
        "column_scales": COLUMN_SCALES,
    }.items()
    for value in values
] + [{"embedding": name, "n_blocks": 2, "d_block": 16} for name in EMBEDDINGS]
ONLY_CLASSIFICATION = (
    *("sum", "mcml", "class-wise", "tabcon"),
    *(f"nca-v{i}" for i in range(4)),
)


TWO = {"n_members": 2}  # one without a block, one with: enough for a variant
ONE = {"n_members": 1, "diversity": "alike"}  # and with a block


def named(settings):
    return "-".join(map(str, settings.values()))


@pytest.mark.parametrize("settings", VARIANTS, ids=named)
def test_a_variant_classifies(settings):
    model = classifier(**TWO, **settings, max_epochs=2, random_state=0)
    model.fit(FRAME, classes_of(FRAME))
    assert np.isfinite(model.predict_proba(FRAME)).all()


@pytest.mark.parametrize(
    "settings",
    [s for s in VARIANTS if not any(v in ONLY_CLASSIFICATION for v in s.values())],
    ids=named,
)
def test_a_variant_regresses(settings):
    model = regressor(**TWO, **settings, max_epochs=2, random_state=0)
    model.fit(FRAME, numbers_of(FRAME))
    assert np.isfinite(model.predict(FRAME)).all()


def test_scales_begin_with_the_importances_of_a_forest():
    X = np.random.RandomState(0).randn(300, 20)
    model = classifier(
        column_scales="importance",
        n_members=1,
        max_epochs=1,
        baseline_check=False,
        random_state=0,
    ).fit(X, X[:, 4] + X[:, 7] > 0)
    scales = model.members_[0].network_.scale
    assert sorted(scales.topk(2).indices.tolist()) == [4, 7]
    assert scales[[4, 7]].min() > 1.5 * scales.median()


LEARNING = [
    {"distance": "squared-euclidean"},
    {"distance": "manhattan", "temperature": 5.0},
    {"distance": "cosine"},
    {"distance": "dot"},
    {"loss": "sum"},
    {"loss": "mcml"},
    {"loss": "t-distribution"},
    {"label_smoothing": 0.1},
    {"sampler": "distance"},
    {"sampler": "class-wise", "sample_rate": 0.2},
    {"encoding": "pbld", "d_encoding": 8, "n_frequencies": 16, "frequency_scale": 0.1},
    {"encoding": "ple"},
    {"n_blocks": 1},
    {"embedding": "layernorm", "n_blocks": 1},
    {"embedding": "residual", "n_blocks": 1},
]


@pytest.mark.parametrize("settings", LEARNING, ids=named)
def test_a_variant_learns(settings):
    X, y = load_wine(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)
    model = classifier(**ONE, **settings, max_epochs=30, random_state=0)
    model.fit(X, y)
    assert model.score(X_test, y_test) > 0.9


@pytest.mark.parametrize(
    "settings",
    [{}, {"loss": "t-distribution"}, {"sampler": "distance"}, {"n_blocks": 1}],
    ids=named,
)
def test_a_variant_learns_numbers(settings):
    X, y = load_diabetes(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    model = regressor(**TWO, **settings, max_epochs=30, random_state=0)
    model.fit(X, y)
    assert model.score(X_test, y_test) > 0.1


def test_a_learned_temperature_moves_and_a_fixed_one_does_not():
    X, y = load_wine(return_X_y=True)
    temperatures = [
        classifier(temperature=t, max_epochs=5, random_state=0)
        .fit(X, y)
        .members_[0]
        .network_.temperature.item()
        for t in (2.0, "learned")
    ]
    assert temperatures[0] == pytest.approx(2.0)
    assert temperatures[1] != pytest.approx(1.0, abs=1e-4)


def test_numbers_with_few_values_may_skip_the_encoding():
    X = np.c_[np.random.RandomState(0).randn(60), np.arange(60) % 3]
    y = np.arange(60) % 2
    shapes = [
        classifier(max_plain_values=k, max_epochs=1).fit(X, y).preparation_.shape
        for k in (0, 3)
    ]
    assert [(s.n_numbers, s.n_plain) for s in shapes] == [(2, 0), (1, 1)]


def test_the_paper_preset_is_the_public_default():
    paper = PRESETS["paper"]
    expected = {
        "dim": 128,
        "n_blocks": 0,
        "encoding": "plr-lite",
        "n_frequencies": 77,
        "frequency_scale": 0.0443136,
        "d_encoding": 34,
        "sample_rate": 0.5,
        "max_sampled": float("inf"),
        "temperature": 1.0,
        "optimizer": "adamw",
        "learning_rate": 0.01,
        "weight_decay": 2e-4,
        "batch_size": 1024,
        "patience": 20,
        "eval_metric": "mae",  # in regression
        "refit": "none",
        "n_members": 1,
    }
    assert {name: getattr(paper, name) for name in expected} == expected


def test_an_argument_overrides_the_preset():
    model = ModernNCAClassifier(preset="paper", dim=8, max_epochs=1)
    model.fit(FRAME, classes_of(FRAME))
    assert (model.config_.dim, model.config_.learning_rate) == (8, 0.01)


def test_the_paper_preset_stops_by_accuracy_or_mae():
    for model, y in (
        (ModernNCAClassifier(preset="paper", max_epochs=1), classes_of(FRAME)),
        (ModernNCARegressor(preset="paper", max_epochs=1), numbers_of(FRAME)),
    ):
        metric = model.fit(FRAME, y).config_.eval_metric
        assert metric == ("accuracy" if hasattr(model, "classes_") else "mae")


def test_the_rule_for_the_default_preset():
    model = ModernNCAClassifier(device="cpu", max_epochs=1, random_state=0)
    assert model.fit(FRAME, classes_of(FRAME)).preset_ == "default"
    model.set_params(preset="fast")
    assert model.fit(FRAME, classes_of(FRAME)).preset_ == "fast"


def test_presets_do_not_depend_on_the_machine():
    sizes = {n: (p.n_members, p.d_block, p.max_sampled) for n, p in PRESETS.items()}
    assert sizes["default"] == (4, 256, 512)
    assert sizes["best"] == (8, 512, 8192)
    assert sizes["fast"] == (1, 256, 512)


def test_the_fast_preset_has_a_block():
    assert PRESETS["fast"].n_blocks == 1


def test_in_regression_rows_of_a_batch_ask_and_answer():
    for name in ("default", "fast", "best"):
        assert preset_for(name, "regression") == PRESETS[name]
        assert PRESETS[name].sampler == "batch"
        assert preset_for(name, "classification").sampler == "random"
    assert preset_for("paper", "regression") == PRESETS["paper"]


def configs(n_members=9, **options):
    config = PRESETS["default"].updated(
        {"n_members": n_members, "forest_member": False, "batch_size": 512, **options}
    )
    members = default_members(config, 5000, classification=True)
    return [member.configure(config) for member in members]


def test_members_differ_in_depth():
    def depths(n_blocks):
        return [config.n_blocks for config in configs(n_blocks=n_blocks)]

    assert depths(1) == [0, 1, 1, 2, 0, 1, 0, 2, 0]
    assert depths(2) == [0, 2, 2, 4, 0, 2, 0, 4, 0]
    assert depths(0) == [0] * 9


def test_members_differ_in_how_they_see_numbers():
    found = [config.numeric_transform for config in configs(n_members=5)]
    assert found == ["standard", "quantile", "squashed", "standard", "quantile"]


def test_two_of_eight_members_have_higher_frequencies():
    scales = [c.frequency_scale for c in configs(n_members=8, frequency_scale=0.1)]
    assert scales == pytest.approx([0.1] * 5 + [0.45] * 2 + [0.1])
    alike = configs(n_members=8, frequency_scale=0.1, diversity="alike")
    assert {config.frequency_scale for config in alike} == {0.1}


@pytest.mark.parametrize("clip", [True, False])
def test_numbers_beyond_the_training_range_are_clipped(clip):
    rng = np.random.RandomState(0)
    X = rng.rand(80, 1)
    model = regressor(
        clip_to_range=clip, baseline_check=False, n_members=1, max_epochs=3
    )
    model.fit(X, X[:, 0], eval_set=(X[:9], X[:9, 0]))
    # One by one: within a batch, some processors round by a row's position in it.
    low, far = model.transform([[X.min()]]), model.transform([[-3.0]])
    assert np.array_equal(low, far) == clip
