"""Hold rows out for validation, at random or by time; every class stays in training."""

import numpy as np

_MIN_ROWS = 10  # with fewer, held-out rows would cost more than they help
# By name, the number of time blocks whose last rows are held out.
VALIDATION_SPLITS = {"random": 0, "last": 1, "blocks": 10}


def hold_out(
    n_rows: int,
    *,
    fraction: float,
    rng: np.random.RandomState,
    classes: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the training rows and the validation rows, both sorted.

    With `classes` (N,) the split is stratified, and each class keeps at least one
    training row; at least two rows stay in all. Of fewer than 10 rows none is held out.

    >>> rng = np.random.RandomState(0)
    >>> train, valid = hold_out(10, fraction=0.2, rng=rng, classes=None)
    >>> len(train), len(valid)
    (8, 2)
    """
    _check(fraction)
    if n_rows < _MIN_ROWS or fraction == 0:
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
    n_blocks: int,
    classes: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Hold out the last rows of each block of time; otherwise as `hold_out`.

    The rows, in order of their times (N,), are cut into blocks of equal size. One block
    means the last rows. A missing time is the latest. Of a class without a training
    row, the earliest row stays.

    >>> times = np.array([9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    >>> hold_out_late(times, fraction=0.2, n_blocks=1, classes=None)[1]
    array([0, 1])
    >>> hold_out_late(times, fraction=0.2, n_blocks=2, classes=None)[1]
    array([0, 5])
    """
    _check(fraction)
    n_rows = len(times)
    if n_rows < _MIN_ROWS or fraction == 0:
        return np.arange(n_rows), np.arange(0)
    order = np.argsort(times, kind="stable")  # NaN last
    n_held = min(round(n_rows * fraction), n_rows - 2)
    # The position of a row within its block, from 0 to n_rows.
    place = np.arange(n_rows) * n_blocks % n_rows
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
