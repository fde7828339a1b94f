"""The Pareto front by hand, and against its definition."""

import numpy as np
import pytest
from pandas import DataFrame

from modernnca.lab.stats import pareto_front


def test_the_front_by_hand():
    points = {
        "best": (1, 9, True),
        "fast": (5, 1, True),
        "between": (3, 3, True),
        "its twin": (3, 3, True),
        "beaten": (4, 4, False),
        "as good in one": (3, 8, False),
        "unknown": (0, np.nan, False),
    }
    frame = DataFrame(points, index=["rank", "seconds", "on"]).T
    marked = pareto_front(frame, "rank", "seconds")
    assert marked.to_dict() == {name: on for name, (_, _, on) in points.items()}


def test_the_front_is_what_it_is_said_to_be():
    points = np.random.default_rng(0).integers(0, 12, size=(60, 2)).astype(float)
    frame = DataFrame(points, columns=["x", "y"])
    expected = [
        not any((q <= p).all() and (q < p).any() for q in points) for p in points
    ]
    assert pareto_front(frame, "x", "y").tolist() == expected
    squeezed = frame.assign(y=np.exp(frame["y"]))
    assert pareto_front(squeezed, "x", "y").tolist() == expected


def test_an_unknown_column_is_named_and_an_empty_frame_has_no_front():
    frame = DataFrame({"rank": [1.0]})
    with pytest.raises(ValueError) as error:
        pareto_front(frame, "rank", "time")
    assert str(error.value) == "The frame has no column 'time'; it has: rank."
    assert pareto_front(DataFrame({"x": [], "y": []}), "x", "y").empty
