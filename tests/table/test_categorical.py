"""Encodings of categories: which levels have a code of their own."""

import json

import numpy as np
import pytest
from sklearn.preprocessing import OneHotEncoder

from modernnca.table.categorical import (
    CATEGORICAL_ENCODINGS,
    MAX_LEVELS,
    CategoricalColumns,
    learn_grouped,
)


def texts(*columns):
    return np.array(columns, dtype=object).T


def codes(fitted, *columns):
    return fitted.transform(texts(*columns)).tolist()


def test_onehot_is_scikit_learns_encoder():
    rng = np.random.RandomState(0)
    x = np.c_[rng.choice(list("abc"), 50), rng.choice(list("uvwx"), 50)].astype(object)
    new = np.r_[x, texts(["a", "?"], ["?", "u"])]
    fitted = CategoricalColumns("onehot").fit(x)
    found = fitted.transform(new)
    dense = np.eye(fitted.n_levels + 1)[found].sum(axis=1)[:, :-1]
    theirs = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(x)
    np.testing.assert_array_equal(dense, theirs.transform(new))


def test_levels_seen_once_share_a_code():
    fitted = CategoricalColumns("grouped").fit(texts(["a", "a", "b", "c", "d", "d"]))
    assert fitted.n_levels == 3
    assert codes(fitted, ["a", "d", "b", "c"]) == [[0], [1], [2], [2]]


def test_all_but_the_thousand_most_frequent_levels_share_a_code():
    assert MAX_LEVELS == 1000
    often = [f"o{i:04}" for i in range(MAX_LEVELS - 1)] * 3
    ties = ["tie2", "tie1"] * 2
    levels = learn_grouped(np.array(often + ties, dtype=object))
    assert len(levels.own) == MAX_LEVELS
    assert levels.own[-1] == "tie1"
    assert levels.rare == ("tie2",)


@pytest.mark.parametrize("name", CATEGORICAL_ENCODINGS)
def test_an_unseen_level_has_the_code_of_unknown_ones(name):
    # In the public code it becomes the category of the first training row.
    fitted = CategoricalColumns(name).fit(texts(["a", "a", "b", "b"]))
    assert codes(fitted, ["new", "a"]) == [[fitted.n_levels], [0]]


@pytest.mark.parametrize("name", CATEGORICAL_ENCODINGS)
def test_missing_is_a_level_only_if_it_occurred_in_fit(name):
    seen = CategoricalColumns(name).fit(texts(["a", "a", "b", "b", None]))
    assert seen.n_levels == 3
    assert codes(seen, [None]) == [[2]]
    unseen = CategoricalColumns(name).fit(texts(["a", "a", "b", "b"]))
    assert codes(unseen, [None]) == [[unseen.n_levels]]


def test_ids_are_left_out():
    x = texts(["k1", "k2", "k3", "k4"], ["a", "a", "b", "b"])
    fitted = CategoricalColumns("grouped").fit(x)
    assert fitted.kept_ == [1]
    assert fitted.transform(x).tolist() == [[0], [0], [1], [1]]
    assert CategoricalColumns("onehot").fit(x).n_levels == 6


def test_ids_with_gaps_show_where_the_gaps_are():
    fitted = CategoricalColumns("grouped").fit(texts(["k1", None, "k3", None]))
    assert codes(fitted, ["k1", None, "k3"]) == [[1], [0], [1]]


@pytest.mark.parametrize("name", CATEGORICAL_ENCODINGS)
def test_columns_have_codes_of_their_own(name):
    same = ["a", "a", "b", "b"]
    fitted = CategoricalColumns(name).fit(texts(same, same))
    assert codes(fitted, ["a", "?"], ["b", "a"]) == [[0, 3], [4, 2]]


@pytest.mark.parametrize("name", CATEGORICAL_ENCODINGS)
def test_the_order_of_rows_does_not_matter(name):
    rng = np.random.RandomState(0)
    x = rng.choice([*map(str, range(40)), None], (60, 2))
    shuffled = CategoricalColumns(name).fit(rng.permutation(x))
    fitted = CategoricalColumns(name).fit(x)
    np.testing.assert_array_equal(fitted.transform(x), shuffled.transform(x))


@pytest.mark.parametrize("name", CATEGORICAL_ENCODINGS)
def test_the_state_is_plain_json(name):
    x = texts(["a", "a", "b", None, "c"], ["k1", "k2", "k3", "k4", "k5"])
    fitted = CategoricalColumns(name).fit(x)
    again = CategoricalColumns.from_state(json.loads(json.dumps(fitted.state())))
    new = np.r_[x, texts(["?", None], [None, "?"])]
    np.testing.assert_array_equal(again.transform(new), fitted.transform(new))
    assert again.n_levels == fitted.n_levels


def test_no_columns_at_all():
    fitted = CategoricalColumns("grouped").fit(np.empty((3, 0), dtype=object))
    assert fitted.n_levels == 0
    assert fitted.transform(np.empty((2, 0), dtype=object)).shape == (2, 0)


def test_an_unknown_encoding_is_named():
    text = r"^Unknown categorical encoding 'hash'; choose one of: grouped, onehot\.$"
    with pytest.raises(ValueError, match=text):
        CategoricalColumns("hash").fit(texts(["a"]))
