import numpy as np
import pandas as pd
import pytest

from modernnca.lab.bench.embedding_map import (
    RawColumns,
    map_embedding,
    purity,
    sample_rows,
)
from modernnca.lab.bench.job import Job, JobInput, run_job


def test_purity_of_classes_is_the_share_of_like_neighbors():
    space = np.concatenate([np.zeros((11, 1)), np.full((11, 1), 9.0)])
    y = np.array([0] * 11 + [1] * 11)
    assert purity(space, y, classification=True) == 1.0
    y[0] = 1  # its ten neighbors are of the other class, and it is one of theirs
    assert purity(space, y, classification=True) == pytest.approx(
        (11 * 10 + 10 * 9) / 220
    )


def test_purity_of_numbers_is_what_neighbors_explain():
    rng = np.random.RandomState(0)
    x = np.arange(200.0)
    assert purity(x[:, None], x, classification=False) > 0.99
    assert purity(rng.randn(200, 1), x, classification=False) < 0.2
    assert purity(np.zeros((4, 1)), np.ones(4), classification=False) == 1.0


def test_a_map_is_made_of_few_rows_and_the_same_again():
    space = np.random.RandomState(0).randn(30, 5)
    y = np.repeat([0, 1], 15)
    drawn, scores = map_embedding(space, y, classification=True, seed=0)
    assert drawn.shape == (30, 2)
    assert 0 <= scores["trustworthiness"] <= 1
    again, _ = map_embedding(space, y, classification=True, seed=0)
    np.testing.assert_array_equal(drawn, again)


def test_large_tables_are_sampled_in_order():
    rows = sample_rows(np.arange(5000), 0)
    assert len(rows) == 1000
    assert (np.diff(rows) > 0).all()
    assert sample_rows(np.arange(7), 0).tolist() == list(range(7))


def test_raw_columns_are_scaled_numbers_and_one_hot_levels():
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.5] * 20, "b": ["u", "v", "u", "w"] * 20})
    space = RawColumns().fit(X, None).transform(X)
    assert np.isfinite(space).all()
    levels = space[:, -3:]
    assert (levels.sum(1) == 1).all()
    assert abs(space[:, 0].mean()) < 1e-6
    assert (levels[0] == levels[2]).all()


@pytest.mark.parametrize("dataset", ["builtin:iris", "builtin:diabetes"])
def test_a_job_of_a_space_gives_a_map_and_numbers(dataset):
    record = run_job(JobInput(Job(dataset, "raw", kind="embed")))
    assert record.status == "done"
    assert record.prediction.shape == (len(record.truth), 2)
    assert set(record.scores) == {"purity", "trustworthiness"}
    assert (record.classes is None) == (dataset == "builtin:diabetes")
    if record.classes:
        assert record.scores["purity"] > 0.6  # of 0.9: ten rows of a class


def test_a_method_without_a_space_says_so():
    with pytest.raises(TypeError, match="'knn' has no embedding"):
        run_job(JobInput(Job("builtin:iris", "knn", kind="embed")))
