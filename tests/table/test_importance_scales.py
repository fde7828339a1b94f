"""Scales by importance: relevant columns get large ones, others small ones."""

import numpy as np
import pytest

from modernnca.table.preprocessor import EncodedTable
from modernnca.table.trees import grow_forest, importance_scales

RNG = np.random.RandomState(0)
N = 400
X = RNG.randn(N, 4).astype(np.float32)
CODES = RNG.randint(3, size=(N, 2)) + np.array([0, 3])
TABLE = EncodedTable(X[:, :3], (X[:, 3:] > 0).astype(np.float32), CODES)


def scales_of(values, table=TABLE, **settings):
    return importance_scales(grow_forest(table, values, **{"seed": 0, **settings}))


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("classes", [True, False])
def test_the_one_relevant_column_has_the_largest_scale(place, classes):
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


def test_columns_that_are_only_relevant_together_are_found():
    both = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    scales = scales_of(np.eye(2)[both.astype(int)])
    assert scales[:2].min() > 1.2 * scales[2:].max()


def test_with_a_constant_target_all_scales_are_one():
    assert (scales_of(np.ones((N, 1))) == 1).all()
    assert (scales_of(np.eye(2)[[0] * N]) == 1).all()


def test_rows_of_zero_weight_do_not_count():
    half = np.arange(N) < N // 2
    values = np.where(half, X[:, 0], 5 * X[:, 1])[:, None]
    scales = scales_of(values, weights=half.astype(float))
    assert scales.argmax() == 0
    assert scales[1] < 1


def test_the_same_seed_gives_the_same_scales():
    values = X[:, :1]
    first, second = (scales_of(values, seed=3) for _ in range(2))
    assert (first == second).all()


def test_scales_of_noise_are_within_the_limits():
    for seed in range(20):
        rng = np.random.RandomState(seed)
        x = rng.randn(80, 10).astype(np.float32)
        table = EncodedTable(x, x[:, :0], np.zeros((80, 0), dtype=int))
        scales = scales_of(np.eye(2)[rng.randint(2, size=80)], table, seed=seed)
        assert ((scales >= 0.1) & (scales <= 3)).all()


def test_few_trees_give_similar_scales():
    values = X[:, :1]
    few = scales_of(values, stop=lambda: True)
    many = scales_of(values)
    assert few.argmax() == many.argmax() == 0
    assert (few != many).any()
