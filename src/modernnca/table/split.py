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


def hold_out_groups(
    groups: np.ndarray,
    *,
    fraction: float,
    rng: np.random.RandomState,
    classes: np.ndarray | None,
    times: np.ndarray | None = None,
    n_blocks: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Hold whole groups out; otherwise as `hold_out`.

    Groups (N,) are numbers, and each row of none, -1, stands for itself. They are drawn
    at random until the fraction of rows is reached; with `times` (N,) those whose
    median row is the latest in each of the blocks. A group that holds the last training
    rows of a class stays, and so do two groups in all.

    >>> groups = np.repeat(np.arange(6), 3)
    >>> rng = np.random.RandomState(0)
    >>> train, valid = hold_out_groups(groups, fraction=0.4, rng=rng, classes=None)
    >>> len(valid), set(groups[train]) & set(groups[valid])
    (6, set())
    """
    _check(fraction)
    n_rows = len(groups)
    if n_rows < _MIN_ROWS or fraction == 0:
        return np.arange(n_rows), np.arange(0)
    alone = np.flatnonzero(groups < 0)
    numbers = groups.copy()
    numbers[alone] = groups.max() + 1 + np.arange(len(alone))
    _, numbers, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
    turns = rng.permutation(len(sizes))
    if times is not None:
        turns = _latest_first(_medians(times, numbers, sizes), n_blocks)
    codes = np.zeros(n_rows, dtype=np.int64) if classes is None else classes
    _, codes = np.unique(codes, return_inverse=True)
    left, n_held = np.bincount(codes), 0
    held = np.zeros(len(sizes), dtype=bool)
    rows_of = np.split(np.argsort(numbers, kind="stable"), np.cumsum(sizes)[:-1])
    for group in turns:
        after = left - np.bincount(codes[rows_of[group]], minlength=len(left))
        fits = n_held + sizes[group] <= round(n_rows * fraction)
        if fits and after.min() > 0 and held.sum() < len(sizes) - 2:
            held[group], left, n_held = True, after, n_held + sizes[group]
    return np.flatnonzero(~held[numbers]), np.flatnonzero(held[numbers])


def _medians(times: np.ndarray, numbers: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The time of the middle row of each group; a missing time is the latest."""
    order = np.lexsort((times, numbers))
    middle = np.cumsum(sizes) - 1 - sizes // 2
    return times[order[middle]]


def _latest_first(times: np.ndarray, n_blocks: int) -> np.ndarray:
    """The order in which to hold out: from the end of each block of time."""
    order = np.argsort(times, kind="stable")
    place = np.arange(len(times)) * n_blocks % len(times)
    return order[np.argsort(-place, kind="stable")]


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
