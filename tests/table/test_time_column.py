"""The time column: read from dates and numbers, as ranks in time."""

import datetime as dt
import re
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from modernnca.errors import TableError
from modernnca.table.read import read_table
from modernnca.table.time_column import TimeColumn, learn_times, read_times

DAYS = [dt.date(2024, 1, 1), dt.date(2024, 3, 1), None, dt.date(2024, 2, 1)]


def frame(cells):
    return pd.DataFrame({"other": np.arange(len(cells)), "when": cells})


@pytest.mark.parametrize(
    "cells",
    [
        DAYS,
        pd.to_datetime(pd.Series(DAYS)),
        pd.to_datetime(pd.Series(DAYS)).dt.tz_localize("UTC"),
        [None if day is None else str(day) for day in DAYS],
        [20240101, 20240301, None, 20240201],
    ],
    ids=["objects", "datetimes", "zoned", "text", "numbers"],
)
@pytest.mark.parametrize("column", ["when", 1])
def test_ranks_follow_time_however_it_is_given(cells, column):
    table = read_table(frame(cells))
    times = learn_times([table], column)
    assert times.rank(table).tolist() == [0, 2, 2, 1]  # a missing time is the latest


def test_times_between_before_and_after_those_learned():
    column = learn_times([read_table(frame([10.0, 20, 20, 30]))], "when")
    queries = read_table(frame([5.0, 10, 15, 29.9, 30, 99]))
    assert column.rank(queries).tolist() == [0, 0, 0, 1, 2, 2]


def test_the_times_of_all_tables_are_ranked():
    early, late = read_table(frame([1.0, 2])), read_table(frame([2.0, 3]))
    column = learn_times([early, late], "when")
    assert column.rank(early).tolist() == [0, 1]
    assert column.rank(late).tolist() == [1, 2]


def test_the_column_is_found_by_name_or_else_by_position():
    column = learn_times([read_table(frame([1.0, 2]))], "when")
    turned = frame([2.0, 1])[["when", "other"]]
    assert column.rank(read_table(turned)).tolist() == [1, 0]
    assert column.rank(read_table(np.array([[7.0, 1], [7, 2]]))).tolist() == [0, 1]


def test_rows_without_any_time_have_one_rank():
    table = read_table(frame([None, None]))
    assert learn_times([table], "when").rank(table).tolist() == [0, 0]


@pytest.mark.parametrize("cells", [["a", "b"], [True, False], ["2024-01-01", "soon"]])
def test_cells_that_are_not_times_are_named(cells):
    text = re.escape(repr(cells[0]))
    with pytest.raises(
        ValueError, match=f"time_column 'when' must hold dates or numbers.*{text}"
    ):
        learn_times([read_table(frame(cells))], "when")


def test_a_table_that_lacks_the_column_is_refused():
    column = learn_times([read_table(frame([1.0, 2]))], "when")
    with pytest.raises(TableError) as error:
        column.rank(read_table(frame([1.0])[["other"]]))
    assert str(error.value) == (
        "The table lacks the time_column 'when' of the training table; "
        "where times are not known, leave its cells empty."
    )


def test_dates_are_days_to_the_microsecond():
    cells = np.array(["2024-01-01", "2024-01-01T00:00:00.000001"], "datetime64[us]")
    early, late = read_times("when", cells)
    assert late > early
    assert early == 19723


def test_the_order_of_day_and_month_is_that_of_the_training_table():
    given = read_table(frame(["31/01/2024", "01/03/2024", "02/02/2024"]))
    times = learn_times([given], 1)
    assert times.times.tolist() == [19753.0, 19755.0, 19783.0]
    # By itself, this would be read with the month first.
    later = read_table(frame(["03/02/2024", " ", "soon"]))
    assert times.rank(later).tolist() == [1, 2, 2]
    state = {**asdict(times), "reading": asdict(times.reading)}
    again = TimeColumn.from_state(state)
    assert again.reading == times.reading
    assert again.rank(later).tolist() == [1, 2, 2]
