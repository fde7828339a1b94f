"""The kernel of `train.adamw`, in Triton."""

import triton
import triton.language as tl


@triton.jit
def update(
    parameter_at,
    slope_at,
    mean_at,
    square_at,
    step_at,
    rate,
    decay,
    memory,
    square_memory,
    least,
    size,
    n_at_once: tl.constexpr,
):
    """Move a thousand numbers against their slopes."""
    places = tl.program_id(0) * n_at_once + tl.arange(0, n_at_once)
    there = places < size
    step = tl.load(step_at)
    parameter = tl.load(parameter_at + places, mask=there)
    slope = tl.load(slope_at + places, mask=there)
    mean = tl.load(mean_at + places, mask=there)
    square = tl.load(square_at + places, mask=there)
    mean += (1 - memory) * (slope - mean)
    square = square_memory * square + (1 - square_memory) * slope * slope
    # Means that began at zero are too small at first.
    short = 1 - tl.exp(step * tl.log(memory))
    square_short = 1 - tl.exp(step * tl.log(square_memory))
    size_of_step = tl.sqrt(square) / tl.sqrt(square_short) + least
    parameter *= 1 - rate * decay
    parameter -= (rate / short) * mean / size_of_step
    tl.store(parameter_at + places, parameter, mask=there)
    tl.store(mean_at + places, mean, mask=there)
    tl.store(square_at + places, square, mask=there)
