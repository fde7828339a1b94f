"""The kernels themselves, in Triton; `core.kernels` says when and on what they run.

Points come as two halves (see `halve`), in rows of `dim` numbers: a power of two,
filled up with zeros. `hear` streams votes, `steer` the slopes of a loss of votes; both
count distances tile by tile and keep no pairs. `look_up` and `hand_back` sum rows of a
table between knots, and their gradient.
"""

import triton
import triton.language as tl


@triton.jit
def _rows(at, rows, there, width: tl.constexpr):
    """Load whole rows; zeros for those that are not there."""
    slots = tl.arange(0, width)
    return tl.load(at + rows[:, None] * width + slots, mask=there[:, None], other=0.0)


@triton.jit
def _halves(x):
    """A float32 as the sum of two float16, good for 22 of its 24 digits."""
    high = x.to(tl.float16)
    return high, (x - high.to(tl.float32)).to(tl.float16)


@triton.jit
def _products(own, own_rest, other, other_rest):
    """Inner products of rows in halves; the product of both rests is too small."""
    inner = tl.dot(own_rest, tl.trans(other))
    inner = tl.dot(own, tl.trans(other_rest), inner)
    return tl.dot(own, tl.trans(other), inner)


@triton.jit
def spread(
    points_at,
    middle_at,
    most_at,
    n_points,
    width,
    dim: tl.constexpr,
    n_rows: tl.constexpr,
):
    """How far some points lie from the middle, in any one dimension."""
    rows = tl.program_id(0) * n_rows + tl.arange(0, n_rows)
    slots = tl.arange(0, dim)
    there = (rows < n_points)[:, None] & (slots < width)[None, :]
    middle = tl.load(middle_at + slots, mask=slots < width, other=0.0)
    at = points_at + rows.to(tl.int64)[:, None] * width + slots
    x = tl.load(at, mask=there, other=0.0)
    x = tl.where(there, tl.abs(x - middle[None, :]), 0.0)
    tl.store(most_at + tl.program_id(0), tl.max(tl.max(x, axis=1), axis=0))


@triton.jit
def halve(
    points_at,
    middle_at,
    unit_at,
    loud_at,
    high_at,
    rest_at,
    lengths_at,
    n_points,
    width,
    dim: tl.constexpr,
    n_rows: tl.constexpr,
    by_loud: tl.constexpr,
):
    """Shift points, bring them to a unit, halve them; their squared lengths."""
    rows = tl.program_id(0) * n_rows + tl.arange(0, n_rows)
    slots = tl.arange(0, dim)
    there = (rows < n_points)[:, None] & (slots < width)[None, :]
    unit = tl.load(unit_at)
    middle = tl.load(middle_at + slots, mask=slots < width, other=0.0)
    at = points_at + rows.to(tl.int64)[:, None] * width + slots
    x = (tl.load(at, mask=there, other=0.0) - middle[None, :]) * unit
    if by_loud:
        x *= tl.load(loud_at + rows, mask=rows < n_points, other=0.0)[:, None]
    x = tl.where(there, x, 0.0)
    high, rest = _halves(x)
    out = rows.to(tl.int64)[:, None] * dim + slots
    tl.store(high_at + out, high, mask=(rows < n_points)[:, None])
    tl.store(rest_at + out, rest, mask=(rows < n_points)[:, None])
    x = (high.to(tl.float32) + rest.to(tl.float32)) / unit
    tl.store(lengths_at + rows, tl.sum(x * x, axis=1), mask=rows < n_points)


@triton.jit
def hear(
    query_at,
    query_rest_at,
    query_lengths_at,
    keys_at,
    keys_rest_at,
    key_lengths_at,
    values_at,
    query_unit_at,
    keys_unit_at,
    sharp_at,
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
    alone: tl.constexpr,
):
    """Sums of values, weighted by exp(-distance): some queries, a part of the keys.

    `alone`: the queries are the first of the keys, and none hears itself.
    """
    rows = tl.program_id(0) * n_rows + tl.arange(0, n_rows)
    part = tl.program_id(1)
    asks = rows < n_queries
    inverse = 1.0 / (tl.load(query_unit_at) * tl.load(keys_unit_at))
    sharp = tl.load(sharp_at)
    query = _rows(query_at, rows, asks, dim)
    query_rest = _rows(query_rest_at, rows, asks, dim)
    query_lengths = tl.load(query_lengths_at + rows, mask=asks, other=0.0)
    floor = query_lengths * 2.384185791015625e-07 + 1e-30  # see core.fused
    nearest = tl.full((n_rows,), float("inf"), tl.float32)
    heard = tl.zeros((n_rows, n_values), tl.float32)
    slack = tl.full((n_rows,), float("inf"), tl.float32)
    first = part * n_keys_each
    last = tl.minimum(first + n_keys_each, n_keys)
    for start in range(first, last, n_columns):
        columns = start + tl.arange(0, n_columns)
        speaks = columns < last
        keys = _rows(keys_at, columns, speaks, dim)
        keys_rest = _rows(keys_rest_at, columns, speaks, dim)
        distance = -inverse * _products(query, query_rest, keys, keys_rest)
        if norms:
            key_lengths = tl.load(key_lengths_at + columns, mask=speaks, other=0.0)
            lengths = query_lengths[:, None] + key_lengths[None, :]
            distance = lengths + 2.0 * distance
            if alone:
                distance = tl.maximum(distance, floor[:, None])
            else:
                # Much nearer to each other than to the middle: digits were lost.
                lost = distance - lengths * 0.0009765625
                slack = tl.minimum(slack, tl.min(lost, axis=1))
                distance = tl.maximum(distance, 0.0)
            if root:
                distance = tl.sqrt(distance)
        speaking = speaks[None, :]
        if alone:
            speaking = speaking & (columns[None, :] != rows[:, None])
        distance = tl.where(speaking, distance * sharp, float("inf"))
        nearer = tl.minimum(nearest, tl.min(distance, axis=1))
        # Before anybody spoke, nearest is infinite and nothing was heard.
        known = tl.where(nearer == float("inf"), 0.0, nearer)
        weights, weights_rest = _halves(16384.0 * tl.exp(known[:, None] - distance))
        values = _rows(values_at, columns, speaks, n_values)
        heard = heard * tl.exp(known - nearest)[:, None]
        heard = tl.dot(weights_rest, values, heard)
        heard = tl.dot(weights, values, heard)
        nearest = nearer
    out = part * n_queries + rows
    slots = tl.arange(0, n_values)
    tl.store(heard_at + out[:, None] * n_values + slots, heard, mask=asks[:, None])
    tl.store(nearest_at + out, nearest, mask=asks)
    if norms and not alone:
        tl.store(near_at + out, (slack < 0.0).to(tl.int32), mask=asks)


@triton.jit
def steer(
    points_at,
    middle_at,
    own_at,
    own_rest_at,
    own_lengths_at,
    own_words_at,
    other_at,
    other_rest_at,
    other_lengths_at,
    other_words_at,
    moving_at,
    moving_rest_at,
    nearest_at,
    loud_at,
    points_unit_at,
    moving_unit_at,
    sharp_at,
    slope_at,
    warmth_at,
    n_own,
    n_others,
    n_others_each,
    width,
    dim: tl.constexpr,
    n_values: tl.constexpr,
    n_rows: tl.constexpr,
    n_columns: tl.constexpr,
    norms: tl.constexpr,
    root: tl.constexpr,
    own_asks: tl.constexpr,
):
    """Where the loss sends some points, for what passes between them and a part of
    the others.

    Once the own points ask and the others answer, once the other way around. What a
    pair weighs is divided by how `loud` its query is, so that it fits into halves.
    """
    rows = tl.program_id(0) * n_rows + tl.arange(0, n_rows)
    part = tl.program_id(1)
    there = rows < n_own
    unit, sharp = tl.load(points_unit_at), tl.load(sharp_at)
    inverse = 1.0 / (unit * unit)
    own = _rows(own_at, rows, there, dim)
    own_rest = _rows(own_rest_at, rows, there, dim)
    own_lengths = tl.load(own_lengths_at + rows, mask=there, other=0.0)
    if own_asks:
        nearest = tl.load(nearest_at + rows, mask=there, other=0.0)[:, None]
        loud = tl.load(loud_at + rows, mask=there, other=1.0)[:, None]
    slope = tl.zeros((n_rows, dim), tl.float32)
    total = tl.zeros((n_rows,), tl.float32)
    warmth = tl.zeros((n_rows,), tl.float32)
    first = part * n_others_each
    last = tl.minimum(first + n_others_each, n_others)
    for start in range(first, last, n_columns):
        columns = start + tl.arange(0, n_columns)
        meets = columns < last
        other = _rows(other_at, columns, meets, dim)
        other_rest = _rows(other_rest_at, columns, meets, dim)
        distance = -inverse * _products(own, own_rest, other, other_rest)
        if norms:
            other_lengths = tl.load(other_lengths_at + columns, mask=meets, other=0.0)
            distance = own_lengths[:, None] + other_lengths[None, :] + 2.0 * distance
            asking = own_lengths[:, None] if own_asks else other_lengths[None, :]
            distance = tl.maximum(distance, asking * 2.384185791015625e-07 + 1e-30)
            if root:
                distance = tl.sqrt(distance)
        if not own_asks:
            nearest = tl.load(nearest_at + columns, mask=meets, other=0.0)[None, :]
            loud = tl.load(loud_at + columns, mask=meets, other=1.0)[None, :]
        tilt = tl.zeros((n_rows, n_columns), tl.float32)
        # Few words are unrolled, so that the loop around them is pipelined.
        if n_values <= 8:
            for v in tl.static_range(n_values):
                mine = tl.load(own_words_at + v * n_own + rows, mask=there, other=0.0)
                theirs = other_words_at + v * n_others + columns
                theirs = tl.load(theirs, mask=meets, other=0.0)
                tilt += mine[:, None] * theirs[None, :]
        else:
            for v in range(n_values):
                mine = tl.load(own_words_at + v * n_own + rows, mask=there, other=0.0)
                theirs = other_words_at + v * n_others + columns
                theirs = tl.load(theirs, mask=meets, other=0.0)
                tilt += mine[:, None] * theirs[None, :]
        tilt *= tl.exp(nearest - distance * sharp)
        pairs = there[:, None] & meets[None, :] & (columns[None, :] != rows[:, None])
        tilt = tl.where(pairs, tilt, 0.0)
        if own_asks:
            warmth += tl.sum(tilt * distance, axis=1) * sharp
        tilt *= sharp / loud
        if root:
            tilt = tilt / distance
        elif norms:
            tilt *= 2.0
        total += tl.sum(tilt if own_asks else tilt * loud, axis=1)
        weights, weights_rest = _halves(tilt)
        if own_asks:
            moving, moving_rest = other, other_rest
        else:
            moving = _rows(moving_at, columns, meets, dim)
            moving_rest = _rows(moving_rest_at, columns, meets, dim)
        slope = tl.dot(weights_rest, moving, slope)
        slope = tl.dot(weights, moving_rest, slope)
        slope = tl.dot(weights, moving, slope)
    slope /= tl.load(moving_unit_at)
    slots = tl.arange(0, dim)
    at = rows.to(tl.int64)[:, None] * width + slots
    inside = there[:, None] & (slots < width)[None, :]
    if norms:
        # Read once more: kept from above, the halves would fill the registers.
        middle = tl.load(middle_at + slots, mask=slots < width, other=0.0)
        x = tl.load(points_at + at, mask=inside, other=0.0) - middle[None, :]
        slope -= x * total[:, None]
    out = slope_at + at
    if own_asks:
        tl.atomic_add(out, slope * loud, mask=inside, sem="relaxed")
        tl.store(warmth_at + part * n_own + rows, warmth, mask=there)
    else:
        tl.store(out, slope, mask=inside)


@triton.jit
def look_up(
    table_at,
    rows_at,
    below_at,
    share_at,
    out_at,
    n_rows,
    n_columns,
    width,
    dim: tl.constexpr,
    n_at_once: tl.constexpr,
):
    """For some rows the sum of what their cells find between two rows of the table."""
    places = tl.program_id(0) * n_at_once + tl.arange(0, n_at_once)
    there = places < n_rows
    rows = tl.load(rows_at + places, mask=there, other=0).to(tl.int64)
    slots = tl.arange(0, dim)
    mask = there[:, None] & (slots < width)[None, :]
    total = tl.zeros((n_at_once, dim), tl.float32)
    for column in range(n_columns):
        below = tl.load(below_at + rows * n_columns + column, mask=there, other=0)
        share = tl.load(share_at + rows * n_columns + column, mask=there, other=0.0)
        at = table_at + below[:, None] * width + slots
        low = tl.load(at, mask=mask, other=0.0)
        high = tl.load(at + width, mask=mask, other=0.0)
        total += low + share[:, None] * (high - low)
    tl.store(out_at + places.to(tl.int64)[:, None] * width + slots, total, mask=mask)


@triton.jit
def hand_back(
    gradient_at,
    places_at,
    order_at,
    share_at,
    bags_at,
    out_at,
    n_bags,
    width,
    dim: tl.constexpr,
    n_at_once: tl.constexpr,
):
    """The gradient of two rows of the table, by a bag of the cells between them."""
    bag = tl.program_id(0)
    knot = tl.load(bags_at + bag)
    first = tl.load(bags_at + n_bags + bag)
    last = tl.load(bags_at + 2 * n_bags + bag)
    slots = tl.arange(0, dim)
    inside = slots < width
    both = tl.zeros((n_at_once, dim), tl.float32)
    high = tl.zeros((n_at_once, dim), tl.float32)
    for start in range(first, last, n_at_once):
        cells = start + tl.arange(0, n_at_once)
        there = cells < last
        rows = tl.load(order_at + cells, mask=there, other=0)
        share = tl.load(share_at + cells, mask=there, other=0.0)
        places = tl.load(places_at + rows, mask=there, other=-1)
        mask = (places >= 0)[:, None] & inside[None, :]
        at = gradient_at + places.to(tl.int64)[:, None] * width + slots
        gradient = tl.load(at, mask=mask, other=0.0)
        both += gradient
        high += share[:, None] * gradient
    above = tl.sum(high, axis=0)
    out = out_at + knot * width + slots
    tl.atomic_add(out, tl.sum(both, axis=0) - above, mask=inside, sem="relaxed")
    tl.atomic_add(out + width, above, mask=inside, sem="relaxed")
