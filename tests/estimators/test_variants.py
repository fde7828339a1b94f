"""Every variant of the paper runs on the same estimator, by name."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import train_test_split
from tests.estimators.tables import classes_of, mixed_table, numbers_of

from modernnca import PRESETS, ModernNCAClassifier, ModernNCARegressor
from modernnca.core.distances import DISTANCES
from modernnca.core.embed import EMBEDDINGS
from modernnca.core.encode import ENCODINGS
from modernnca.core.losses import LOSSES
from modernnca.core.samplers import SAMPLERS
from modernnca.estimators.build import as_member
from modernnca.estimators.settings import SCALES, Settings, for_machine
from modernnca.table.categories import CATEGORIES
from modernnca.table.numbers import NUMBERS
from modernnca.train.optim import OPTIMIZERS

FRAME = mixed_table(60)
VARIANTS = [
    {name: value}
    for name, values in {
        "numbers": NUMBERS,
        "categories": CATEGORIES,
        "encoding": ENCODINGS,
        "distance": DISTANCES,
        "loss": LOSSES,
        "sampler": SAMPLERS,
        "optimizer": OPTIMIZERS,
        "preset": PRESETS,
        "prediction": ["soft", "knn"],
        "scale_columns": SCALES,
    }.items()
    for value in values
] + [{"embedding": name, "n_blocks": 2, "d_block": 16} for name in EMBEDDINGS]
ONLY_CLASSES = ("sum", "mcml", "class-wise", "tabcon", *(f"nca-v{i}" for i in range(4)))
PRESETS_RESOLVED = {
    name: ModernNCAClassifier(preset=name, device="cpu")._resolve()
    for name in ("default", "fast")
}


TWO = {"n_members": 2}  # one without a block, one with: enough to run a variant in
ONE = {"n_members": 1, "variety": "alike"}  # and with a block


def named(settings):
    return "-".join(map(str, settings.values()))


@pytest.mark.parametrize("settings", VARIANTS, ids=named)
def test_a_variant_classifies(settings):
    model = ModernNCAClassifier(**TWO, **settings, max_epochs=2, random_state=0)
    model.fit(FRAME, classes_of(FRAME))
    assert np.isfinite(model.predict_proba(FRAME)).all()


@pytest.mark.parametrize(
    "settings",
    [s for s in VARIANTS if not any(v in ONLY_CLASSES for v in s.values())],
    ids=named,
)
def test_a_variant_regresses(settings):
    model = ModernNCARegressor(**TWO, **settings, max_epochs=2, random_state=0)
    model.fit(FRAME, numbers_of(FRAME))
    assert np.isfinite(model.predict(FRAME)).all()


def test_scales_begin_with_what_a_forest_finds_telling():
    X = np.random.RandomState(0).randn(300, 20)
    model = ModernNCAClassifier(
        scale_columns="forest", n_members=1, max_epochs=1, guard=False, random_state=0
    ).fit(X, X[:, 4] + X[:, 7] > 0)
    scales = model.members_[0].net.scale
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
    model = ModernNCAClassifier(**ONE, **settings, max_epochs=30, random_state=0)
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
    model = ModernNCARegressor(**TWO, **settings, max_epochs=30, random_state=0)
    model.fit(X, y)
    assert model.score(X_test, y_test) > 0.2


def test_a_learned_temperature_moves_and_a_fixed_one_does_not():
    X, y = load_wine(return_X_y=True)
    temperatures = [
        ModernNCAClassifier(temperature=t, max_epochs=5, random_state=0)
        .fit(X, y)
        .members_[0]
        .net.temperature.item()
        for t in (2.0, "learned")
    ]
    assert temperatures[0] == pytest.approx(2.0)
    assert temperatures[1] != pytest.approx(1.0, abs=1e-4)


def test_few_valued_numbers_may_skip_the_encoding():
    X = np.c_[np.random.RandomState(0).randn(60), np.arange(60) % 3]
    y = np.arange(60) % 2
    shapes = [
        ModernNCAClassifier(few_values=k, max_epochs=1).fit(X, y).members_[0].net.shape
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
        "max_sampled": None,
        "temperature": 1.0,
        "optimizer": "adamw",
        "learning_rate": 0.01,
        "weight_decay": 2e-4,
        "batch_size": 1024,
        "patience": 20,
        "stopping_metric": ("accuracy", "mae"),
        "refit": None,
        "n_members": 1,
    }
    assert {name: getattr(paper, name) for name in expected} == expected


def test_an_argument_overrides_the_preset():
    model = ModernNCAClassifier(preset="paper", dim=8, max_epochs=1)
    model.fit(FRAME, classes_of(FRAME))
    assert (model.settings_.dim, model.settings_.learning_rate) == (8, 0.01)


def test_by_default_a_large_table_has_one_network_on_a_cpu():
    model = ModernNCAClassifier(device="cpu")
    assert model._resolve(20_000) == PRESETS_RESOLVED["default"]
    assert model._resolve(20_001) == PRESETS_RESOLVED["fast"]
    model.set_params(preset="default")
    assert model._resolve(20_001) == PRESETS_RESOLVED["default"]


def test_what_the_machine_decides_is_settled_by_it_and_the_task():
    found = {
        (task, on_gpu): for_machine(Settings(), task, on_gpu=on_gpu)
        for task in ("classes", "numbers")
        for on_gpu in (True, False)
    }
    much = found.pop(("classes", True))

    def chosen(settings):
        return settings.max_sampled, settings.d_block, settings.n_members

    assert chosen(much) == (12_288, 512, 8)
    assert {chosen(settings) for settings in found.values()} == {(4096, 256, 4)}
    paper = PRESETS["paper"]
    assert for_machine(paper, "classes", on_gpu=True) == paper
    given = {"max_sampled": 100, "d_block": 7, "n_members": 3}
    assert chosen(ModernNCAClassifier(**given, device="cpu")._resolve()) == (100, 7, 3)
    assert chosen(ModernNCAClassifier(device="cpu")._resolve()) == (4096, 256, 4)


def test_members_differ_in_depth_and_none_is_deep_where_there_are_no_blocks():
    def depths(n_blocks):
        settings = Settings(n_blocks=n_blocks)
        return [as_member(settings, number).n_blocks for number in range(9)]

    assert depths(1) == [0, 1, 1, 2, 0, 1, 0, 2, 0]
    assert depths(2) == [0, 2, 2, 4, 0, 2, 0, 4, 0]
    assert depths(0) == [0] * 9


def test_two_members_of_the_second_turn_look_closer():
    settings = Settings(frequency_scale=0.1)
    scales = [as_member(settings, number).frequency_scale for number in range(8)]
    assert scales == pytest.approx([0.1] * 5 + [0.45] * 2 + [0.1])
    alike = replace(settings, variety="alike")
    assert {as_member(alike, number).frequency_scale for number in range(8)} == {0.1}


@pytest.mark.parametrize("clip", [True, False])
def test_a_number_never_seen_counts_as_the_nearest_seen(clip):
    rng = np.random.RandomState(0)
    X = rng.rand(80, 1)
    model = ModernNCARegressor(clip=clip, guard=False, n_members=1, max_epochs=3)
    model.fit(X, X[:, 0], eval_set=(X[:9], X[:9, 0]))
    # Asked one by one: within a batch, some processors round by a row's place in it.
    low, far = model.transform([[X.min()]]), model.transform([[-3.0]])
    assert np.array_equal(low, far) == clip
