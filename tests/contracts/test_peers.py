"""The contract of every method in PEERS; a new one is tested once it is listed."""

import json
import os
import pickle
import random
import time

import numpy as np
import pandas as pd
import pytest
import torch

from modernnca.errors import MissingExtraError
from modernnca.estimators.presets import PRESETS
from modernnca.lab.peers import PEERS, peer
from modernnca.lab.peers.card import TASKS
from modernnca.lab.peers.peer_files import load

# The setting for the number of steps, of methods without epochs.
STEPS = {
    "random-forest": "n_estimators",
    "xgboost": "n_estimators",
    "lightgbm": "n_estimators",
    "catboost": "iterations",
}
WITHOUT_STEPS = ("knn", "svm")
# Sizes that suffice for these tests.
SMALL = {
    "d": 64,
    "d_layer": 64,
    "d_block": 64,
    "d_main": 64,
    "d_token": 32,
    "n_heads": 4,
    "n_blocks": 2,
    "n_layers": 2,
    "n_mates": 64,
    "n_members": 2,
    "n_trees": 128,
}
# Learning rates of methods that need another one to learn in few steps.
RATES = {"node": 0.03, "danets": 0.008, "saint": 0.001}
DETERMINISTIC = ("knn", "svm")
LINEAR = ("svm", "nca")
# The presets of this package's own methods, whose cards have no defaults.
PRESET_OF = {
    "modernnca": "default",
    "modernnca-paper": "paper",
    "l-nca": "nca-v4",
    "tabcon": "tabcon",
}
LABELS = np.array(["no", "yes", "Maybe", "0", "unheard of", "ß", "g", "h", "i", "j"])


@pytest.fixture(scope="module", params=PEERS)
def card(request):
    card = peer(request.param)
    if not card.extra:
        return card
    try:
        build(card, card.tasks[0], 1).fit(np.eye(20), LABELS[np.arange(20) % 2])
    except MissingExtraError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    return card


@pytest.fixture(scope="module", params=TASKS)
def task(card, request):
    if request.param not in card.tasks:
        pytest.skip(f"{card.title} does not support {request.param}")
    return request.param


@pytest.fixture(params=["multiclass", "regression"])
def learned_task(card, request):
    if request.param not in card.tasks:
        pytest.skip(f"{card.title} does not support {request.param}")
    return request.param


def build(card, task, n_steps=2, *, seed=0, report=None, **settings):
    """A model with few steps; methods without epochs ignore other settings."""
    if card.name in STEPS:
        settings = {STEPS[card.name]: min(n_steps * 5, 400)}
    elif card.name in WITHOUT_STEPS:
        settings = {}
    else:
        settings = {"max_epochs": n_steps, "batch_size": 32, "device": "cpu"} | settings
    return card.build(task, seed=seed, settings=settings, report=report)


def mixed_table(n_rows=80, seed=0):
    """Numbers, few-valued numbers, text and booleans; one column has no gaps."""
    rng = np.random.RandomState(seed)
    X = pd.DataFrame(
        {
            "number": rng.randn(n_rows),
            "whole": rng.randn(n_rows) * 1e3,
            "few": rng.randint(4, size=n_rows).astype(float),
            "text": rng.choice(["a", "b", "c"], n_rows),
            "flag": rng.rand(n_rows) < 0.5,
        }
    ).astype({"text": object, "flag": object})
    for name in ("number", "few", "text", "flag"):
        X.loc[rng.rand(n_rows) < 0.15, name] = None
    return X


def target(task, signal, n_classes=10):
    """The signal (N,) as numbers, or as about equally frequent labels."""
    if task == "regression":
        return signal * 10 + 1000
    n_classes = 2 if task == "binclass" else n_classes
    ranks = np.argsort(np.argsort(signal))
    return LABELS[ranks * n_classes // len(signal)]


def outputs(model, X):
    """Probabilities (B, V), or numbers (B, 1)."""
    if hasattr(model, "classes_"):
        return model.predict_proba(X)
    return model.predict(X)[:, None]


def close(left, right):
    size = 1e-12 + max(np.abs(left).max(), np.abs(right).max())
    return np.allclose(left / size, right / size, rtol=1e-4, atol=1e-6)


def fit_and_check(card, task, X, signal, **settings):
    """Fit without an eval_set, and check the format of the predictions."""
    y = target(task, signal)
    return check_format(build(card, task, **settings).fit(X, y), task, X, y)


def check_format(model, task, X, y):
    found = outputs(model, X)
    assert np.isfinite(found).all()
    predicted = model.predict(X)
    assert predicted.shape == (len(X),)
    if task == "regression":
        assert found.shape == (len(X), 1)
        assert predicted.dtype == np.float64
    else:
        assert model.classes_.tolist() == sorted(set(y))
        assert found.shape == (len(X), len(set(y)))
        assert (found >= 0).all()
        assert np.allclose(found.sum(axis=1), 1, atol=1e-5)
        assert (predicted == model.classes_[found.argmax(axis=1)]).all()
    return model


# One model, fitted on a mixed table.


@pytest.fixture(scope="module")
def fitted(card, task):
    X = mixed_table()
    signal = X["whole"].to_numpy()
    before = torch.get_rng_state(), str(np.random.get_state()), random.getstate()
    model = fit_and_check(card, task, X, signal)
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1:] == (str(np.random.get_state()), random.getstate())
    return model


def test_it_fits_mixed_columns_and_does_not_change_global_random_states(fitted, task):
    X = mixed_table(n_rows=7, seed=1)
    check_format(fitted, task, X, classes_of(task))


def test_it_predicts_rows_with_new_missing_cells_and_levels(fitted, task):
    X = mixed_table(n_rows=6, seed=1)
    X.loc[0, "whole"] = None
    X.loc[1] = None
    X.loc[2, "text"] = "never seen"
    X.loc[3, "few"] = 17.0
    check_format(fitted, task, X, classes_of(task))


def classes_of(task):
    return LABELS[: {"binclass": 2, "multiclass": 10}.get(task, 0)].tolist()


def test_the_prediction_of_a_row_does_not_depend_on_other_rows_or_their_order(fitted):
    X = mixed_table(n_rows=12, seed=1)
    found = outputs(fitted, X)
    order = np.random.RandomState(0).permutation(12)
    assert close(outputs(fitted, X.iloc[order]), found[order])
    assert close(outputs(fitted, X.iloc[:5]), found[:5])
    for row in (0, 7):
        assert close(outputs(fitted, X.iloc[[row]]), found[[row]])
    repeated = X.iloc[[3] * 20]
    assert close(outputs(fitted, repeated), found[[3] * 20])
    assert close(outputs(fitted, X), found)  # predicting does not change the model


def test_a_loaded_model_predicts_the_same(fitted, tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a pickle was read")

    X = mixed_table(n_rows=12, seed=1)
    expected = outputs(fitted, X)
    path = tmp_path / "model"
    fitted.save(path)
    for name in ("load", "loads", "Unpickler", "_Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    again = load(path, device="cpu", trusted=True)
    assert np.array_equal(outputs(again, X), expected)
    assert np.array_equal(again.predict(X), fitted.predict(X))


def test_a_model_of_a_table_without_numbers_can_be_saved(card, tmp_path):
    task = card.tasks[0]
    X = np.random.RandomState(0).choice(list("abc"), (40, 3)).astype(object)
    y = target(task, np.arange(40.0))
    fitted = build(card, task, 1).fit(X, y)
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model", device="cpu", trusted=True)
    assert np.array_equal(again.predict(X), fitted.predict(X))


def test_a_file_holds_no_pickle(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    n_bytes = int.from_bytes(content[:8], "little")
    assert json.loads(content[8 : 8 + n_bytes])["__metadata__"]["kind"] == "modernnca"
    for trace in (b"sklearn.", b"numpy._core", b"numpy.core", b"cnumpy"):
        assert trace not in content, "a pickle names its classes"


# Randomness.


def test_equal_seeds_give_equal_models(card):
    task = card.tasks[-1]
    X = mixed_table()
    y = target(task, X["whole"].to_numpy() + 300 * np.random.RandomState(1).randn(80))
    found = [outputs(build(card, task, seed=s).fit(X, y), X) for s in (3, 3, 4)]
    assert np.array_equal(found[0], found[1])
    if card.name not in DETERMINISTIC:
        assert not np.array_equal(found[0], found[2])


# Narrow and small tables.


def test_it_accepts_a_single_column_of_numbers(card, task):
    x = np.random.RandomState(0).randn(40, 1)
    fit_and_check(card, task, x, x[:, 0])


def test_it_accepts_categorical_columns_only(card, task):
    X = mixed_table()[["text", "flag"]]
    fit_and_check(card, task, X, np.random.RandomState(0).randn(80))


def test_it_accepts_a_last_batch_of_one_row(card, task):
    X = mixed_table(33)
    y = target(task, X["whole"].to_numpy(), n_classes=3)
    model = build(card, task, batch_size=16)
    check_format(model.fit(X, y, eval_set=(X[-9:], y[-9:])), task, X, y)


# Learning.


def easy_table(n_rows, seed=0):
    """Five columns; the target depends on two numbers and a level."""
    rng = np.random.RandomState(seed)
    X = pd.DataFrame(rng.randn(n_rows, 4), columns=list("abcd"))
    X["e"] = rng.choice(["low", "high"], n_rows)
    return X, (X["a"] + X["b"] + 2 * (X["e"] == "high")).to_numpy()


def settings_to_learn(card):
    """A smaller network and a higher learning rate than by default: few steps do."""
    defaults = card.defaults
    if card.name in PRESET_OF:
        preset = PRESETS[PRESET_OF[card.name]]
        defaults = {name: getattr(preset, name) for name in card.space}
    sizes = {
        name: min(defaults[name], size)
        for name, size in SMALL.items()
        if name in defaults
    }
    rate = max(2e-3, defaults.get("learning_rate", 0.01))
    return {"learning_rate": RATES.get(card.name, rate), **sizes}


def test_it_clearly_beats_a_constant_on_an_easy_table(card, learned_task):
    task = learned_task
    X, signal = easy_table(320)
    y = target(task, signal, n_classes=3)
    parts = slice(0, 160), slice(160, 220), slice(220, 320)
    train, valid, test = [(X[part], y[part]) for part in parts]
    model = build(card, task, 16, **settings_to_learn(card))
    model.fit(*train, eval_set=valid)
    predicted = model.predict(test[0])
    if task == "regression":
        ratio = np.square(predicted - test[1]).mean() / test[1].var()
        assert ratio < 0.5  # relative to the error of a constant
    else:
        assert (predicted == test[1]).mean() > 0.6
        p = model.predict_proba(test[0])
        place = np.searchsorted(model.classes_, test[1])
        log_loss = -np.log(p[np.arange(len(p)), place] + 1e-7).mean()
        assert log_loss < 0.85 * np.log(len(model.classes_))


class LearnedError(Exception):
    """The model has reached its aim."""


def test_it_can_memorize_64_rows(card, learned_task):
    task = learned_task
    if card.name in LINEAR:
        pytest.skip("a linear method cannot memorize noise")
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.randn(64, 8)).add_prefix("x")
    y = target(task, rng.randn(64), n_classes=3)
    y = (y - y.mean()) / y.std() if task == "regression" else y
    aim = -0.6 if task == "regression" else 0.9  # a constant has -1

    def report(step, score):
        if score > aim:
            raise LearnedError

    settings = {**settings_to_learn(card), "patience": 300}
    model = build(card, task, 300, report=report, **settings)
    try:
        model.fit(X, y, eval_set=(X, y))
    except LearnedError:
        return
    predicted = model.predict(X)
    if task == "regression":
        assert np.sqrt(np.square(predicted - y).mean()) < -aim
    else:
        assert (predicted == y).mean() > aim


@pytest.mark.filterwarnings("ignore::modernnca.errors.TimeLimitWarning")
def test_it_respects_a_time_limit(card):
    task = card.tasks[-1]
    X, signal = easy_table(400)
    y = target(task, signal, n_classes=3)
    settings = {"time_limit": 0.5}
    if card.name in STEPS:
        settings[STEPS[card.name]] = 100_000
    elif card.name not in WITHOUT_STEPS:
        settings |= {"max_epochs": 100_000, "patience": 100_000, "device": "cpu"}
    model = card.build(task, seed=0, settings=settings)
    began = time.monotonic()
    model.fit(X, y, eval_set=(X, y))
    assert time.monotonic() - began < 10  # one step may be slow on a busy machine
    check_format(model, task, X, y)
