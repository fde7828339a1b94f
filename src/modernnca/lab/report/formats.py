"""One table in many formats: what its cells look like, as CSV, Markdown and LaTeX."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

Show = Callable[[Any], str]
NOTHING = "\u2013"  # what a cell without a value shows
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
    """A column: its name in the frame, its head, and how a value is shown.

    `beside` names columns that are shown behind the value: one is its spread, two are
    the ends of an interval.
    """

    key: str
    label: str
    show: Show = str
    hint: str = ""
    beside: tuple[str, ...] = ()

    def text(self, value: Any) -> str:
        """Return what a cell shows."""
        return NOTHING if pd.isna(value) else self.show(value)

    def aside(self, row: Mapping[str, Any]) -> str:
        """Return what a cell shows behind the value, if anything."""
        if not self.beside or any(pd.isna(row[name]) for name in self.beside):
            return ""
        shown = [self.show(row[name]) for name in self.beside]
        return f"± {shown[0]}" if len(shown) == 1 else f"[{', '.join(shown)}]"


@dataclass(frozen=True)
class Table:
    """A frame to be read: which columns, under which heads, and what they say.

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
        """Tell whether a column holds numbers, which stand on the right."""
        return pd.api.types.is_numeric_dtype(self.frame[column.key])

    def rows(self) -> list[dict[str, Any]]:
        """Return the values, row by row."""
        return self.frame.to_dict("records")

    def texts(self) -> list[list[str]]:
        """Return the cells as they are shown, row by row."""
        return [
            [
                f"{column.text(row[column.key])} {column.aside(row)}".rstrip()
                for column in self.columns
            ]
            for row in self.rows()
        ]


def to_csv(table: Table) -> str:
    """Write the values themselves, with all their digits."""
    keys = [key for column in table.columns for key in (column.key, *column.beside)]
    return table.frame[keys].to_csv(index=False, lineterminator="\n")


def to_markdown(table: Table) -> str:
    """Write what is shown, as a table of Markdown."""
    heads = [_escaped(column.label, _MARKDOWN) for column in table.columns]
    rules = ["---:" if table.is_number(column) else "---" for column in table.columns]
    rows = [[_escaped(text, _MARKDOWN) for text in row] for row in table.texts()]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, rules, *rows)]
    return "\n".join(lines) + "\n"


def to_latex(table: Table) -> str:
    """Write what is shown, as a tabular with the rules of booktabs."""
    sides = "".join("r" if table.is_number(column) else "l" for column in table.columns)
    heads = [_escaped(column.label, _LATEX) for column in table.columns]
    rows = [[_escaped(text, _LATEX) for text in row] for row in table.texts()]
    lines = [f"\\begin{{tabular}}{{{sides}}}", "\\toprule"]
    lines += [" & ".join(heads) + r" \\", "\\midrule"]
    lines += [" & ".join(row) + r" \\" for row in rows]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


FORMATS: dict[str, Callable[[Table], str]] = {
    "csv": to_csv,
    "md": to_markdown,
    "tex": to_latex,
}


def _escaped(text: str, signs: dict[str, str]) -> str:
    return "".join(signs.get(letter, letter) for letter in text)


def fixed(digits: int) -> Show:
    """Show so many digits behind the point.

    >>> fixed(2)(1234.5678)
    '1,234.57'
    """
    return lambda value: f"{value:,.{digits}f}"


def significant(value: float) -> str:
    """Show a score: four digits behind the point, or six in all if it is large.

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
    """Show a difference of shares, with its sign.

    >>> percent(0.031), percent(-0.2)
    ('+3.1 %', '−20.0 %')
    """
    return f"{value:+.1%}".replace("-", "\u2212").replace("%", " %")


def seconds(value: float) -> str:
    """Show a time in the unit that suits it.

    >>> seconds(0.0004), seconds(0.0123), seconds(3.21), seconds(200), seconds(9000)
    ('0.4 ms', '12 ms', '3.2 s', '3.3 min', '2.5 h')
    """
    for unit, size in (("h", 3600), ("min", 60), ("s", 1)):
        if value >= size:
            return f"{value / size:.1f} {unit}"
    return f"{1000 * value:.0f} ms" if value >= 0.01 else f"{1000 * value:.1f} ms"


def size(value: float) -> str:
    """Show a number of bytes.

    >>> size(300), size(5 * 2**20), size(50 * 2**20), size(3 * 2**30)
    ('0 KiB', '5.0 MiB', '50 MiB', '3.0 GiB')
    """
    for unit, bytes_ in (("GiB", 2**30), ("MiB", 2**20)):
        if value >= bytes_:
            digits = 1 if value < 10 * bytes_ else 0
            return f"{value / bytes_:,.{digits}f} {unit}"
    return f"{value / 2**10:.0f} KiB"


def count(value: float) -> str:
    """Show a whole number.

    >>> count(12345.0)
    '12,345'
    """
    return f"{value:,.0f}"
