"""Tables as CSV, Markdown and LaTeX, and the formats of their cells."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

Show = Callable[[Any], str]
EMPTY_CELL = "\u2013"
_LATEX = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\u2013": "--",
    "\u2212": "$-$",
    "±": r"$\pm$",
    "\n": " ",
}
_MARKDOWN = {"|": "\\|", "\\": "\\\\", "<": "&lt;", "&": "&amp;", "\n": " "} | {
    letter: f"\\{letter}" for letter in "`*_[]"
}


@dataclass(frozen=True)
class Column:
    """A column: its name in the frame, its heading, and the format of its values.

    `extra` names columns shown after the value: one is a standard deviation, two are
    the ends of an interval.
    """

    key: str
    label: str
    show: Show = str
    hint: str = ""
    extra: tuple[str, ...] = ()

    def text(self, value: Any) -> str:
        """Return the text of a cell."""
        return EMPTY_CELL if pd.isna(value) else self.show(value)

    def extra_text(self, row: Mapping[str, Any]) -> str:
        """Return the standard deviation or interval after the value, if any."""
        if not self.extra or any(pd.isna(row[name]) for name in self.extra):
            return ""
        shown = [self.show(row[name]) for name in self.extra]
        return f"± {shown[0]}" if len(shown) == 1 else f"[{', '.join(shown)}]"


@dataclass(frozen=True)
class Table:
    """A frame with a caption and formatted columns.

    >>> frame = pd.DataFrame({"method": ["k-NN"], "rank": [1.25]})
    >>> columns = (Column("method", "Method"), Column("rank", "Rank", fixed(1)))
    >>> print(to_markdown(Table("ranks", "Ranks", frame, columns)))
    | Method | Rank |
    | --- | ---: |
    | k-NN | 1.2 |
    <BLANKLINE>
    """

    name: str
    caption: str
    frame: pd.DataFrame
    columns: tuple[Column, ...]

    def is_number(self, column: Column) -> bool:
        """Return whether a column is numeric, and thus right-aligned."""
        return pd.api.types.is_numeric_dtype(self.frame[column.key])

    def rows(self) -> list[dict[str, Any]]:
        """Return the values of each row."""
        return self.frame.to_dict("records")

    def texts(self) -> list[list[str]]:
        """Return the formatted cells of each row."""
        return [
            [
                f"{column.text(row[column.key])} {column.extra_text(row)}".rstrip()
                for column in self.columns
            ]
            for row in self.rows()
        ]


def to_csv(table: Table) -> str:
    """Return the unformatted values as CSV, with all digits."""
    keys = [key for column in table.columns for key in (column.key, *column.extra)]
    return table.frame[keys].to_csv(index=False, lineterminator="\n")


def to_markdown(table: Table) -> str:
    """Return the formatted cells as a Markdown table."""
    heads = [_escape(column.label, _MARKDOWN) for column in table.columns]
    rules = ["---:" if table.is_number(column) else "---" for column in table.columns]
    rows = [[_escape(text, _MARKDOWN) for text in row] for row in table.texts()]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, rules, *rows)]
    return "\n".join(lines) + "\n"


def to_latex(table: Table) -> str:
    """Return the formatted cells as a LaTeX tabular with booktabs rules."""
    spec = "".join("r" if table.is_number(column) else "l" for column in table.columns)
    heads = [_escape(column.label, _LATEX) for column in table.columns]
    rows = [[_escape(text, _LATEX) for text in row] for row in table.texts()]
    lines = [f"\\begin{{tabular}}{{{spec}}}", "\\toprule"]
    lines += [" & ".join(heads) + r" \\", "\\midrule"]
    lines += [" & ".join(row) + r" \\" for row in rows]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


FORMATS: dict[str, Callable[[Table], str]] = {
    "csv": to_csv,
    "md": to_markdown,
    "tex": to_latex,
}


def _escape(text: str, replacements: dict[str, str]) -> str:
    return "".join(replacements.get(letter, letter) for letter in text)


def fixed(digits: int) -> Show:
    """Return a format with this many digits after the decimal point.

    >>> fixed(2)(1234.5678)
    '1,234.57'
    """
    return lambda value: f"{value:,.{digits}f}"


def significant(value: float) -> str:
    """Format a score: four decimals, or six digits in total if it is large.

    >>> significant(0.91239), significant(43162.71), significant(2.3e9)
    ('0.9124', '43,162.7', '2.3e+09')
    """
    size = abs(value)
    if size < 10:
        return f"{value:.4f}"
    return (
        f"{value:.4g}"
        if size >= 1e7
        else f"{value:,.{max(0, 6 - len(str(int(size))))}f}"
    )


def percent(value: float) -> str:
    """Format a share in percent, with its sign.

    >>> percent(0.031), percent(-0.2)
    ('+3.1 %', '−20.0 %')
    """
    return f"{value:+.1%}".replace("-", "\u2212").replace("%", " %")


def seconds(value: float) -> str:
    """Format a duration in a suitable unit.

    >>> seconds(0.0004), seconds(0.0123), seconds(3.21), seconds(200), seconds(9000)
    ('0.4 ms', '12 ms', '3.2 s', '3.3 min', '2.5 h')
    """
    for unit, size in (("h", 3600), ("min", 60), ("s", 1)):
        if value >= size:
            return f"{value / size:.1f} {unit}"
    return f"{1000 * value:.0f} ms" if value >= 0.01 else f"{1000 * value:.1f} ms"


def size(value: float) -> str:
    """Format a number of bytes.

    >>> size(300), size(5 * 2**20), size(50 * 2**20), size(3 * 2**30)
    ('0 KiB', '5.0 MiB', '50 MiB', '3.0 GiB')
    """
    for unit, bytes_ in (("GiB", 2**30), ("MiB", 2**20)):
        if value >= bytes_:
            digits = 1 if value < 10 * bytes_ else 0
            return f"{value / bytes_:,.{digits}f} {unit}"
    return f"{value / 2**10:.0f} KiB"


def count(value: float) -> str:
    """Format an integer.

    >>> count(12345.0)
    '12,345'
    """
    return f"{value:,.0f}"
