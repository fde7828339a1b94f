"""Hold rows out, at random or by time, with every class kept on the fit side."""

import numpy as np

_FEWEST_ROWS = 10  # with fewer, what is held out would be missed more than it helps
_N_STRETCHES = 10
WAYS = {"random": 0, "last": 1, "blocks": _N_STRETCHES}  # and how many stretches


def hold_out(
    n_rows: int,
    *,
    fraction: float,
    rng: np.random.RandomState,
    classes: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the rows to fit on and the rows to stop by, both sorted.

    With `classes` (N,) each class gives its share, and keeps at least one row to fit
    on; two rows in all stay at least. Of fewer than 10 rows none is held out.

    >>> rng = np.random.RandomState(0)
    >>> fit_rows, stop_rows = hold_out(10, fraction=0.2, rng=rng, classes=None)
    >>> len(fit_rows), len(stop_rows)
    (8, 2)
    """
    _check(fraction)
    if n_rows < _FEWEST_ROWS or fraction == 0:
        return np.arange(n_rows), np.arange(0)
    codes = np.zeros(n_rows, dtype=np.int64) if classes is None else classes
    _, codes, counts = np.unique(codes, return_inverse=True, return_counts=True)
    shares = _shares(counts, fraction=fraction, rng=rng)

    shuffled = rng.permutation(n_rows)
    by_class = shuffled[np.argsort(codes[shuffled], kind="stable")]
    rank = np.arange(n_rows) - np.repeat(np.cumsum(counts) - counts, counts)
    held = rank < np.repeat(shares, counts)
    return np.sort(by_class[~held]), np.sort(by_class[held])


def hold_out_late(
    times: np.ndarray,
    *,
    fraction: float,
    n_stretches: int,
    classes: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Hold out the end of each stretch of time; the others are as in `hold_out`.

    The rows, by times (N,), are cut into stretches of equally many rows. One stretch
    means the last rows. A missing time is the latest. Of a class that would not be left
    on the fit side, the earliest row is.

    >>> times = np.array([9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    >>> hold_out_late(times, fraction=0.2, n_stretches=1, classes=None)[1]
    array([0, 1])
    >>> hold_out_late(times, fraction=0.2, n_stretches=2, classes=None)[1]
    array([0, 5])
    """
    _check(fraction)
    n_rows = len(times)
    if n_rows < _FEWEST_ROWS or fraction == 0:
        return np.arange(n_rows), np.arange(0)
    order = np.argsort(times, kind="stable")  # NaN last
    n_held = min(round(n_rows * fraction), n_rows - 2)
    # In a stretch, the first rows are at a place below its share.
    place = np.arange(n_rows) * n_stretches % n_rows
    late = np.argsort(-place, kind="stable")[:n_held]
    held = np.zeros(n_rows, dtype=bool)
    held[order[late]] = True
    if classes is not None:
        present, first = np.unique(classes[order], return_index=True)
        lost = ~np.isin(present, classes[~held])
        held[order[first[lost]]] = False
    return np.flatnonzero(~held), np.flatnonzero(held)


def _check(fraction: float) -> None:
    if not 0 <= fraction < 1:
        raise ValueError(
            f"The fraction of rows to hold out is {fraction!r}; "
            "it must be at least 0 and less than 1."
        )


def _shares(
    counts: np.ndarray, *, fraction: float, rng: np.random.RandomState
) -> np.ndarray:
    """Share the rows to hold out among the classes, by the largest remainders."""
    most = counts - (2 if len(counts) == 1 else 1)
    exact = counts * fraction
    shares = np.minimum(exact.astype(np.int64), most)
    lacking = round(counts.sum() * fraction) - shares.sum()
    by_remainder = np.lexsort((rng.random_sample(len(counts)), shares - exact))
    able = by_remainder[(shares < most)[by_remainder]]
    shares[able[: max(lacking, 0)]] += 1
    return shares
