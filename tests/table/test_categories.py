"""Treatments of categories: whose level has a place of its own."""

import json

import numpy as np
import pytest
from sklearn.preprocessing import OneHotEncoder

from modernnca.table.categories import CATEGORIES, N_OWN, CategoryColumns, learn_grouped


def texts(*columns):
    return np.array(columns, dtype=object).T


def codes(fitted, *columns):
    return fitted.transform(texts(*columns)).tolist()


def test_onehot_is_scikit_learns_encoder():
    rng = np.random.RandomState(0)
    x = np.c_[rng.choice(list("abc"), 50), rng.choice(list("uvwx"), 50)].astype(object)
    new = np.r_[x, texts(["a", "?"], ["?", "u"])]
    fitted = CategoryColumns("onehot").fit(x)
    found = fitted.transform(new)
    dense = np.eye(fitted.n_levels + 1)[found].sum(axis=1)[:, :-1]
    theirs = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(x)
    np.testing.assert_array_equal(dense, theirs.transform(new))


def test_levels_seen_once_share_a_place():
    fitted = CategoryColumns("grouped").fit(texts(["a", "a", "b", "c", "d", "d"]))
    assert fitted.n_levels == 3
    assert codes(fitted, ["a", "d", "b", "c"]) == [[0], [1], [2], [2]]


def test_past_the_thousand_most_frequent_levels_share_a_place():
    often = [f"o{i:04}" for i in range(N_OWN - 1)] * 3
    ties = ["tie2", "tie1"] * 2
    levels = learn_grouped(np.array(often + ties, dtype=object))
    assert len(levels.own) == N_OWN
    assert levels.own[-1] == "tie1"
    assert levels.rare == ("tie2",)


@pytest.mark.parametrize("name", CATEGORIES)
def test_an_unseen_level_is_none_of_the_known(name):
    # In the public code it becomes the category of the first training row.
    fitted = CategoryColumns(name).fit(texts(["a", "a", "b", "b"]))
    assert codes(fitted, ["new", "a"]) == [[fitted.n_levels], [0]]


@pytest.mark.parametrize("name", CATEGORIES)
def test_missing_is_a_level_only_if_it_occurred_in_fit(name):
    seen = CategoryColumns(name).fit(texts(["a", "a", "b", "b", None]))
    assert seen.n_levels == 3
    assert codes(seen, [None]) == [[2]]
    unseen = CategoryColumns(name).fit(texts(["a", "a", "b", "b"]))
    assert codes(unseen, [None]) == [[unseen.n_levels]]


def test_ids_carry_nothing_and_are_left_out():
    x = texts(["k1", "k2", "k3", "k4"], ["a", "a", "b", "b"])
    fitted = CategoryColumns("grouped").fit(x)
    assert fitted.kept_ == [1]
    assert fitted.transform(x).tolist() == [[0], [0], [1], [1]]
    assert CategoryColumns("onehot").fit(x).n_levels == 6


def test_ids_with_gaps_tell_where_the_gaps_are():
    fitted = CategoryColumns("grouped").fit(texts(["k1", None, "k3", None]))
    assert codes(fitted, ["k1", None, "k3"]) == [[1], [0], [1]]


@pytest.mark.parametrize("name", CATEGORIES)
def test_columns_have_places_of_their_own(name):
    same = ["a", "a", "b", "b"]
    fitted = CategoryColumns(name).fit(texts(same, same))
    assert codes(fitted, ["a", "?"], ["b", "a"]) == [[0, 3], [4, 2]]


@pytest.mark.parametrize("name", CATEGORIES)
def test_the_order_of_rows_does_not_matter(name):
    rng = np.random.RandomState(0)
    x = rng.choice([*map(str, range(40)), None], (60, 2))
    shuffled = CategoryColumns(name).fit(rng.permutation(x))
    fitted = CategoryColumns(name).fit(x)
    np.testing.assert_array_equal(fitted.transform(x), shuffled.transform(x))


@pytest.mark.parametrize("name", CATEGORIES)
def test_the_state_is_plain_json(name):
    x = texts(["a", "a", "b", None, "c"], ["k1", "k2", "k3", "k4", "k5"])
    fitted = CategoryColumns(name).fit(x)
    again = CategoryColumns.from_state(json.loads(json.dumps(fitted.state())))
    new = np.r_[x, texts(["?", None], [None, "?"])]
    np.testing.assert_array_equal(again.transform(new), fitted.transform(new))
    assert again.n_levels == fitted.n_levels


def test_no_columns_are_no_trouble():
    fitted = CategoryColumns("grouped").fit(np.empty((3, 0), dtype=object))
    assert fitted.n_levels == 0
    assert fitted.transform(np.empty((2, 0), dtype=object)).shape == (2, 0)


def test_an_unknown_treatment_is_named():
    text = r"^Unknown treatment of categories 'hash'; choose one of: grouped, onehot\.$"
    with pytest.raises(ValueError, match=text):
        CategoryColumns("hash").fit(texts(["a"]))
