"""The Pareto front of two columns: rows that no other row dominates."""

from pandas import DataFrame, Series


def pareto_front(frame: DataFrame, x: str, y: str) -> Series:
    """Return which rows are not dominated; lower is better in both columns.

    A row dominates another if it is at least as good in both columns and better in one,
    so equal rows are on the front together or not at all. A row with a NaN is never on
    the front and dominates none.

    >>> frame = DataFrame({"rank": [1.0, 2.0, 3.0], "seconds": [9.0, 1.0, 4.0]})
    >>> pareto_front(frame, "rank", "seconds").tolist()
    [True, True, False]
    """
    missing = [name for name in (x, y) if name not in frame.columns]
    if missing:
        raise ValueError(
            f"The frame has no column {missing[0]!r}; "
            f"it has: {', '.join(map(str, frame.columns))}."
        )
    a, b = frame[x].to_numpy(float), frame[y].to_numpy(float)
    as_good = (a[:, None] <= a) & (b[:, None] <= b)  # row i is as good as row j
    better = (a[:, None] < a) | (b[:, None] < b)
    known = frame[[x, y]].notna().all(axis=1)
    return known & ~(as_good & better).any(axis=0)
