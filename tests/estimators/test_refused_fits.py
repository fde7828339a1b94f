"""A fit that is refused leaves an earlier fitted model exactly as it was."""

import numpy as np
import pandas as pd
import pytest
from tests.estimators.models import classifier, regressor
from tests.estimators.tables import classes_of, mixed_table, numbers_of

FRAME = mixed_table()
QUICK = {"max_epochs": 2, "n_members": 2, "random_state": 0}
X = FRAME.drop(columns="same")


def crash(epoch):
    raise RuntimeError("the lights went out")


REFUSED = [
    ({"dim": 0}, {}, ValueError),
    ({"loss": "t-distribution", "distance": "dot"}, {}, ValueError),
    ({}, {"y": [None] * 120}, ValueError),
    ({}, {"y": np.arange(7)}, ValueError),
    ({}, {"y": ["one"] * 120}, ValueError),
    ({}, {"sample_weight": -np.ones(120)}, ValueError),
    ({}, {"eval_set": (FRAME, ["unknown"] * 120)}, ValueError),
    ({"time_column": "nowhere"}, {}, ValueError),
    ({"callbacks": [crash]}, {}, RuntimeError),
]


def state(model):
    """Everything that a fit learns, but for the arguments."""
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


@pytest.mark.parametrize(
    ("options", "changes", "error"), REFUSED, ids=range(len(REFUSED))
)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_model_stays_as_it_was(task, options, changes, error):
    make, y = {
        "classification": (classifier, classes_of(FRAME)),
        "regression": (regressor, numbers_of(FRAME)),
    }[task]
    model = make(**QUICK).fit(FRAME, y)
    before, prediction = state(model), model.predict(FRAME)
    other = pd.Series(y[::-1]).map(lambda v: f"{v}!" if task[0] == "c" else v * 1e6)
    arguments = {"X": FRAME[FRAME.columns[:3]], "y": other.to_numpy(), **changes}
    refused = make(**{**QUICK, **options}).get_params(deep=False)
    with pytest.raises(error):
        model.set_params(**refused).fit(**arguments)
    assert state(model) == before
    np.testing.assert_array_equal(model.predict(FRAME), prediction)


def test_a_new_fit_replaces_everything():
    model = classifier(**QUICK).fit(FRAME, classes_of(FRAME))
    assert hasattr(model, "feature_names_in_")
    model.fit(np.random.RandomState(0).randn(50, 2), np.arange(50) % 3)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 2
    assert list(model.classes_) == [0, 1, 2]
