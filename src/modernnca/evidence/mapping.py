"""Make a map: project the rows, color them, and name prototypes.

Shapes: M remembered rows, B new rows, V numbers in a vote.
"""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
import torch

from modernnca.core.rows import Rows
from modernnca.core.softnn import chunks
from modernnca.ensemble.ensemble import Ensemble
from modernnca.ensemble.preparation import Preparation
from modernnca.evidence.cell_texts import show_cell
from modernnca.evidence.map_view import Map
from modernnca.evidence.projection import project
from modernnca.evidence.regions import (
    embedded_points,
    find_regions,
    name_regions,
    remembered_points,
)
from modernnca.table.read import RawTable, as_levels, missing_in
from modernnca.table.schema import conform
from modernnca.table.targets import ClassificationTarget

_N_PROTOTYPES = 10
_MAX_CELLS = 8  # columns to hover over
_N_PAIRS = 2**22  # (query, row) pairs that are held at a time


@dataclass(frozen=True)
class Mapped:
    """What a map is made of; rows are in the order of the memory."""

    ensemble: Ensemble
    preparation: Preparation
    table: RawTable | None  # (M); None if the raw rows are not in the file
    index: np.ndarray  # (M,) row numbers in the table given to `fit`
    votes: Callable[[], np.ndarray]  # (M, V) of the other rows on each
    encode: Callable[[RawTable], Rows]
    new_table: RawTable | None = None  # (B)

    @property
    def classification(self) -> bool:
        """Whether targets are classes."""
        return isinstance(self.preparation.target, ClassificationTarget)

    @property
    def values(self) -> np.ndarray:
        """What the remembered rows vote for, (M, V)."""
        held: np.ndarray = self.ensemble.remembered.values.double().cpu().numpy()
        return held

    def new_rows(self) -> Rows:
        """The new rows, encoded."""
        assert self.new_table is not None
        return self.encode(self.new_table)

    def decoded(self, values: np.ndarray) -> np.ndarray:
        """Values (N, V) as colors: classes as text, numbers in their own units."""
        if self.classification:
            labels = self.preparation.target.decode(values.argmax(1))
            return np.array([str(label) for label in labels.tolist()], dtype=object)
        return np.asarray(self.preparation.target.decode(values[:, 0]))


Colors = tuple[np.ndarray, np.ndarray, str]


def make_map(of: Mapped, color: str) -> Map:
    """Project, color and name."""
    check_color(of, color)
    order = np.argsort(of.index, kind="stable")
    points = remembered_points(of.ensemble)
    projected = project(points)
    new = np.zeros((0, 2))
    if of.new_table is not None:
        new = projected.place(embedded_points(of.ensemble, of.new_rows()))
    colors, new_colors, title = _colors(of, color)
    regions = find_regions(points, _N_PROTOTYPES)
    prototypes = of.index[regions.prototypes]
    targets = of.decoded(of.values)[regions.prototypes]
    names = [show_cell(target) for target in targets]
    if of.table is not None:
        schema = of.preparation.preprocessor.schema_
        named = name_regions(of.table, schema, regions.of_rows)
        names = [f"{n} ({t})" for n, t in zip(named, names, strict=True)]
    return Map(
        projected.coordinates[order],
        new,
        of.index[order],
        colors[order],
        new_colors,
        title,
        prototypes,
        tuple(names),
        projected.method,
        _cells(of, order),
    )


def check_color(of: Mapped, color: str) -> None:
    """Raise unless rows can be colored so."""
    if color in COLORS:
        return
    schema = of.preparation.preprocessor.schema_
    columns = [column.name for column in schema.columns]
    if color not in columns:
        choices = ", ".join(COLORS)
        close = get_close_matches(str(color), [*COLORS, *columns], n=1)
        way_out = (
            f"did you mean {close[0]!r}?"
            if close
            else (f"choose one of: {choices}, or the name of a column.")
        )
        raise ValueError(f"Unknown color {color!r}; {way_out}")
    if of.table is None:
        raise ValueError(
            f"The column {color!r} cannot color the map: the model was saved without "
            f"its rows; choose one of: {', '.join(COLORS)}."
        )


def _colors(of: Mapped, color: str) -> Colors:
    if color in COLORS:
        return COLORS[color](of)
    assert of.table is not None
    schema = of.preparation.preprocessor.schema_
    colors = as_colors(conform(of.table, schema).columns[color])
    new = colors[:0]
    if of.new_table is not None:
        new = as_colors(conform(of.new_table, schema).columns[color])
        if new.dtype.kind != colors.dtype.kind:  # of a column not in use
            new = _unknown(of, colors)
    return colors, new, color


def as_colors(cells: np.ndarray) -> np.ndarray:
    """Cells as colors: numbers as they are, dates as years, levels as text.

    >>> as_colors(np.array(["2024-07-01"], dtype="datetime64[us]")).round(1)
    array([2024.5])
    """
    if cells.dtype.kind == "M":
        years = cells.astype("datetime64[Y]")
        days = (cells - years.astype(cells.dtype)) / np.timedelta64(1, "D")
        numbers = 1970 + years.astype(np.int64) + days / 365.2425
        return np.where(missing_in(cells), np.nan, numbers)
    return as_levels(cells) if cells.dtype.kind == "O" else cells


def _unknown(of: Mapped, like: np.ndarray) -> np.ndarray:
    """Colors of new rows of which nothing is known."""
    n_new = 0 if of.new_table is None else len(of.new_table)
    blank = np.nan if like.dtype.kind == "f" else None
    return np.full(n_new, blank, dtype=like.dtype)


def _by_target(of: Mapped) -> Colors:
    colors = of.decoded(of.values)
    return colors, _unknown(of, colors), "target"


def _new_votes(of: Mapped) -> np.ndarray:
    if of.new_table is None:
        return np.zeros((0, of.values.shape[1]))
    return of.ensemble.vote(of.new_rows())


def _by_prediction(of: Mapped) -> Colors:
    title = "prediction (leave-one-out)"
    return of.decoded(of.votes()), of.decoded(_new_votes(of)), title


def _by_error(of: Mapped) -> Colors:
    votes, values = of.votes(), of.values
    if of.classification:
        errors = 1 - (votes * values).sum(1)
        return errors, _unknown(of, errors), "error (1 - share of the true class)"
    target = of.preparation.target
    errors = np.abs(target.decode(votes[:, 0]) - target.decode(values[:, 0]))
    return errors, _unknown(of, errors), "absolute error (leave-one-out)"


def _by_uncertainty(of: Mapped) -> Colors:
    if of.classification:
        votes, new = of.votes(), _new_votes(of)
        return 1 - votes.max(1), 1 - new.max(1), "uncertainty (1 - largest share)"
    if of.table is None:
        raise ValueError(
            "color='uncertainty' needs the raw rows in regression, but the model was "
            "saved without them; choose target, prediction or error."
        )
    scale = of.preparation.target.scale_  # type: ignore[union-attr]
    own = spread_of_votes(of.ensemble, of.encode(of.table), leave_out=True)
    new = np.zeros(0)
    if of.new_table is not None:
        new = spread_of_votes(of.ensemble, of.new_rows(), leave_out=False)
    title = "uncertainty (standard deviation of the neighbors' targets)"
    return own * scale, new * scale, title


def spread_of_votes(ensemble: Ensemble, rows: Rows, *, leave_out: bool) -> np.ndarray:
    """The standard deviation (B,) of the targets that vote on each row, by shares.

    With `leave_out`, `rows` are the remembered ones, and none votes on itself.
    """
    values, parts = ensemble.remembered.values[:, 0], []
    n_pairs = len(values) * len(ensemble.members)
    for some in chunks(rows.n_rows, n_pairs, _N_PAIRS):
        with torch.inference_mode():
            shares = ensemble.shares(rows.take(some)).double()
            if leave_out:
                own = torch.arange(rows.n_rows, device=shares.device)[some]
                shares[torch.arange(len(own)), own] = 0
            shares = shares / shares.sum(1, keepdim=True).clamp_min(1e-12)
            mean = shares @ values.double()
            variance = shares @ values.double().square() - mean.square()
        parts.append(variance.clamp_min(0).sqrt().cpu().numpy())
    return np.concatenate(parts)


COLORS: dict[str, Callable[[Mapped], Colors]] = {
    "target": _by_target,
    "prediction": _by_prediction,
    "error": _by_error,
    "uncertainty": _by_uncertainty,
}


def _cells(of: Mapped, order: np.ndarray) -> dict[str, np.ndarray]:
    """What is told of a row under the pointer: its target and some of its columns."""
    targets = of.decoded(of.values)
    known = targets[order]
    cells = {"target": np.concatenate([known, _unknown(of, targets)])}
    if of.table is None:
        return cells
    schema = of.preparation.preprocessor.schema_
    names = [c.name for c in schema.columns if c.kind != "constant"][:_MAX_CELLS]
    held = conform(of.table, schema).columns
    new = None if of.new_table is None else conform(of.new_table, schema).columns
    for name in names:
        parts = [_as_text(held[name])[order]]
        if new is not None:
            parts.append(_as_text(new[name]))
        key = name if name != "target" else "target (column)"
        cells[key] = np.concatenate(parts)
    return cells


def _as_text(cells: np.ndarray) -> np.ndarray:
    """Cells as objects to show: numbers stay numbers, dates become days."""
    if cells.dtype.kind == "f":
        return cells.astype(object)
    missing = missing_in(cells)
    if cells.dtype.kind == "M":
        days = np.datetime_as_string(cells.astype("datetime64[D]")).astype(object)
        days[missing] = None
        return days
    return cells
