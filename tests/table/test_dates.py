"""Dates as numbers."""

import datetime as dt

import numpy as np

from modernnca.table.dates import date_parts


def test_parts_are_those_of_the_calendar():
    moments = [dt.datetime(1969, 7, 20, 20, 15), dt.datetime(2024, 2, 29, 6, 30)]
    start = np.datetime64("1969-07-20T20:15", "us")
    parts = date_parts(np.array(moments, dtype="datetime64[us]"), start)
    for row, moment in enumerate(moments):
        assert parts["days"][row] == (moment - moments[0]) / dt.timedelta(days=1)
        assert parts["month"][row] == moment.month
        assert parts["day"][row] == moment.day
        assert parts["weekday"][row] == moment.weekday()
        assert parts["hour"][row] == moment.hour + moment.minute / 60


def test_parts_of_missing_dates_are_missing():
    dates = np.array(["NaT"], dtype="datetime64[us]")
    for values in date_parts(dates, np.datetime64("2024-01-01")).values():
        assert np.isnan(values).all()
