import pandas as pd

from modernnca.lab.report.formats import (
    Column,
    Table,
    fixed,
    significant,
    to_csv,
    to_latex,
    to_markdown,
)

TABLE = Table(
    "odd",
    "Odd names",
    pd.DataFrame(
        {
            "name": ["a|b_<c>", "50% & $x$"],
            "value": [1.23456, float("nan")],
            **{"low": [1.0, float("nan")], "high": [2.0, float("nan")]},
        }
    ),
    (
        Column("name", "Name"),
        Column("value", "Value", fixed(2), "", ("low", "high")),
    ),
)


def test_csv_keeps_all_digits_and_the_ends_of_intervals():
    assert to_csv(TABLE) == (
        "name,value,low,high\na|b_<c>,1.23456,1.0,2.0\n50% & $x$,,,\n"
    )


def test_markdown_shows_and_escapes():
    assert to_markdown(TABLE) == (
        "| Name | Value |\n| --- | ---: |\n"
        "| a\\|b\\_&lt;c> | 1.23 \\[1.00, 2.00\\] |\n| 50% &amp; $x$ | \u2013 |\n"
    )


def test_latex_shows_and_escapes():
    assert to_latex(TABLE).splitlines()[4:6] == [
        r"a|b\_<c> & 1.23 [1.00, 2.00] \\",
        r"50\% \& \$x\$ & -- \\",
    ]


def test_a_single_column_beside_is_a_spread():
    column = Column("mean", "Mean", fixed(1), "", ("std",))
    assert column.extra_text({"mean": 1.0, "std": 0.25}) == "± 0.2"
    assert column.extra_text({"mean": 1.0, "std": float("nan")}) == ""


def test_scores_of_any_size_can_be_shown():
    shown = [significant(value) for value in (0.0, 9.99996, 123.4567, 9_999_999, 5e16)]
    assert shown == ["0.0000", "10.0000", "123.457", "9,999,999", "5e+16"]
