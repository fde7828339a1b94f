"""The Pareto front: rows that no other row beats in both of two columns."""

from pandas import DataFrame, Series


def front(frame: DataFrame, x: str, y: str) -> Series:
    """Mark the rows that are not dominated; in both columns lower is better.

    A row is dominated by one that is as good in both and better in one, so equal rows
    stand or fall together. A row with a NaN is never on the front, nor does it
    dominate.

    >>> frame = DataFrame({"rank": [1.0, 2.0, 3.0], "seconds": [9.0, 1.0, 4.0]})
    >>> front(frame, "rank", "seconds").tolist()
    [True, True, False]
    """
    lacking = [name for name in (x, y) if name not in frame.columns]
    if lacking:
        raise ValueError(
            f"The frame has no column {lacking[0]!r}; "
            f"it has: {', '.join(map(str, frame.columns))}."
        )
    a, b = frame[x].to_numpy(float), frame[y].to_numpy(float)
    as_good = (a[:, None] <= a) & (b[:, None] <= b)  # row i is as good as row j
    better = (a[:, None] < a) | (b[:, None] < b)
    known = frame[[x, y]].notna().all(axis=1)
    return known & ~(as_good & better).any(axis=0)
