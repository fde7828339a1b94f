"""The Triton kernel of `train.adamw`."""

import triton
import triton.language as tl


@triton.jit
def update(
    param_ptr,
    grad_ptr,
    exp_avg_ptr,
    exp_avg_sq_ptr,
    step_ptr,
    rates_ptr,
    beta1,
    beta2,
    eps,
    size,
    n_at_once: tl.constexpr,
):
    """Update a thousand numbers."""
    places = tl.program_id(0) * n_at_once + tl.arange(0, n_at_once)
    valid = places < size
    step = tl.load(step_ptr)
    rate, decay = tl.load(rates_ptr), tl.load(rates_ptr + 1)
    param = tl.load(param_ptr + places, mask=valid)
    grad = tl.load(grad_ptr + places, mask=valid)
    exp_avg = tl.load(exp_avg_ptr + places, mask=valid)
    exp_avg_sq = tl.load(exp_avg_sq_ptr + places, mask=valid)
    exp_avg += (1 - beta1) * (grad - exp_avg)
    exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * grad * grad
    # The averages begin at zero and are too small at first.
    correction1 = 1 - tl.exp(step * tl.log(beta1))
    correction2 = 1 - tl.exp(step * tl.log(beta2))
    denominator = tl.sqrt(exp_avg_sq) / tl.sqrt(correction2) + eps
    param *= 1 - rate * decay
    param -= (rate / correction1) * exp_avg / denominator
    tl.store(param_ptr + places, param, mask=valid)
    tl.store(exp_avg_ptr + places, exp_avg, mask=valid)
    tl.store(exp_avg_sq_ptr + places, exp_avg_sq, mask=valid)
