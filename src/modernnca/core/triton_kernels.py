"""The kernels themselves, in Triton; `core.kernels` says when and on what they run.

All take points in rows of `dim` numbers, values in rows of `n_values` (both powers of
two, filled up with zeros), and squared lengths. `own`: query i is key i, and silent.
"""

import triton
import triton.language as tl


@triton.jit
def _rows(at, rows, there, width: tl.constexpr):  # type: ignore[no-untyped-def]
    """Load whole rows; zeros for those that are not there."""
    slots = tl.arange(0, width)
    return tl.load(at + rows[:, None] * width + slots, mask=there[:, None], other=0.0)


@triton.jit
def _distances(  # type: ignore[no-untyped-def]
    inner, query_lengths, key_lengths, floor, norms: tl.constexpr, root: tl.constexpr
):
    """Distances from inner products, both (queries, keys)."""
    if norms:
        distance = query_lengths[:, None] + key_lengths[None, :] - 2.0 * inner
        distance = tl.maximum(distance, floor)
        if root:
            distance = tl.sqrt(distance)
    else:
        distance = -inner
    return distance


@triton.jit
def hear(  # type: ignore[no-untyped-def]
    query_at,
    query_lengths_at,
    keys_at,
    key_lengths_at,
    values_at,
    floor_at,
    heard_at,
    nearest_at,
    near_at,
    n_queries,
    n_keys,
    n_keys_each,
    dim: tl.constexpr,
    n_values: tl.constexpr,
    n_rows: tl.constexpr,
    n_columns: tl.constexpr,
    norms: tl.constexpr,
    root: tl.constexpr,
    own: tl.constexpr,
):
    """Sums of values, weighted by exp(-distance): some queries, a part of the keys."""
    rows = tl.program_id(0) * n_rows + tl.arange(0, n_rows)
    part = tl.program_id(1)
    asks = rows < n_queries
    query = _rows(query_at, rows, asks, dim)
    query_lengths = tl.load(query_lengths_at + rows, mask=asks, other=0.0)
    floor = tl.load(floor_at)
    nearest = tl.full((n_rows,), float("inf"), tl.float32)
    heard = tl.zeros((n_rows, n_values), tl.float32)
    near = tl.zeros((n_rows,), tl.int32)
    first = part * n_keys_each
    last = tl.minimum(first + n_keys_each, n_keys)
    for start in range(first, last, n_columns):
        columns = start + tl.arange(0, n_columns)
        speaks = columns < last
        keys = _rows(keys_at, columns, speaks, dim)
        key_lengths = tl.load(key_lengths_at + columns, mask=speaks, other=0.0)
        inner = tl.dot(query, tl.trans(keys), input_precision="tf32x3")
        if norms and not own:
            lengths = query_lengths[:, None] + key_lengths[None, :]
            lost = (lengths - 2.0 * inner < lengths * 0.0009765625) & speaks[None, :]
            near = tl.maximum(near, tl.max(lost.to(tl.int32), axis=1))
        distance = _distances(inner, query_lengths, key_lengths, floor, norms, root)
        silent = (columns >= last)[None, :] | (rows < 0)[:, None]
        if own:
            silent = silent | (rows[:, None] == columns[None, :])
        distance = tl.where(silent, float("inf"), distance)
        nearer = tl.minimum(nearest, tl.min(distance, axis=1))
        # Before anybody spoke, nearest is infinite and nothing was heard.
        known = tl.where(nearer == float("inf"), 0.0, nearer)
        weights = tl.exp(known[:, None] - distance)
        values = _rows(values_at, columns, speaks, n_values)
        heard = heard * tl.exp(known - nearest)[:, None]
        heard += tl.dot(weights, values, input_precision="tf32x3")
        nearest = nearer
    out = part * n_queries + rows
    slots = tl.arange(0, n_values)
    tl.store(heard_at + out[:, None] * n_values + slots, heard, mask=asks[:, None])
    tl.store(nearest_at + out, nearest, mask=asks)
    tl.store(near_at + out, near, mask=asks)


@triton.jit
def pull_queries(  # type: ignore[no-untyped-def]
    points_at,
    lengths_at,
    values_at,
    pull_at,
    nearest_at,
    floor_at,
    slope_at,
    warmth_at,
    n_queries,
    n_keys,
    n_keys_each,
    dim: tl.constexpr,
    n_values: tl.constexpr,
    n_rows: tl.constexpr,
    n_columns: tl.constexpr,
    norms: tl.constexpr,
    root: tl.constexpr,
):
    """Where a part of the keys pulls some queries, and how the loss feels warmth."""
    rows = tl.program_id(0) * n_rows + tl.arange(0, n_rows)
    part = tl.program_id(1)
    asks = rows < n_queries
    query = _rows(points_at, rows, asks, dim)
    query_lengths = tl.load(lengths_at + rows, mask=asks, other=0.0)
    pull = _rows(pull_at, rows, asks, n_values)
    nearest = tl.load(nearest_at + rows, mask=asks, other=0.0)
    floor = tl.load(floor_at)
    sums = tl.zeros((n_rows, dim), tl.float32)
    total = tl.zeros((n_rows,), tl.float32)
    warmth = tl.zeros((n_rows,), tl.float32)
    first = part * n_keys_each
    last = tl.minimum(first + n_keys_each, n_keys)
    for start in range(first, last, n_columns):
        columns = start + tl.arange(0, n_columns)
        speaks = columns < last
        keys = _rows(points_at, columns, speaks, dim)
        key_lengths = tl.load(lengths_at + columns, mask=speaks, other=0.0)
        values = _rows(values_at, columns, speaks, n_values)
        inner = tl.dot(query, tl.trans(keys), input_precision="tf32x3")
        distance = _distances(inner, query_lengths, key_lengths, floor, norms, root)
        heard = speaks[None, :] & (rows[:, None] != columns[None, :])
        weights = tl.where(heard, tl.exp(nearest[:, None] - distance), 0.0)
        h = weights * tl.dot(pull, tl.trans(values), input_precision="tf32x3")
        warmth += tl.sum(h * distance, axis=1)
        if root:
            h = h / tl.where(heard, distance, 1.0)
        sums += tl.dot(h, keys, input_precision="tf32x3")
        total += tl.sum(h, axis=1)
    slope = sums
    if norms:
        slope = sums - query * total[:, None]
    out = part * n_queries + rows
    axes = tl.arange(0, dim)
    tl.store(slope_at + out[:, None] * dim + axes, slope, mask=asks[:, None])
    tl.store(warmth_at + out, warmth, mask=asks)


@triton.jit
def pull_keys(  # type: ignore[no-untyped-def]
    points_at,
    lengths_at,
    values_at,
    pull_at,
    nearest_at,
    floor_at,
    slope_at,
    n_queries,
    n_keys,
    dim: tl.constexpr,
    n_values: tl.constexpr,
    n_rows: tl.constexpr,
    n_columns: tl.constexpr,
    norms: tl.constexpr,
    root: tl.constexpr,
):
    """Where all queries pull some keys."""
    columns = tl.program_id(0) * n_columns + tl.arange(0, n_columns)
    speaks = columns < n_keys
    keys = _rows(points_at, columns, speaks, dim)
    key_lengths = tl.load(lengths_at + columns, mask=speaks, other=0.0)
    values = _rows(values_at, columns, speaks, n_values)
    floor = tl.load(floor_at)
    sums = tl.zeros((n_columns, dim), tl.float32)
    total = tl.zeros((n_columns,), tl.float32)
    for start in range(0, n_queries, n_rows):
        rows = start + tl.arange(0, n_rows)
        asks = rows < n_queries
        query = _rows(points_at, rows, asks, dim)
        query_lengths = tl.load(lengths_at + rows, mask=asks, other=0.0)
        pull = _rows(pull_at, rows, asks, n_values)
        nearest = tl.load(nearest_at + rows, mask=asks, other=0.0)
        # Keys first: the transposed tile is what is summed over.
        inner = tl.dot(keys, tl.trans(query), input_precision="tf32x3")
        distance = _distances(inner, key_lengths, query_lengths, floor, norms, root)
        heard = asks[None, :] & (columns[:, None] != rows[None, :])
        weights = tl.where(heard, tl.exp(nearest[None, :] - distance), 0.0)
        h = weights * tl.dot(values, tl.trans(pull), input_precision="tf32x3")
        if root:
            h = h / tl.where(heard, distance, 1.0)
        sums += tl.dot(h, query, input_precision="tf32x3")
        total += tl.sum(h, axis=1)
    slope = sums
    if norms:
        slope = sums - keys * total[:, None]
    axes = tl.arange(0, dim)
    at = slope_at + columns[:, None] * dim + axes
    tl.store(at, slope, mask=speaks[:, None])
