"""The loss of a batch and of a held-out part, for the training loop."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from modernnca.core.distances import Distance
from modernnca.core.fused import Batch, fused_loss
from modernnca.core.geometry import GEOMETRIES
from modernnca.core.knots import Cells, place_cells, place_knots
from modernnca.core.losses import OF_VOTES, Objective
from modernnca.core.net import Net, embed_all, embed_cells
from modernnca.core.rows import Rows
from modernnca.core.samplers import Crowd, Sample, Sampler
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


class _Whole(nn.Module):
    """A net with the loss behind it, since what is recorded must be a module."""

    def __init__(self, net: Net, loss: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.net, self.loss = net, loss

    def forward(self, batch: Tensor, others: Tensor) -> Tensor:
        """The loss of the rows in `batch`, answered by themselves and others."""
        return self.loss(batch, others)


class NeighborLearner:
    """Learn an embedding in which the neighbors of a row vote for its target.

    Args:
        fit: the rows that are learned from and that answer.
        stop: the rows that judge; None: each row of `fit` is judged by the others.
        judge: turns votes (B, V) for the judging rows into what the loop wants to know.
    """

    def __init__(
        self,
        net: Net,
        fit: Labeled,
        stop: Labeled | None,
        *,
        method: Method,
        judge: Callable[[Tensor], tuple[float, float]],
        generator: torch.Generator,
    ) -> None:
        self.module = net
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
        self._recorded: tuple[tuple[int, int], Callable] | None = None
        self._knots: Tensor | None = None
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

    def loss(self, batch: Tensor) -> Tensor:
        """The mean loss of the rows numbered in `batch` (B,)."""
        method = self._method
        sample = method.sampler(batch, self._crowd)
        geometry = GEOMETRIES.get(method.distance)
        vote_loss = OF_VOTES.get(method.objective)
        known = geometry is not None and vote_loss is not None
        soft = method.kernel is exponential and sample.silent is None
        if not (known and soft and method.fused) or self._happened is not None:
            return self._plain_loss(batch, sample)
        # On a GPU, hundreds of small kernels take longer to start than to run; recorded
        # once, they start together. BatchNorm and dropout would be disturbed by the
        # rehearsal, and the last batch has a size of its own.
        if batch.device.type == "cuda" and self.module.shape.n_blocks == 0:
            sizes = (len(batch), len(sample.others))
            if self._recorded is None:
                self._recorded = sizes, self._record(batch, sample.others)
            if self._recorded[0] == sizes:
                return self._recorded[1](batch, sample.others)
        return self._fused_loss(batch, sample.others)

    def _record(
        self, batch: Tensor, others: Tensor
    ) -> Callable[[Tensor, Tensor], Tensor]:
        """`_fused_loss` for batches and others of these sizes, as one CUDA graph."""
        # torch would warn that the rehearsal ran on a stream of its own, as it should.
        quiet = getattr(
            torch.autograd.graph, "set_warn_on_accumulate_grad_stream_mismatch", None
        )
        if quiet is not None:
            quiet(False)
        whole = _Whole(self.module, self._fused_loss)
        sample = (batch.clone(), others.clone())
        graphed: Any = torch.cuda.make_graphed_callables(
            whole, sample, allow_unused_input=True
        )
        return cast(Callable[[Tensor, Tensor], Tensor], graphed)

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
        cells = self._cells[id(self._fit)].take(together)
        rows = rows._replace(numbers=rows.numbers[:, :0]).take(together)
        return self.module.forward_cells(
            self.module.knot_table(self._knots), cells, rows
        )

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
