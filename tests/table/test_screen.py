import numpy as np
import pytest

from modernnca.table.evidence import Spread
from modernnca.table.screen import Screened, _choose, screen


def told(x, values, seed=0):
    names = [f"x{i}" for i in range(x.shape[1])]
    return screen(Spread(x, np.arange(x.shape[1]), 0), names, values, seed=seed)


@pytest.fixture(scope="module")
def noise():
    return np.random.RandomState(0).randn(200, 400)


def test_few_telling_columns_are_found(noise):
    found = told(noise, np.eye(2)[(noise[:, 5] > 0).astype(int)])
    assert found.n_columns == 400
    assert len(found.kept) == found.n_kept <= 32
    assert found.kept[0] == "x5"
    assert found.tried == (8, 16, 32, 64, 128, 256, 400)
    assert min(found.errors) == found.errors[0] < 0.2 < found.errors[-1]


def test_of_numbers_too(noise):
    found = told(noise, noise[:, [7]] + 0.1 * noise[:, [9]])
    assert found.n_kept <= 16
    assert found.kept[0] == "x7"


def test_nothing_is_told_by_noise(noise):
    # Columns chosen by all rows would seem to predict them; in folds they do not.
    values = np.eye(2)[np.random.RandomState(1).randint(2, size=200)]
    found = told(noise, values)
    assert min(found.errors) > 0.4


def test_where_all_columns_tell_all_are_kept(noise):
    y = (noise @ np.ones(400) > 0).astype(int)
    assert told(noise, np.eye(2)[y]).n_kept >= 256


def test_never_more_than_4096():
    x = np.random.RandomState(0).randn(30, 5000)
    found = told(x, x[:, :1])
    assert found.tried[-1] == 4096
    assert found.n_columns == 5000
    assert found.n_kept <= 4096


def test_many_rows_are_content_with_512_columns_unless_these_are_too_few():
    tried, alike = [8, 512, 700], np.zeros((3, 600))
    assert _choose(tried, alike, 600) == 512
    assert _choose(tried, alike, 100) == 700
    alike[:2] = np.arange(600) % 2
    assert _choose(tried, alike, 600) == 700


def test_it_comes_back_from_plain_values(noise):
    found = told(noise, noise[:, [7]])
    state = found.state()
    assert Screened.from_state({**state, "kept": list(state["kept"])}) == found
