"""The kernels themselves, in Triton; `core.kernels` says when and on what they run.

Points come in rows of `dim` numbers, values in rows of `n_values` (both powers of two,
filled up with zeros), with squared lengths beside. `hear` streams for predictions and
keeps no pairs. In training one matrix product before and two behind are torch's, and
`weigh` and `tug` do in one pass each what torch does in a dozen.
"""

import triton
import triton.language as tl


@triton.jit
def _rows(at, rows, there, width: tl.constexpr):
    """Load whole rows; zeros for those that are not there."""
    slots = tl.arange(0, width)
    return tl.load(at + rows[:, None] * width + slots, mask=there[:, None], other=0.0)


@triton.jit
def hear(
    query_at,
    query_lengths_at,
    keys_at,
    key_lengths_at,
    values_at,
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
):
    """Sums of values, weighted by exp(-distance): some queries, a part of the keys."""
    rows = tl.program_id(0) * n_rows + tl.arange(0, n_rows)
    part = tl.program_id(1)
    asks = rows < n_queries
    query = _rows(query_at, rows, asks, dim)
    query_lengths = tl.load(query_lengths_at + rows, mask=asks, other=0.0)
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
        distance = -tl.dot(query, tl.trans(keys), input_precision="tf32x3")
        if norms:
            lengths = query_lengths[:, None] + key_lengths[None, :]
            distance = lengths + 2.0 * distance
            lost = (distance < lengths * 0.0009765625) & speaks[None, :]
            near = tl.maximum(near, tl.max(lost.to(tl.int32), axis=1))
            distance = tl.maximum(distance, 0.0)
            if root:
                distance = tl.sqrt(distance)
        distance = tl.where(speaks[None, :], distance, float("inf"))
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
def weigh(
    inner_at,
    lengths_at,
    values_at,
    heard_at,
    nearest_at,
    first_query,
    n_keys,
    n_values: tl.constexpr,
    n_columns: tl.constexpr,
    norms: tl.constexpr,
    root: tl.constexpr,
):
    """Inner products of one query to distances, in place; what it hears, and how near.

    A program has one query, whose row of inner products it reads in stripes.
    """
    row = tl.program_id(0)
    query = first_query + row
    own_length = tl.load(lengths_at + query)
    floor = own_length * 2.384185791015625e-07  # twice the rounding of a float32
    slots = tl.arange(0, n_values)
    lanes = tl.arange(0, n_columns)
    nearest = tl.full((n_columns,), float("inf"), tl.float32)
    heard = tl.zeros((n_columns, n_values), tl.float32)
    inner_at += row.to(tl.int64) * n_keys
    for start in range(0, n_keys, n_columns):
        columns = start + lanes
        speaks = columns < n_keys
        distance = -tl.load(inner_at + columns, mask=speaks, other=0.0)
        if norms:
            lengths = tl.load(lengths_at + columns, mask=speaks, other=0.0)
            distance = tl.maximum(own_length + lengths + 2.0 * distance, floor)
            if root:
                distance = tl.sqrt(distance)
        distance = tl.where(speaks & (columns != query), distance, float("inf"))
        tl.store(inner_at + columns, distance, mask=speaks)
        # Each lane keeps a count of its own; they are joined at the end.
        nearer = tl.minimum(nearest, distance)
        known = tl.where(nearer == float("inf"), 0.0, nearer)
        weight = tl.exp(known - distance)
        values = tl.load(
            values_at + columns[:, None] * n_values + slots,
            mask=speaks[:, None],
            other=0.0,
        )
        heard = heard * tl.exp(known - nearest)[:, None] + weight[:, None] * values
        nearest = nearer
    least = tl.min(nearest, axis=0)
    heard = tl.sum(heard * tl.exp(least - nearest)[:, None], axis=0)
    tl.store(heard_at + row * n_values + slots, heard)
    tl.store(nearest_at + row, least)


@triton.jit
def tug(
    distance_at,
    values_at,
    pull_at,
    nearest_at,
    warmth_at,
    n_keys,
    n_values: tl.constexpr,
    n_columns: tl.constexpr,
    root: tl.constexpr,
):
    """Distances of one query to weights of the differences in its slope, in place."""
    row, stripe = tl.program_id(0), tl.program_id(1)
    columns = stripe * n_columns + tl.arange(0, n_columns)
    speaks = columns < n_keys
    slots = tl.arange(0, n_values)
    at = distance_at + row.to(tl.int64) * n_keys + columns
    distance = tl.load(at, mask=speaks, other=float("inf"))
    nearest = tl.load(nearest_at + row)
    pull = tl.load(pull_at + row * n_values + slots)
    values = tl.load(
        values_at + columns[:, None] * n_values + slots, mask=speaks[:, None], other=0.0
    )
    heard = distance < float("inf")
    h = tl.exp(nearest - distance) * tl.sum(values * pull[None, :], axis=1)
    distance = tl.where(heard, distance, 1.0)
    warmth = tl.sum(tl.where(heard, h * distance, 0.0), axis=0)
    tl.store(warmth_at + row * tl.num_programs(1) + stripe, warmth)
    if root:
        h = h / distance
    tl.store(at, tl.where(heard, h, 0.0), mask=speaks)
