"""The loss of a batch and of a held-out part, for the training loop."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from modernnca.core.bags import Bags, by_kernels, make_bags, sum_cells
from modernnca.core.distances import Distance
from modernnca.core.fused import Batch, fused_loss
from modernnca.core.geometry import GEOMETRIES
from modernnca.core.knots import Cells, place_cells, place_knots
from modernnca.core.losses import OF_VOTES, Objective
from modernnca.core.net import Net, embed_all, embed_cells
from modernnca.core.rows import Rows
from modernnca.core.samplers import (
    Crowd,
    Sample,
    Sampler,
    sample_batch,
    sample_random,
)
from modernnca.core.softnn import (
    Kernel,
    Rule,
    exponential,
    silence_later,
    vote_in_chunks,
)
from modernnca.core.streaming import geometry_of, make_ready, stream_vote


class Labeled(NamedTuple):
    """Rows with what they vote for and what the loss compares.

    The two differ only where the loss does not look at what is predicted: TabCon's
    regression learns from bins and votes with numbers.
    """

    rows: Rows
    values: Tensor  # (N, V) what a row votes for: one-hot class, or number
    labels: Tensor  # (N, L) what the loss compares: mostly the same
    weights: Tensor | None  # (N,) how much a row counts, in the loss and in the vote
    moments: Tensor | None = None  # (N,) when it happened; later rows do not answer

    @property
    def log_weights(self) -> Tensor | None:
        """(N,) what is added to a row's scores."""
        return None if self.weights is None else self.weights.log()

    def to(self, device: torch.device) -> "Labeled":
        """The same on `device`."""
        weights = None if self.weights is None else self.weights.to(device)
        moments = None if self.moments is None else self.moments.to(device)
        return Labeled(
            self.rows.to(device),
            self.values.to(device),
            self.labels.to(device),
            weights,
            moments,
        )


@dataclass(frozen=True)
class Method:
    """The parts that make one variant of the method."""

    distance: Distance
    kernel: Kernel
    objective: Objective
    sampler: Sampler
    n_neighbors: int | None = None  # predict with so many, hard; None: with all, soft
    rate: float = 0.5
    max_sampled: int | None = None
    exponent: float = 1.0
    label_smoothing: float = 0.0
    fused: bool = True  # the loss in one pass where that is known: see core.fused
    n_knots: int | None = None  # numbers between so many knots: see core.knots
    learn_from_past: bool = False  # later rows do not answer in training, either

    def learning_rule(self, net: Net) -> Rule:
        """How `net`'s distances turn into scores while it learns."""
        return Rule(self.distance, net.temperature, self.kernel)

    def answering_rule(self, net: Net) -> Rule:
        """The same when it predicts."""
        return self.learning_rule(net)._replace(n_neighbors=self.n_neighbors)


_FEWEST_KNOTS = 32  # with fewer, a table is small enough to do without


class NeighborLearner:
    """Learn an embedding in which the neighbors of a row vote for its target.

    Args:
        fit: the rows that are learned from and that answer.
        stop: the rows that judge; None: each row of `fit` is judged by the others.
        judge: turns votes (B, V) for the judging rows into what the loop wants to know;
            None: nobody asks.
        generator: of all draws in training.
    """

    def __init__(
        self,
        net: Net,
        fit: Labeled,
        stop: Labeled | None,
        *,
        method: Method,
        judge: Callable[[Tensor], tuple[float, float]] | None,
        generator: torch.Generator,
    ) -> None:
        self.module, self.generator = net, generator
        self.n_rows = len(fit.values)
        self._happened = fit.moments if method.learn_from_past else None
        self._fit, self._stop, self._method, self._judge = fit, stop, method, judge
        self._crowd = Crowd(
            n_rows=self.n_rows,
            classes=fit.labels.argmax(1) if fit.labels.shape[1] > 1 else None,
            rate=method.rate,
            at_most=method.max_sampled,
            exponent=method.exponent,
            distances=self._distances,
            generator=generator,
        )
        self._in_batch = torch.zeros(
            self.n_rows, dtype=torch.bool, device=fit.values.device
        )
        self._knots: Tensor | None = None
        self._bags: Bags | None = None
        self._cells: dict[int, Cells] = {}  # of the parts, by their identity
        # A small table has few cells a step, so it takes few knots to win anything.
        # Profile at 930 rows x 37 columns, one core: encoding every cell takes 70 % of
        # a fit; with 116 knots the whole fit is three times faster.
        n_knots = min(method.n_knots or 0, self.n_rows // 8)
        enough = n_knots > 0 and n_knots >= min(method.n_knots or 0, _FEWEST_KNOTS)
        if enough and fit.rows.numbers.shape[1]:
            self._knots = place_knots(fit.rows.numbers, n_knots)
            for part in (fit, stop):
                if part is not None:
                    cells = place_cells(part.rows.numbers, self._knots)
                    self._cells[id(part)] = cells
            if by_kernels(fit.rows.numbers):
                self._bags = make_bags(self._cells[id(fit)])

    @property
    def recordable(self) -> bool:
        """Whether a step never waits for the device: see train.recorded."""
        return self._in_one_pass and self._method.sampler in (
            sample_random,
            sample_batch,
        )

    @property
    def _in_one_pass(self) -> bool:
        method = self._method
        known = method.distance in GEOMETRIES and method.objective in OF_VOTES
        soft = method.kernel is exponential and self._happened is None
        return method.fused and known and soft

    def loss(self, batch: Tensor) -> Tensor:
        """The mean loss of the rows numbered in `batch` (B,)."""
        sample = self._method.sampler(batch, self._crowd)
        if self._in_one_pass and sample.silent is None:
            return self._fused_loss(batch, sample.others)
        return self._plain_loss(batch, sample)

    def _fused_loss(self, batch: Tensor, others: Tensor) -> Tensor:
        """The loss in one pass; no pair is kept."""
        fit, method = self._fit, self._method
        together = torch.cat([batch, others])  # (M,)
        voices = self._voices(batch, others)
        if fit.weights is not None:
            voices = voices * fit.weights[together]
        return fused_loss(
            self._embed(batch, others),
            self.module.temperature,
            Batch(
                n_queries=len(batch),
                values=fit.labels[together],
                targets=self._smooth(fit.labels[batch]),
                voices=voices,
                weights=None if fit.weights is None else fit.weights[batch],
            ),
            geometry=GEOMETRIES[method.distance],
            vote_loss=OF_VOTES[method.objective],
        )

    def _voices(self, batch: Tensor, others: Tensor) -> Tensor:
        """1 for those who may speak, 0 for others who are in the batch: (M,).

        A row never answers its own question, wherever and however often it was drawn:
        in the batch it is silent for itself, a second copy is silent for all.
        """
        # index_fill_, not an assignment, which would bring its scalar from the CPU.
        self._in_batch.index_fill_(0, batch, True)
        doubles = self._in_batch[others]
        self._in_batch.index_fill_(0, batch, False)
        heard = self._fit.labels.new_ones(len(batch) + len(others))
        heard[len(batch) :].masked_fill_(doubles, 0.0)
        return heard

    def _plain_loss(self, batch: Tensor, sample: Sample) -> Tensor:
        """The loss for any distance, kernel and objective; pairs are kept."""
        fit = self._fit
        points = self._embed(batch, sample.others)  # (M, D)
        together = torch.cat([batch, sample.others])  # (M,)
        voices = self._voices(batch, sample.others)
        silent = (batch[:, None] == together) | (voices == 0)  # (B, M)
        if sample.silent is not None:
            silent = silent | sample.silent
        weights = None if fit.weights is None else fit.weights[batch]
        if self._happened is not None:
            # Who has nobody before it learns nothing.
            when = self._happened
            silent, alone = silence_later(silent, when[batch], when[together])
            heard = (~alone).to(points.dtype)
            weights = heard if weights is None else weights * heard
        log_weights = fit.log_weights
        rule = self._method.learning_rule(self.module)
        scores = rule.scores(
            rule.distance(points[: len(batch)], points),
            None if log_weights is None else log_weights[together],
            silent,
        )
        log_shares = scores.log_softmax(1)  # (B, M)
        losses = self._method.objective(
            log_shares, fit.labels[together], self._smooth(fit.labels[batch])
        )
        if weights is None:
            return losses.mean()
        return (losses * weights).sum() / weights.sum().clamp_min(1e-30)

    def _embed(self, batch: Tensor, others: Tensor) -> Tensor:
        """Embed the batch (B,) and the others who answer (S,): (B + S, D)."""
        # PAPER: the public code passes the batch and the sampled rows through BatchNorm
        # one after the other, so that one row has two embeddings and the running
        # statistics move twice a step. We pass them together: one row, one embedding.
        # Measured (benchmarks/batchnorm.py, one block, 10 tables, 3 seeds): the error
        # is 0.987 of that of two passes, 95 % interval 0.973 to 0.9996, 7 better.
        together = torch.cat([batch, others])
        rows = self._fit.rows
        if self._knots is None:
            return self.module(rows.take(together))
        cells = self._cells[id(self._fit)]
        rows = rows._replace(numbers=rows.numbers[:, :0]).take(together)
        table = self.module.knot_table(self._knots)
        # Bags hold the cells of all rows, so a few rows do better without.
        if self._bags is not None and 8 * len(together) > self.n_rows:
            summed = sum_cells(table, cells, self._bags, together)
        else:
            summed = cells.take(together).look_up(table)
        return self.module.forward_cells(summed, rows)

    def validate(self) -> tuple[float, float]:
        """A score (higher is better) and a loss of the judging rows' predictions."""
        fit, method, net = self._fit, self._method, self.module
        keys = self._embed_part(fit)
        if self._stop is None:
            query, own = keys, torch.arange(len(keys), device=keys.device)
        else:
            query, own = self._embed_part(self._stop), None
        judges = fit if self._stop is None else self._stop
        asked = judges.moments
        rule = method.answering_rule(net)
        geometry = geometry_of(rule)
        with torch.no_grad():
            if geometry is not None and own is None:
                ready = make_ready(
                    keys, fit.values, geometry, fit.log_weights, fit.moments
                )
                votes = stream_vote(
                    query, ready, temperature=rule.temperature, asked=asked, mend=False
                )
            else:
                votes = vote_in_chunks(
                    query,
                    keys,
                    fit.values,
                    rule=rule,
                    log_weights=fit.log_weights,
                    own=own,
                    asked=asked,
                    happened=fit.moments,
                )
        assert self._judge is not None  # or the plan would say that nobody judges
        return self._judge(votes.mean)

    def _embed_part(self, part: Labeled) -> Tensor:
        """Embed all rows of a part, without a gradient: (N, D)."""
        if self._knots is None:
            return embed_all(self.module, part.rows)
        return embed_cells(self.module, part.rows, self._knots, self._cells[id(part)])

    def _smooth(self, targets: Tensor) -> Tensor:
        """Give a small part of each one-hot target to all classes alike."""
        smoothing = self._method.label_smoothing
        if smoothing == 0:
            return targets
        return targets * (1 - smoothing) + smoothing / targets.shape[1]

    def _distances(self, batch: Tensor) -> Tensor:
        """Distances (B, N) of the rows in `batch` to all rows, as the net is now."""
        points = self._embed_part(self._fit)
        with torch.no_grad():
            return self._method.distance(points[batch], points)
