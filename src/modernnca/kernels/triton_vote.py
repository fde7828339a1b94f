"""The Triton kernels; `kernels.vote_kernels` launches them.

Points come as two float16 matrices (see `split_fp16`), in rows of `dim` numbers: a
power of two, padded with zeros. `forward` computes votes, `backward` the gradient of a
loss of votes; both compute distances tile by tile and keep no pairs, as flash attention
does. `interpolate` and `interpolate_grad` sum rows of a table between knots.
"""

import triton
import triton.language as tl


@triton.jit
def _load_rows(ptr, rows, valid, width: tl.constexpr):
    """Load whole rows; zeros where `valid` is False."""
    slots = tl.arange(0, width)
    return tl.load(ptr + rows[:, None] * width + slots, mask=valid[:, None], other=0.0)


@triton.jit
def _split(x):
    """A float32 as the sum of two float16, exact to 22 of its 24 bits."""
    high = x.to(tl.float16)
    return high, (x - high.to(tl.float32)).to(tl.float16)


@triton.jit
def _inner_products(a, a_low, b, b_low):
    """Inner products of split rows; the product of both low parts is negligible."""
    inner = tl.dot(a_low, tl.trans(b))
    inner = tl.dot(a, tl.trans(b_low), inner)
    return tl.dot(a, tl.trans(b), inner)


@triton.jit
def max_deviation(
    points_ptr,
    center_ptr,
    max_ptr,
    n_points,
    width,
    dim: tl.constexpr,
    n_rows: tl.constexpr,
):
    """The largest deviation of some points from the center, in any dimension."""
    rows = tl.program_id(0) * n_rows + tl.arange(0, n_rows)
    slots = tl.arange(0, dim)
    valid = (rows < n_points)[:, None] & (slots < width)[None, :]
    center = tl.load(center_ptr + slots, mask=slots < width, other=0.0)
    ptr = points_ptr + rows.to(tl.int64)[:, None] * width + slots
    x = tl.load(ptr, mask=valid, other=0.0)
    x = tl.where(valid, tl.abs(x - center[None, :]), 0.0)
    tl.store(max_ptr + tl.program_id(0), tl.max(tl.max(x, axis=1), axis=0))


@triton.jit
def split_fp16(
    points_ptr,
    center_ptr,
    scale_ptr,
    row_scale_ptr,
    high_ptr,
    low_ptr,
    sq_norms_ptr,
    n_points,
    width,
    dim: tl.constexpr,
    n_rows: tl.constexpr,
    by_row: tl.constexpr,
):
    """Center and scale points, split them into two float16; their squared norms."""
    rows = tl.program_id(0) * n_rows + tl.arange(0, n_rows)
    slots = tl.arange(0, dim)
    valid = (rows < n_points)[:, None] & (slots < width)[None, :]
    scale = tl.load(scale_ptr)
    center = tl.load(center_ptr + slots, mask=slots < width, other=0.0)
    ptr = points_ptr + rows.to(tl.int64)[:, None] * width + slots
    x = (tl.load(ptr, mask=valid, other=0.0) - center[None, :]) * scale
    if by_row:
        x *= tl.load(row_scale_ptr + rows, mask=rows < n_points, other=0.0)[:, None]
    x = tl.where(valid, x, 0.0)
    high, low = _split(x)
    out = rows.to(tl.int64)[:, None] * dim + slots
    tl.store(high_ptr + out, high, mask=(rows < n_points)[:, None])
    tl.store(low_ptr + out, low, mask=(rows < n_points)[:, None])
    x = (high.to(tl.float32) + low.to(tl.float32)) / scale
    tl.store(sq_norms_ptr + rows, tl.sum(x * x, axis=1), mask=rows < n_points)


@triton.jit
def forward(
    query_ptr,
    query_low_ptr,
    query_sq_norms_ptr,
    keys_ptr,
    keys_low_ptr,
    key_sq_norms_ptr,
    values_ptr,
    query_scale_ptr,
    keys_scale_ptr,
    inverse_temperature_ptr,
    sums_ptr,
    min_distance_ptr,
    inexact_ptr,
    n_queries,
    n_keys,
    n_keys_each,
    dim: tl.constexpr,
    n_values: tl.constexpr,
    n_rows: tl.constexpr,
    n_columns: tl.constexpr,
    norms: tl.constexpr,
    root: tl.constexpr,
    exclude_self: tl.constexpr,
):
    """Sums of values weighted by exp(-distance): some queries, a part of the keys.

    With `exclude_self` the queries are the first of the keys, and none votes on itself.
    """
    rows = tl.program_id(0) * n_rows + tl.arange(0, n_rows)
    part = tl.program_id(1)
    is_query = rows < n_queries
    inverse_scale = 1.0 / (tl.load(query_scale_ptr) * tl.load(keys_scale_ptr))
    inverse_temperature = tl.load(inverse_temperature_ptr)
    query = _load_rows(query_ptr, rows, is_query, dim)
    query_low = _load_rows(query_low_ptr, rows, is_query, dim)
    query_norms = tl.load(query_sq_norms_ptr + rows, mask=is_query, other=0.0)
    floor = query_norms * 2.384185791015625e-07 + 1e-30  # see kernels.fused_loss
    min_distance = tl.full((n_rows,), float("inf"), tl.float32)
    sums = tl.zeros((n_rows, n_values), tl.float32)
    slack = tl.full((n_rows,), float("inf"), tl.float32)
    first = part * n_keys_each
    last = tl.minimum(first + n_keys_each, n_keys)
    for start in range(first, last, n_columns):
        columns = start + tl.arange(0, n_columns)
        is_key = columns < last
        keys = _load_rows(keys_ptr, columns, is_key, dim)
        keys_low = _load_rows(keys_low_ptr, columns, is_key, dim)
        distance = -inverse_scale * _inner_products(query, query_low, keys, keys_low)
        if norms:
            key_norms = tl.load(key_sq_norms_ptr + columns, mask=is_key, other=0.0)
            both_norms = query_norms[:, None] + key_norms[None, :]
            distance = both_norms + 2.0 * distance
            if exclude_self:
                distance = tl.maximum(distance, floor[:, None])
            else:
                # Much nearer to each other than to the center: digits were lost.
                lost = distance - both_norms * 0.0009765625
                slack = tl.minimum(slack, tl.min(lost, axis=1))
                distance = tl.maximum(distance, 0.0)
            if root:
                distance = tl.sqrt(distance)
        votes = is_key[None, :]
        if exclude_self:
            votes = votes & (columns[None, :] != rows[:, None])
        distance = tl.where(votes, distance * inverse_temperature, float("inf"))
        new_min = tl.minimum(min_distance, tl.min(distance, axis=1))
        # Before the first vote the minimum is infinite and the sums are zero.
        finite_min = tl.where(new_min == float("inf"), 0.0, new_min)
        weights, weights_low = _split(16384.0 * tl.exp(finite_min[:, None] - distance))
        values = _load_rows(values_ptr, columns, is_key, n_values)
        sums = sums * tl.exp(finite_min - min_distance)[:, None]
        sums = tl.dot(weights_low, values, sums)
        sums = tl.dot(weights, values, sums)
        min_distance = new_min
    out = part * n_queries + rows
    slots = tl.arange(0, n_values)
    tl.store(sums_ptr + out[:, None] * n_values + slots, sums, mask=is_query[:, None])
    tl.store(min_distance_ptr + out, min_distance, mask=is_query)
    if norms and not exclude_self:
        tl.store(inexact_ptr + out, (slack < 0.0).to(tl.int32), mask=is_query)


@triton.jit
def backward(
    points_ptr,
    center_ptr,
    own_ptr,
    own_low_ptr,
    own_sq_norms_ptr,
    own_values_ptr,
    other_ptr,
    other_low_ptr,
    other_sq_norms_ptr,
    other_values_ptr,
    scaled_queries_ptr,
    scaled_queries_low_ptr,
    min_distance_ptr,
    query_scale_ptr,
    points_scale_ptr,
    other_scale_ptr,
    inverse_temperature_ptr,
    grad_ptr,
    score_sum_ptr,
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
    own_are_queries: tl.constexpr,
):
    """The gradient by some points, from their pairs with a part of the others.

    Once the own points are the queries and the others the keys, once the other way
    around. The gradient of a pair is divided by the `query_scale` of its query, so that
    it fits into float16.
    """
    rows = tl.program_id(0) * n_rows + tl.arange(0, n_rows)
    part = tl.program_id(1)
    valid = rows < n_own
    scale = tl.load(points_scale_ptr)
    inverse_temperature = tl.load(inverse_temperature_ptr)
    inverse_scale = 1.0 / (scale * scale)
    own = _load_rows(own_ptr, rows, valid, dim)
    own_low = _load_rows(own_low_ptr, rows, valid, dim)
    own_norms = tl.load(own_sq_norms_ptr + rows, mask=valid, other=0.0)
    if own_are_queries:
        min_distance = tl.load(min_distance_ptr + rows, mask=valid, other=0.0)[:, None]
        query_scale = tl.load(query_scale_ptr + rows, mask=valid, other=1.0)[:, None]
    grad = tl.zeros((n_rows, dim), tl.float32)
    total = tl.zeros((n_rows,), tl.float32)
    score_sum = tl.zeros((n_rows,), tl.float32)
    first = part * n_others_each
    last = tl.minimum(first + n_others_each, n_others)
    for start in range(first, last, n_columns):
        columns = start + tl.arange(0, n_columns)
        is_other = columns < last
        other = _load_rows(other_ptr, columns, is_other, dim)
        other_low = _load_rows(other_low_ptr, columns, is_other, dim)
        distance = -inverse_scale * _inner_products(own, own_low, other, other_low)
        if norms:
            other_norms = tl.load(
                other_sq_norms_ptr + columns, mask=is_other, other=0.0
            )
            distance = own_norms[:, None] + other_norms[None, :] + 2.0 * distance
            of_query = own_norms[:, None] if own_are_queries else other_norms[None, :]
            distance = tl.maximum(distance, of_query * 2.384185791015625e-07 + 1e-30)
            if root:
                distance = tl.sqrt(distance)
        if not own_are_queries:
            min_distance = tl.load(
                min_distance_ptr + columns, mask=is_other, other=0.0
            )[None, :]
            query_scale = tl.load(query_scale_ptr + columns, mask=is_other, other=1.0)[
                None, :
            ]
        pair = tl.zeros((n_rows, n_columns), tl.float32)
        # Few values are unrolled, so that the loop around them is pipelined.
        if n_values <= 8:
            for v in tl.static_range(n_values):
                mine = tl.load(own_values_ptr + v * n_own + rows, mask=valid, other=0.0)
                theirs = other_values_ptr + v * n_others + columns
                theirs = tl.load(theirs, mask=is_other, other=0.0)
                pair += mine[:, None] * theirs[None, :]
        else:
            for v in range(n_values):
                mine = tl.load(own_values_ptr + v * n_own + rows, mask=valid, other=0.0)
                theirs = other_values_ptr + v * n_others + columns
                theirs = tl.load(theirs, mask=is_other, other=0.0)
                pair += mine[:, None] * theirs[None, :]
        pair *= tl.exp(min_distance - distance * inverse_temperature)
        different = columns[None, :] != rows[:, None]
        pair = tl.where(valid[:, None] & is_other[None, :] & different, pair, 0.0)
        if own_are_queries:
            score_sum += tl.sum(pair * distance, axis=1) * inverse_temperature
        pair *= inverse_temperature / query_scale
        if root:
            pair = pair / distance
        elif norms:
            pair *= 2.0
        total += tl.sum(pair if own_are_queries else pair * query_scale, axis=1)
        weights, weights_low = _split(pair)
        if own_are_queries:
            x, x_low = other, other_low
        else:
            x = _load_rows(scaled_queries_ptr, columns, is_other, dim)
            x_low = _load_rows(scaled_queries_low_ptr, columns, is_other, dim)
        grad = tl.dot(weights_low, x, grad)
        grad = tl.dot(weights, x_low, grad)
        grad = tl.dot(weights, x, grad)
    grad /= tl.load(other_scale_ptr)
    slots = tl.arange(0, dim)
    ptr = rows.to(tl.int64)[:, None] * width + slots
    inside = valid[:, None] & (slots < width)[None, :]
    if norms:
        # Read once more: kept from above, the split points would fill the registers.
        center = tl.load(center_ptr + slots, mask=slots < width, other=0.0)
        x = tl.load(points_ptr + ptr, mask=inside, other=0.0) - center[None, :]
        grad -= x * total[:, None]
    out = grad_ptr + ptr
    if own_are_queries:
        tl.atomic_add(out, grad * query_scale, mask=inside, sem="relaxed")
        tl.store(score_sum_ptr + part * n_own + rows, score_sum, mask=valid)
    else:
        tl.store(out, grad, mask=inside)


@triton.jit
def interpolate(
    table_ptr,
    rows_ptr,
    below_ptr,
    share_ptr,
    out_ptr,
    n_rows,
    n_columns,
    width,
    dim: tl.constexpr,
    n_at_once: tl.constexpr,
):
    """For some rows the sum over their cells, each between two rows of the table."""
    places = tl.program_id(0) * n_at_once + tl.arange(0, n_at_once)
    valid = places < n_rows
    rows = tl.load(rows_ptr + places, mask=valid, other=0).to(tl.int64)
    slots = tl.arange(0, dim)
    mask = valid[:, None] & (slots < width)[None, :]
    total = tl.zeros((n_at_once, dim), tl.float32)
    for column in range(n_columns):
        below = tl.load(below_ptr + rows * n_columns + column, mask=valid, other=0)
        share = tl.load(share_ptr + rows * n_columns + column, mask=valid, other=0.0)
        ptr = table_ptr + below[:, None] * width + slots
        low = tl.load(ptr, mask=mask, other=0.0)
        high = tl.load(ptr + width, mask=mask, other=0.0)
        total += low + share[:, None] * (high - low)
    tl.store(out_ptr + places.to(tl.int64)[:, None] * width + slots, total, mask=mask)


@triton.jit
def interpolate_grad(
    grad_ptr,
    places_ptr,
    order_ptr,
    share_ptr,
    bags_ptr,
    out_ptr,
    n_bags,
    width,
    dim: tl.constexpr,
    n_at_once: tl.constexpr,
):
    """The gradient of two rows of the table, from a bag of the cells between them."""
    bag = tl.program_id(0)
    knot = tl.load(bags_ptr + bag)
    first = tl.load(bags_ptr + n_bags + bag)
    last = tl.load(bags_ptr + 2 * n_bags + bag)
    slots = tl.arange(0, dim)
    inside = slots < width
    both = tl.zeros((n_at_once, dim), tl.float32)
    high = tl.zeros((n_at_once, dim), tl.float32)
    for start in range(first, last, n_at_once):
        cells = start + tl.arange(0, n_at_once)
        valid = cells < last
        rows = tl.load(order_ptr + cells, mask=valid, other=0)
        share = tl.load(share_ptr + cells, mask=valid, other=0.0)
        places = tl.load(places_ptr + rows, mask=valid, other=-1)
        mask = (places >= 0)[:, None] & inside[None, :]
        ptr = grad_ptr + places.to(tl.int64)[:, None] * width + slots
        grad = tl.load(ptr, mask=mask, other=0.0)
        both += grad
        high += share[:, None] * grad
    above = tl.sum(high, axis=0)
    out = out_ptr + knot * width + slots
    tl.atomic_add(out, tl.sum(both, axis=0) - above, mask=inside, sem="relaxed")
    tl.atomic_add(out + width, above, mask=inside, sem="relaxed")
