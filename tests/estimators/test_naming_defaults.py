"""Naming what `fit` chooses anyway never changes the model: f(x=default) == f()."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from tests.estimators.models import classifier, regressor
from tests.estimators.tables import classes_of, mixed_table, numbers_of

from modernnca import ModernNCAClassifier, ModernNCAConfig, ModernNCARegressor

FRAME = mixed_table(60)
QUICK = {"max_epochs": 2, "random_state": 0}
Y = {"classification": classes_of(FRAME), "regression": numbers_of(FRAME)}
MAKE = {"classification": classifier, "regression": regressor}


def fit(task, **options):
    return MAKE[task](**{**QUICK, **options}).fit(FRAME, Y[task])


def predictions(model):
    whole = getattr(model, "predict_proba", model.predict)
    return whole(FRAME)


PLAIN = {task: fit(task) for task in Y}


@pytest.mark.parametrize("task", Y)
@pytest.mark.parametrize("name", ModernNCAConfig.names())
def test_naming_the_chosen_value_changes_nothing(name, task):
    value = getattr(PLAIN[task].config_, name)
    if name == "max_epochs":
        pytest.skip("given anyway")
    named = fit(task, **{name: value})
    assert np.array_equal(predictions(named), predictions(PLAIN[task]))
    assert named.config_ == PLAIN[task].config_


ARGUMENTS = inspect.signature(ModernNCAClassifier).parameters


@pytest.mark.parametrize("name", ARGUMENTS)
def test_naming_the_default_of_an_argument_changes_nothing(name):
    if name in QUICK:
        pytest.skip("given anyway")
    named = fit("classification", **{name: ARGUMENTS[name].default})
    assert np.array_equal(predictions(named), predictions(PLAIN["classification"]))


def test_naming_the_chosen_preset_changes_nothing():
    for task, plain in PLAIN.items():
        named = fit(task, preset=plain.preset_)
        assert np.array_equal(predictions(named), predictions(plain))


@pytest.mark.parametrize("config", [{}, ModernNCAConfig()])
def test_an_empty_config_changes_nothing(config):
    model = ModernNCAClassifier(**QUICK, config=config)
    model.fit(FRAME, Y["classification"])
    assert np.array_equal(predictions(model), predictions(PLAIN["classification"]))


def test_an_option_may_be_given_in_three_ways():
    options = {"distance": "cosine", "n_members": 2, "baseline_check": False}
    found = [
        ModernNCARegressor(**QUICK, config=options),
        ModernNCARegressor(**QUICK, config=ModernNCAConfig(**options)),
        ModernNCARegressor(**QUICK, n_members=2).set_params(
            config__distance="cosine", config__baseline_check=False
        ),
    ]
    first, *others = (predictions(m.fit(FRAME, Y["regression"])) for m in found)
    for other in others:
        assert np.array_equal(first, other)
    plain = ModernNCARegressor(**QUICK, n_members=2).fit(FRAME, Y["regression"])
    assert not np.array_equal(first, predictions(plain))


def test_there_are_at_most_27_arguments():
    assert len(ARGUMENTS) <= 27
    assert len(ModernNCARegressor().get_params(deep=False)) <= 27


def test_options_of_config_are_parameters():
    model = ModernNCAClassifier(config={"distance": "cosine"})
    assert model.get_params()["config__distance"] == "cosine"
    assert model.get_params()["config__loss"] is None
    assert "config__distance" not in model.get_params(deep=False)
    copy = clone(model).set_params(config__distance="dot", dim=4)
    assert (copy.config, copy.dim) == ({"distance": "dot"}, 4)
    assert model.config == {"distance": "cosine"}  # the original is not changed
    assert copy.set_params(config__distance=None).config == {}
    with pytest.raises(ValueError, match="Unknown option 'distanec' in config; did"):
        model.set_params(config__distanec="dot")


def test_a_frozen_config_is_not_changed_by_set_params():
    config = ModernNCAConfig(distance="cosine")
    model = ModernNCAClassifier(config=config).set_params(config__loss="sum")
    assert config == ModernNCAConfig(distance="cosine")
    assert model.config == {"distance": "cosine", "loss": "sum"}
    with pytest.raises(AttributeError):
        config.distance = "dot"


def test_options_of_config_can_be_searched():
    space = {"config__distance": ["euclidean", "cosine"], "dim": [4, 8]}
    model = ModernNCAClassifier(preset="fast", **QUICK)
    search = GridSearchCV(model, space, cv=2).fit(FRAME, Y["classification"])
    assert search.best_params_.keys() == space.keys()
    best = search.best_estimator_
    assert best.config_.distance == search.best_params_["config__distance"]
    assert best.config_.dim == search.best_params_["dim"]


def test_the_help_names_every_option():
    for name in ModernNCAConfig.names():
        assert f"    {name}: " in ModernNCAConfig.__doc__
