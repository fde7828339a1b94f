"""Feature selection: the relevant columns are found, and noise is not."""

import numpy as np
import pytest

from modernnca.table.feature_selection import (
    FeatureSelection,
    _choose,
    select_features,
)
from modernnca.table.univariate import DesignMatrix


def select(x, values, seed=0):
    names = [f"x{i}" for i in range(x.shape[1])]
    table = DesignMatrix(x, np.arange(x.shape[1]), 0)
    return select_features(table, names, values, seed=seed)


@pytest.fixture(scope="module")
def noise():
    return np.random.RandomState(0).randn(200, 400)


def test_few_relevant_columns_are_found_for_classes(noise):
    found = select(noise, np.eye(2)[(noise[:, 5] > 0).astype(int)])
    assert found.n_columns == 400
    assert len(found.kept) == found.n_kept <= 32
    assert found.kept[0] == "x5"
    assert found.tried == (8, 16, 32, 64, 128, 256, 400)
    assert min(found.errors) == found.errors[0] < 0.2 < found.errors[-1]


def test_few_relevant_columns_are_found_for_numbers(noise):
    found = select(noise, noise[:, [7]] + 0.1 * noise[:, [9]])
    assert found.n_kept <= 16
    assert found.kept[0] == "x7"


def test_noise_does_not_predict_the_classes(noise):
    # Columns chosen by all rows would seem to predict them; in folds they do not.
    values = np.eye(2)[np.random.RandomState(1).randint(2, size=200)]
    found = select(noise, values)
    assert min(found.errors) > 0.4


def test_where_all_columns_are_relevant_most_are_kept(noise):
    y = (noise @ np.ones(400) > 0).astype(int)
    assert select(noise, np.eye(2)[y]).n_kept >= 256


def test_never_more_than_4096():
    x = np.random.RandomState(0).randn(30, 5000)
    found = select(x, x[:, :1])
    assert found.tried[-1] == 4096
    assert found.n_columns == 5000
    assert found.n_kept <= 4096


def test_many_rows_get_512_columns_at_most_unless_these_are_too_few():
    tried, losses = [8, 512, 700], np.zeros((3, 600))
    assert _choose(tried, losses, 600) == 512
    assert _choose(tried, losses, 100) == 700
    losses[:2] = np.arange(600) % 2
    assert _choose(tried, losses, 600) == 700


def test_it_comes_back_from_plain_values(noise):
    found = select(noise, noise[:, [7]])
    state = found.state()
    assert FeatureSelection.from_state({**state, "kept": list(state["kept"])}) == found


def test_a_column_of_several_features_is_kept_as_one():
    rng = np.random.RandomState(0)
    codes = rng.randint(3, size=(150, 300))
    x = np.eye(3)[codes].reshape(150, -1)
    table = DesignMatrix(x, np.repeat(np.arange(300), 3), 900)
    names = [f"c{i}" for i in range(300)]
    found = select_features(table, names, np.eye(3)[codes[:, 4]], seed=0)
    assert found.n_columns == 300
    assert found.kept[0] == "c4"
    assert len(set(found.kept)) == found.n_kept
