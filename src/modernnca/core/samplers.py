"""Which rows vote on a training batch besides its own rows, by name.

Stochastic neighborhood sampling: a fresh part of the training rows for each batch.

# PAPER: the paper says "a subset of D"; its public code samples from the rows outside
# the batch and lets the whole batch vote as well. We follow the code: the batch is
# embedded anyway, so its votes are free.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class SamplingContext:
    """What a sampler may look at.

    `distances` gives the distances (B, N) of given rows to all rows in the present
    embedding; it costs a pass over the table, so only one sampler calls it.
    """

    n_rows: int
    classes: Tensor | None  # (N,) class codes; None in regression
    rate: float
    max_sampled: float
    exponent: float
    distances: Callable[[Tensor], Tensor]
    generator: torch.Generator  # on the CPU
    device_generator: torch.Generator  # where the rows are


@dataclass(frozen=True)
class Sample:
    """The sampled rows, and who must not vote on whom."""

    others: Tensor  # (S,) row numbers outside the batch
    mask: Tensor | None = None  # (B, B + S): the batch first, then the others


Sampler = Callable[[Tensor, SamplingContext], Sample]
_MAX_KEY = 2**15 - 1


def _outside(batch: Tensor, n_rows: int) -> Tensor:
    """The row numbers that are not in `batch`, in order."""
    free = torch.ones(n_rows, dtype=torch.bool, device=batch.device)
    free[batch] = False
    return free.nonzero().squeeze(1)


def _n_sampled(n_batch: int, n_outside: int, context: SamplingContext) -> int:
    """How many rows to draw: a share of those outside, one at least for a single row.

    No more than `max_sampled`, and no more than there are.
    """
    n = int(min(context.rate * n_outside, context.max_sampled))
    return min(max(n, 1 if n_batch == 1 else 0), n_outside)


def _draw(rows: Tensor, n: int, generator: torch.Generator) -> Tensor:
    """`n` of `rows` without repetition; the generator is on the CPU."""
    order = torch.randperm(len(rows), generator=generator)[:n]
    return rows[order.to(rows.device)]


def _draw_outside(batch: Tensor, n: int, context: SamplingContext) -> Tensor:
    """`n` rows outside the batch, without repetition, all equally likely."""
    if batch.device.type == "cuda":
        # All on the device and of known size, so that a step never waits and can be
        # captured as a CUDA graph. Sort keys of 16 bits take half the time of 32; of a
        # million rows, only the order of the 16 that share the last key drawn is not
        # random.
        keys = torch.randint(
            _MAX_KEY,
            (context.n_rows,),
            dtype=torch.int16,
            device=batch.device,
            generator=context.device_generator,
        )
        return keys.index_fill_(0, batch, _MAX_KEY).argsort()[:n]
    if 4 * n > context.n_rows - len(batch):
        return _draw(_outside(batch, context.n_rows), n, context.generator)
    # A few of many: draw more than needed, then drop repetitions and the batch. The
    # time this takes does not grow with the table.
    drawn = batch[:0]
    while len(drawn) < n:
        more = torch.randint(
            context.n_rows, (n + n // 4 + 16,), generator=context.generator
        )
        drawn = torch.cat([drawn, more.to(batch.device)]).unique()
        drawn = drawn[torch.isin(drawn, batch, invert=True)]
    return _draw(drawn, n, context.generator)


def sample_random(batch: Tensor, context: SamplingContext) -> Sample:
    """A uniform draw from the rows outside the batch."""
    n = _n_sampled(len(batch), context.n_rows - len(batch), context)
    return Sample(_draw_outside(batch, n, context))


def sample_by_class(batch: Tensor, context: SamplingContext) -> Sample:
    """The same share of each class, at least one row of each; classification only."""
    if context.classes is None:
        raise ValueError("The sampler 'class-wise' needs classes; this is regression.")
    outside = _outside(batch, context.n_rows)
    n = _n_sampled(len(batch), len(outside), context)
    share = n / max(len(outside), 1)
    classes = context.classes[outside]
    drawn = []
    for c in classes.unique():
        members = outside[classes == c]
        drawn.append(
            _draw(members, max(1, round(share * len(members))), context.generator)
        )
    return Sample(torch.cat(drawn) if drawn else outside)


def sample_by_distance(batch: Tensor, context: SamplingContext) -> Sample:
    """A draw for each query, more likely the nearer: 1 / distance^exponent.

    The draws are made without repetition by perturbing log-probabilities with Gumbel
    noise and keeping the largest. A row drawn for one query is masked for the others,
    unless they drew it as well.
    """
    # The rest of the batch votes on a query only if it drew them: draw from all rows.
    n = _n_sampled(1, context.n_rows - 1, context)
    # A distance may be negative (cosine, dot): shift the least to zero.
    distances = context.distances(batch)  # (B, N)
    distances = distances - distances.amin().clamp_max(0)
    log_odds = -context.exponent * distances.clamp_min(1e-6).log()
    log_odds.scatter_(1, batch[:, None], -torch.inf)  # no row draws itself
    noise = torch.rand(log_odds.shape, generator=context.generator).to(log_odds)
    gumbel = -torch.log(-torch.log(noise.clamp(1e-20, 1 - 1e-7)))
    chosen = (log_odds + gumbel).topk(n).indices  # (B, n)
    drawn = torch.zeros_like(log_odds, dtype=torch.bool).scatter_(1, chosen, True)
    outside = _outside(batch, context.n_rows)
    others = outside[drawn.any(0)[outside]]
    return Sample(others, ~drawn[:, torch.cat([batch, others])])


def sample_all(batch: Tensor, context: SamplingContext) -> Sample:
    """Every row votes."""
    return Sample(_outside(batch, context.n_rows))


def sample_batch(batch: Tensor, context: SamplingContext) -> Sample:
    """Only the batch votes, as in TabCon."""
    if len(batch) == 1:
        return sample_random(batch, context)
    return Sample(batch[:0])


SAMPLERS: dict[str, Sampler] = {
    "random": sample_random,
    "class-wise": sample_by_class,
    "distance": sample_by_distance,
    "all": sample_all,
    "batch": sample_batch,
}
