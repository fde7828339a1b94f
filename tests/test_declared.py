"""What a file declares is checked value by value, before anything is built from it."""

import numpy as np
import pytest
import torch

from modernnca import _declared

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("value", [True, 2.0, "2", None, [], -1, 6, 10**400])
def test_a_whole_number_lies_within_its_bounds(value):
    assert [_declared.whole(each, "n", 0, 5) for each in (0, 5)] == [0, 5]
    with pytest.raises(ValueError, match=r"^n is .*, not a whole number from 0 to 5\."):
        _declared.whole(value, "n", 0, 5)


@pytest.mark.parametrize("value", [True, "x", None, NAN, INF, -0.1, 1.1])
def test_a_number_lies_within_its_bounds(value):
    assert [_declared.real(each, "n", 0, 1) for each in (0, 0.5, 1)] == [0, 0.5, 1]
    with pytest.raises(ValueError, match=r"^n is .*, not a number from 0 to 1\.$"):
        _declared.real(value, "n", 0, 1)


@pytest.mark.parametrize("value", [INF, -INF, NAN])
def test_a_number_may_be_infinite_only_where_its_bound_is(value):
    assert _declared.real(INF, "n") == INF
    assert _declared.finite(-1e308, "n") == -1e308
    with pytest.raises(ValueError, match=r"^n is -?(inf|nan), not a number from"):
        _declared.finite(value, "n")


@pytest.mark.parametrize("value", [True, "x", None, 10**400])
def test_a_number_that_is_only_told_may_be_any_number(value):
    found = [_declared.number(each, "n") for each in (INF, NAN, 3)]
    np.testing.assert_array_equal(found, [INF, NAN, 3])
    with pytest.raises(ValueError, match=r"^n is .*, not a number\.$"):
        _declared.number(value, "n")


@pytest.mark.parametrize(
    ("check", "value"),
    [
        *((_declared.flag, value) for value in (1, 0, None, "true")),
        *((_declared.text, value) for value in (1, None, ["a"])),
        *((_declared.texts, value) for value in ("ab", ("a",), ["a", 1], ["a", "a"])),
    ],
)
def test_flags_and_texts_are_such(check, value):
    with pytest.raises(ValueError, match=r"^n (is|holds) "):
        check(value, "n")


def test_a_text_may_be_one_of_a_few():
    assert _declared.text("a", "n", ["a", "b"]) == "a"
    with pytest.raises(ValueError, match=r"^n is 'c', which is unknown\.$"):
        _declared.text("c", "n", ["a", "b"])


ARRAYS = {
    "a list": ([0.0, 0.0], "is .*, not an array"),
    "a column more": (np.zeros((2, 4)), "has the shape"),
    "a row less": (np.zeros((1, 3)), "has the shape"),
    "a dimension less": (np.zeros(2), "has the shape"),
    "a dimension more": (np.zeros((2, 3, 1)), "has the shape"),
    "single precision": (np.zeros((2, 3), np.float32), "holds float32, not float64"),
    "half precision": (torch.zeros(2, 3).half(), "holds float16, not float64"),
    "NaN": (np.full((2, 3), NAN), "not finite"),
    "one NaN": (torch.tensor([[0, 0, 0], [0, NAN, 0]]).double(), "not finite"),
    "infinite": (np.full((2, 3), -INF), "not finite"),
}


@pytest.mark.parametrize(("value", "words"), ARRAYS.values(), ids=ARRAYS)
def test_an_array_has_its_shape_and_dtype_and_is_finite(value, words):
    for good in (np.zeros((2, 3)), torch.zeros(2, 3).double()):
        assert _declared.array(good, "n", (2, 3), ["float64"]) is good
    with pytest.raises(ValueError, match=f"^n .*{words}"):
        _declared.array(value, "n", (2, 3), ["float64"])


def test_an_array_may_be_of_any_length_or_infinite_but_not_nan():
    ends = torch.tensor([-INF, 0.0, INF])
    found = _declared.array(ends, "n", (None,), ["float32"], infinite=True)
    assert found is ends
    with pytest.raises(ValueError, match="not finite"):
        _declared.array(ends * 0, "n", (None,), ["float32"], infinite=True)
