import numpy as np
import pandas as pd
import pytest

from modernnca.evidence.duplicates import find_duplicates, find_leaks
from modernnca.table.schema import learn_schema, read_table


def people(n=300, seed=0):
    rng = np.random.RandomState(seed)
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "height": rng.normal(170, 10, n),
            "pay": rng.lognormal(10, 2, n),
            "age": np.where(rng.rand(n) < 0.1, np.nan, rng.normal(40, 9, n)),
            "town": rng.choice(["Ulm", "Bonn", "Kiel"], n),
            "since": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.randint(0, 4000, n), "h"),
        }
    )


def pairs(found, exact):
    kept = found.exact == exact
    return set(zip(found.rows[kept].tolist(), found.others[kept].tolist(), strict=True))


def found_in(frame):
    table = read_table(frame)
    return find_duplicates(table, learn_schema(table))


def test_rows_that_differ_have_no_duplicates():
    assert len(found_in(people()).rows) == 0


def test_equal_rows_are_found_whatever_their_identifier():
    frame = people()
    twice = pd.concat([frame, frame.iloc[[5, 9, 5]]], ignore_index=True)
    twice["id"] = np.arange(len(twice))
    found = found_in(twice)
    assert pairs(found, True) == {(300, 5), (301, 9), (302, 5)}
    assert pairs(found, False) == set()


def test_nearly_equal_rows_are_found_and_told_with_the_first():
    frame = people()
    near = frame.iloc[[250, 7, 42]].assign(
        height=lambda f: f["height"] * 1.0001,
        pay=lambda f: f["pay"] * 1.001,
        town=lambda f: " " + f["town"].str.upper(),
    )
    found = found_in(pd.concat([frame, near], ignore_index=True))
    assert pairs(found, False) == {(300, 250), (301, 7), (302, 42)}


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.assign(town="Jena"),
        lambda f: f.assign(height=f["height"] + 1),
        lambda f: f.assign(pay=f["pay"] + 50_000),
        lambda f: f.assign(age=np.nan),
        lambda f: f.assign(since=f["since"] + pd.Timedelta(days=30)),
    ],
)
def test_a_row_that_differs_in_one_column_is_no_duplicate(change):
    frame = people().assign(age=40.0)
    frame.loc[::2, "age"] = 41.0
    other = change(frame.iloc[[3]])
    assert len(found_in(pd.concat([frame, other], ignore_index=True)).rows) == 0


def test_a_single_column_of_many_values_is_not_full_of_near_duplicates():
    x = np.random.RandomState(0).rand(4000, 1)
    found = found_in(x)
    assert len(found.rows) < 400


def test_wide_tables_are_searched_without_a_miss():
    x = np.random.RandomState(0).randn(200, 40)
    near = x[:30] + 1e-4 * np.random.RandomState(1).randn(30, 40)
    found = found_in(np.concatenate([x, near]))
    assert pairs(found, False) == {(200 + i, i) for i in range(30)}


def test_leaks_are_found_in_another_table():
    frame = people()
    other = people(50, seed=1)
    near = frame.iloc[[7]].assign(height=lambda f: f["height"] * 1.0001)
    leaking = pd.concat([other, frame.iloc[[3, 4]], near, near], ignore_index=True)
    old, new = read_table(frame), read_table(leaking)
    found = find_leaks(new, old, learn_schema(old))
    assert pairs(found, True) == {(50, 3), (51, 4)}
    assert pairs(found, False) == {(52, 7), (53, 7)}


def test_duplicates_within_the_other_table_are_no_leaks():
    frame, other = people(), people(20, seed=1)
    twice = pd.concat([other, other], ignore_index=True)
    old, new = read_table(frame), read_table(twice)
    assert len(find_leaks(new, old, learn_schema(old)).rows) == 0
