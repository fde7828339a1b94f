"""Who answers a training batch besides its own rows, by name.

Stochastic neighborhood sampling: a fresh part of the training rows for each batch.

# PAPER: the paper says "a subset of D"; its public code samples from the rows outside
# the batch and lets the whole batch answer too. We follow the code: the batch is
# embedded anyway, so its voices are free.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Crowd:
    """What a sampler may look at.

    `distances` gives the distances (B, N) of given rows to all rows in the present
    embedding; it costs a pass over the table, so only the sampler that needs it asks.
    """

    n_rows: int
    classes: Tensor | None  # (N,) class codes; None in regression
    rate: float
    at_most: int | None
    exponent: float
    distances: Callable[[Tensor], Tensor]
    generator: torch.Generator


@dataclass(frozen=True)
class Sample:
    """Rows outside the batch that answer, and who does not hear whom."""

    others: Tensor  # (S,) row numbers
    silent: Tensor | None = None  # (B, B + S): the batch first, then the others


Sampler = Callable[[Tensor, Crowd], Sample]
_LOTS = 2**15 - 1


def _outside(batch: Tensor, n_rows: int) -> Tensor:
    """The row numbers that are not in `batch`, in order."""
    free = torch.ones(n_rows, dtype=torch.bool, device=batch.device)
    free[batch] = False
    return free.nonzero().squeeze(1)


def _n_sampled(n_batch: int, n_outside: int, crowd: Crowd) -> int:
    """How many rows to draw: a share of those outside, and never a lonely batch."""
    n = int(crowd.rate * n_outside)
    if crowd.at_most is not None:
        n = min(n, crowd.at_most)
    return min(max(n, 1 if n_batch == 1 else 0), n_outside)


def _draw(rows: Tensor, n: int, generator: torch.Generator) -> Tensor:
    """`n` of `rows` without repetition; the generator lives on the CPU."""
    order = torch.randperm(len(rows), generator=generator)[:n]
    return rows[order.to(rows.device)]


def _draw_outside(batch: Tensor, n: int, crowd: Crowd) -> Tensor:
    """`n` rows outside the batch, without repetition, any as likely as any other."""
    if batch.device.type == "cuda":
        # All on the device and of known size, so that nobody waits for anybody. The
        # seed of the device's own generator is part of the training's. Lots of 16 bits
        # take half the time of 32 to be sorted; of a million rows, the 16 that share
        # the last lot drawn are the only ones whose order counts.
        lots = torch.randint(
            _LOTS, (crowd.n_rows,), dtype=torch.int16, device=batch.device
        )
        return lots.index_fill_(0, batch, _LOTS).argsort()[:n]
    if 4 * n > crowd.n_rows - len(batch):
        return _draw(_outside(batch, crowd.n_rows), n, crowd.generator)
    # A few of many: draw some too many, and leave out repetitions and the batch. This
    # takes no time that grows with the table.
    drawn = batch[:0]
    while len(drawn) < n:
        more = torch.randint(
            crowd.n_rows, (n + n // 4 + 16,), generator=crowd.generator
        )
        drawn = torch.cat([drawn, more.to(batch.device)]).unique()
        drawn = drawn[torch.isin(drawn, batch, invert=True)]
    return _draw(drawn, n, crowd.generator)


def sample_random(batch: Tensor, crowd: Crowd) -> Sample:
    """An even draw from the rows outside the batch."""
    n = _n_sampled(len(batch), crowd.n_rows - len(batch), crowd)
    return Sample(_draw_outside(batch, n, crowd))


def sample_by_class(batch: Tensor, crowd: Crowd) -> Sample:
    """The same share of each class, at least one row of each; classes only."""
    if crowd.classes is None:
        raise ValueError("The sampler 'class-wise' needs classes; this is regression.")
    outside = _outside(batch, crowd.n_rows)
    n = _n_sampled(len(batch), len(outside), crowd)
    share = n / max(len(outside), 1)
    classes = crowd.classes[outside]
    drawn = []
    for c in classes.unique():
        members = outside[classes == c]
        drawn.append(
            _draw(members, max(1, round(share * len(members))), crowd.generator)
        )
    return Sample(torch.cat(drawn) if drawn else outside)


def sample_by_distance(batch: Tensor, crowd: Crowd) -> Sample:
    """For each asking row its own draw, likelier the nearer: 1 / distance^exponent.

    The draws are made without repetition by perturbing log-probabilities with Gumbel
    noise and keeping the largest. A row drawn for one asking row is silent for the
    others, unless they drew it as well.
    """
    # Its batch mates answer an asking row only if it drew them, so draw from all rows.
    n = _n_sampled(1, crowd.n_rows - 1, crowd)
    # A distance may be negative (cosine, dot): count from the nearest possible, zero.
    distances = crowd.distances(batch)  # (B, N)
    distances = distances - distances.amin().clamp_max(0)
    log_odds = -crowd.exponent * distances.clamp_min(1e-6).log()
    log_odds.scatter_(1, batch[:, None], -torch.inf)  # nobody draws itself
    noise = torch.rand(log_odds.shape, generator=crowd.generator).to(log_odds)
    gumbel = -torch.log(-torch.log(noise.clamp(1e-20, 1 - 1e-7)))
    chosen = (log_odds + gumbel).topk(n).indices  # (B, n)
    drawn = torch.zeros_like(log_odds, dtype=torch.bool).scatter_(1, chosen, True)
    outside = _outside(batch, crowd.n_rows)
    others = outside[drawn.any(0)[outside]]
    return Sample(others, ~drawn[:, torch.cat([batch, others])])


def sample_all(batch: Tensor, crowd: Crowd) -> Sample:
    """Every row answers."""
    return Sample(_outside(batch, crowd.n_rows))


def sample_batch(batch: Tensor, crowd: Crowd) -> Sample:
    """Nobody else answers: the batch is its own neighborhood, as in TabCon."""
    if len(batch) == 1:
        return sample_random(batch, crowd)
    return Sample(batch[:0])


SAMPLERS: dict[str, Sampler] = {
    "random": sample_random,
    "class-wise": sample_by_class,
    "distance": sample_by_distance,
    "all": sample_all,
    "batch": sample_batch,
}
