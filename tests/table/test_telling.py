"""What a forest finds telling is louder; what it does not is quieter."""

import numpy as np
import pytest

from modernnca.table.encoder import EncodedTable
from modernnca.table.forest import grow
from modernnca.table.telling import telling_scales

RNG = np.random.RandomState(0)
N = 400
X = RNG.randn(N, 4).astype(np.float32)
CODES = RNG.randint(3, size=(N, 2)) + np.array([0, 3])
TABLE = EncodedTable(X[:, :3], (X[:, 3:] > 0).astype(np.float32), CODES)


def scales_of(values, table=TABLE, **settings):
    return telling_scales(grow(table, values, **{"seed": 0, **settings}))


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("classes", [True, False])
def test_the_one_column_that_tells_is_the_loudest(place, classes):
    column = np.hstack([TABLE.numbers, TABLE.plain, TABLE.codes])[:, place]
    values = column[:, None]
    if classes:
        values = np.eye(2)[(column > column.mean()).astype(int)]
    scales = scales_of(values)
    assert scales.shape == (6,)
    assert scales.argmax() == place
    assert scales[place] > 1.5
    others = np.delete(scales, place)
    assert others.max() < 1
    assert others.min() >= 0.1


def test_columns_that_tell_only_together_are_heard():
    both = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    scales = scales_of(np.eye(2)[both.astype(int)])
    assert scales[:2].min() > 1.2 * scales[2:].max()


def test_a_target_that_is_always_the_same_leaves_all_columns_alike():
    assert (scales_of(np.ones((N, 1))) == 1).all()
    assert (scales_of(np.eye(2)[[0] * N]) == 1).all()


def test_rows_of_no_weight_say_nothing():
    half = np.arange(N) < N // 2
    values = np.where(half, X[:, 0], 5 * X[:, 1])[:, None]
    scales = scales_of(values, weights=half.astype(float))
    assert scales.argmax() == 0
    assert scales[1] < 1


def test_the_same_seed_gives_the_same_scales():
    values = X[:, :1]
    first, second = (scales_of(values, seed=3) for _ in range(2))
    assert (first == second).all()


def test_noise_about_noise_gives_scales_all_the_same():
    for seed in range(20):
        rng = np.random.RandomState(seed)
        x = rng.randn(80, 10).astype(np.float32)
        table = EncodedTable(x, x[:, :0], np.zeros((80, 0), dtype=int))
        scales = scales_of(np.eye(2)[rng.randint(2, size=80)], table, seed=seed)
        assert ((scales >= 0.1) & (scales <= 3)).all()


def test_after_the_deadline_few_trees_say_about_the_same():
    values = X[:, :1]
    few = scales_of(values, deadline=-np.inf)
    many = scales_of(values)
    assert few.argmax() == many.argmax() == 0
    assert (few != many).any()
