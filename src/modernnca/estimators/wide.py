"""Tables with many columns for their rows: fewer columns, or plainer ones."""

from dataclasses import replace

import numpy as np

from modernnca.estimators.settings import Settings
from modernnca.table.encoder import TableEncoder
from modernnca.table.evidence import Spread
from modernnca.table.schema import RawTable
from modernnca.table.screen import ENOUGH, Screened, screen

# What "wide" means: see docs/wide.md.
_LEAST_COLUMNS = 256
_COLUMNS_PER_ROW = 0.25


def is_wide(n_columns: int, n_rows: int) -> bool:
    """Whether a table has many columns, and many for its rows.

    >>> is_wide(10_000, 200), is_wide(500, 2_000), is_wide(500, 50_000), is_wide(50, 9)
    (True, True, False, False)
    """
    return n_columns >= max(_LEAST_COLUMNS, _COLUMNS_PER_ROW * n_rows)


def plainly(settings: Settings, table: TableEncoder) -> Settings:
    """The settings, with numbers as they are where they are too many to encode.

    An encoding makes 34 numbers of each, for which a table of few rows has no use.
    """
    if table.n_numbers <= ENOUGH:
        return settings
    return replace(settings, encoding="none")


def narrow(
    table: TableEncoder, raw: RawTable, values: np.ndarray, *, seed: int
) -> tuple[TableEncoder, Screened | None]:
    """Screen the columns of a wide table; one that is not wide stays as it is.

    Args:
        table: fitted to `raw`; the one that comes back is, too.
        values: (N, V) one-hot classes, or numbers.
    """
    owners = table.owners()
    names = list(dict.fromkeys(name for part in owners for name in part))
    if not is_wide(len(names), len(values)):
        return table, None
    wide = screen(_spread(table, raw, owners, names), names, values, seed=seed)
    if wide.kept is None:
        return table, wide
    unused = sorted(set(names) - {*wide.kept, table.time_column})  # time stays
    return table.without(unused).fit(raw), wide


def _spread(
    table: TableEncoder,
    raw: RawTable,
    owners: tuple[list[str], list[str]],
    names: list[str],
) -> Spread:
    """The encoded table as one array."""
    numbers, plain, codes = table.transform(raw)
    levels = np.zeros((len(numbers), table.n_levels + 1), dtype=np.float32)
    np.put_along_axis(levels, codes, 1.0, axis=1)  # the last is for unknown ones
    place = {name: i for i, name in enumerate(names)}
    return Spread(
        np.concatenate([numbers, plain, levels[:, :-1]], axis=1),
        np.array([place[name] for part in owners for name in part]),
        table.n_levels,
    )
