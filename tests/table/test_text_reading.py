"""Texts are read as people read them, in one form for the whole column."""

import numpy as np
import pandas as pd
import pytest

from modernnca.table.gap_words import is_gap_word
from modernnca.table.read import missing_in, read_table
from modernnca.table.schema import learn_schema
from modernnca.table.text_dates import parse_date
from modernnca.table.text_numbers import is_code, parse_number
from modernnca.table.text_reading import Reading, find_reading


def read(cells):
    """How a column is read, and its values."""
    reading = find_reading(np.array(cells, dtype=object))
    return reading, reading.read(np.array(cells, dtype=object))[0].tolist()


@pytest.mark.parametrize(
    ("text", "point", "comma"),
    [
        ("1.23", 1.23, None),
        ("1,430", 1430, 1.43),
        ("1.430", 1.43, 1430),
        ("1.430,5", None, 1430.5),
        ("1035000,0", None, 1035000),
        ("$1,035,000", 1035000, None),
        ("-$5.50", -5.5, None),
        ("$-5.50", -5.5, None),
        ("1.035.000 €", None, 1035000),
        ("12 %", 12, 12),
        ("12%", 12, 12),
        ("(1,200)", -1200, -1.2),
        ("1 430 000", 1430000, 1430000),
        ("1\xa0430,5", None, 1430.5),
        ("12,34,567", 1234567, None),
        ("1'430.5", 1430.5, None),
        ("USD 20", 20, 20),
        ("1e-3", 0.001, 0.001),
        (".5", 0.5, None),
        ("+7", 7, 7),
        ("\u22127", -7, -7),
        ("inf", np.inf, None),
        ("abc", None, None),
        ("12 apples", None, None),
        ("1,43,0", None, None),
        ("1-2", None, None),
        ("--5", None, None),
        ("nan", None, None),
        ("(5", None, None),
        ("", None, None),
    ],
)
def test_numbers_with_a_point_or_a_comma(text, point, comma):
    assert parse_number(text, "point") == point
    assert parse_number(text, "comma") == comma


@pytest.mark.parametrize(
    ("text", "day_first", "month_first"),
    [
        ("31.01.2014", "2014-01-31", None),
        ("01/31/2014", None, "2014-01-31"),
        ("02/03/2014", "2014-03-02", "2014-02-03"),
        ("2/3/14", "2014-03-02", "2014-02-03"),
        ("2/3/71", "1971-03-02", "1971-02-03"),
        ("20150123T000000", "2015-01-23", "2015-01-23"),
        ("20150123", "2015-01-23", "2015-01-23"),
        ("2015/01/23", "2015-01-23", "2015-01-23"),
        ("31 Jan 2014", "2014-01-31", "2014-01-31"),
        ("31-Jan-14", "2014-01-31", "2014-01-31"),
        ("January 31, 2014", "2014-01-31", "2014-01-31"),
        ("Fri, 31 Jan 2014", "2014-01-31", "2014-01-31"),
        ("2014-01-31T13:30:00+02:00", "2014-01-31 11:30", "2014-01-31 11:30"),
        ("01/02/2014 12:05 am", "2014-02-01 00:05", "2014-01-02 00:05"),
        ("01/02/2014 12:05 PM", "2014-02-01 12:05", "2014-01-02 12:05"),
        ("2014-02-30", None, None),
        ("1/2/3", None, None),
        ("99999999", None, None),
        ("2014-01-31 25:00", None, None),
        ("9999-12-31 23:00-05:00", None, None),  # beyond the calendar, in UTC
        ("soon", None, None),
    ],
)
def test_dates_with_the_day_or_the_month_first(text, day_first, month_first):
    for form, wanted in (("day-first", day_first), ("month-first", month_first)):
        found = parse_date(text, form)
        assert found == (wanted and pd.Timestamp(wanted).to_pydatetime())


def test_an_order_that_is_not_told_is_not_read_year_first():
    assert parse_date("02/03/2014", "year-first") is None


def test_the_whole_column_decides_how_decimals_are_separated():
    assert read(["1,430", "2,5", None]) == (
        Reading("number", "comma"),
        pytest.approx([1.43, 2.5, np.nan], nan_ok=True),
    )
    assert read(["1,430", "2,500.5"])[1] == [1430, 2500.5]
    assert read(["1,430", "2,500"])[1] == [1430, 2500]
    assert read(["1.430", "2.500.000"])[1] == [1430, 2500000]


def test_the_whole_column_decides_the_order_of_day_and_month():
    reading, dates = read(["02/03/2014", "31/01/2014"])
    assert (reading.form, reading.ambiguous) == ("day-first", False)
    assert [str(date) for date in dates] == [
        "2014-03-02 00:00:00",
        "2014-01-31 00:00:00",
    ]
    reading, dates = read(["02/03/2014", "01/31/2014"])
    assert (reading.form, reading.ambiguous) == ("month-first", False)


@pytest.mark.parametrize(
    ("cells", "form", "ambiguous"),
    [
        (["02/03/2014", "04/05/2014"], "month-first", True),
        (["02.03.2014", "04.05.2014"], "day-first", True),
        (["02/02/2014", "04/04/2014"], "month-first", False),  # the same either way
    ],
)
def test_an_order_that_no_cell_tells_is_marked(cells, form, ambiguous):
    reading, _ = read(cells)
    assert (reading.form, reading.ambiguous) == (form, ambiguous)


def test_a_column_that_is_mostly_numbers_is_numbers_and_the_rest_is_counted():
    reading, values = read([*map(str, range(95)), "many", "few", "many", "few", "many"])
    assert (reading.kind, reading.n_unread, reading.example) == ("number", 5, "many")
    assert np.isnan(values[-5:]).all()
    assert find_reading(np.array(["1", "2", "3", "4 or more"], dtype=object)) is None
    # Half of the cells are enough if the words are few and the numbers many.
    assert read([*map(str, range(60)), *["below limit"] * 40])[0].n_unread == 40


def test_words_and_mixed_codes_are_not_numbers_or_dates():
    for cells in (["red", "green"], ["A12", "B13"], ["1-2", "3-4"], ["12:30", "13:45"]):
        assert find_reading(np.array(cells, dtype=object)) is None


def test_codes_are_padded_with_zeros_or_too_long_to_be_told_apart():
    assert is_code(["02139", "10001"])
    assert not is_code(["0", "5", "12"])
    assert not is_code(["00", "5", "12"])
    assert is_code([str(2**62), str(2**62 + 1)])
    assert not is_code([str(10**17), str(2 * 10**17)])


@pytest.mark.parametrize("word", ["", " ", "NA", "n/a", "N/A", "null", "-", "?", "NaN"])
def test_blanks_and_the_usual_words_are_missing_in_every_column_of_text(word):
    assert is_gap_word(word)
    frame = pd.DataFrame({"n": ["1.5", word, "2"], "c": ["red", "blue", word]})
    table = read_table(frame)
    assert missing_in(table.columns["n"]).tolist() == [False, True, False]
    assert missing_in(table.columns["c"]).tolist() == [False, False, True]
    assert [c.kind for c in learn_schema(table).columns] == ["number", "category"]


def test_numbers_beside_text_in_one_column_are_read():
    table = read_table(pd.DataFrame({"a": [1, " ", 2.5, "1,000"]}, dtype=object))
    (column,) = learn_schema(table).columns
    assert column.reading == Reading("number", "point")


def test_a_reading_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="there is no reading"):
        Reading("number", "day-first")
