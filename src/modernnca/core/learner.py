"""The loss of a batch and of a held-out part, for the training loop."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from modernnca.core.distances import Distance
from modernnca.core.losses import Objective
from modernnca.core.net import Net, embed_all
from modernnca.core.rows import Rows
from modernnca.core.samplers import Crowd, Sampler
from modernnca.core.softnn import Kernel, Rule, vote_in_chunks


class Labeled(NamedTuple):
    """Rows with what they vote for and what the loss compares.

    The two differ only where the loss does not look at what is predicted: TabCon's
    regression learns from bins and votes with numbers.
    """

    rows: Rows
    values: Tensor  # (N, V) what a row votes for: one-hot class, or number
    labels: Tensor  # (N, L) what the loss compares: mostly the same
    weights: Tensor | None  # (N,) how much a row counts, in the loss and in the vote

    @property
    def log_weights(self) -> Tensor | None:
        """(N,) what is added to a row's scores."""
        return None if self.weights is None else self.weights.log()

    def to(self, device: torch.device) -> "Labeled":
        """The same on `device`."""
        weights = None if self.weights is None else self.weights.to(device)
        return Labeled(
            self.rows.to(device),
            self.values.to(device),
            self.labels.to(device),
            weights,
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

    def learning_rule(self, net: Net) -> Rule:
        """How `net`'s distances turn into scores while it learns."""
        return Rule(self.distance, net.temperature, self.kernel)

    def answering_rule(self, net: Net) -> Rule:
        """The same when it predicts."""
        return self.learning_rule(net)._replace(n_neighbors=self.n_neighbors)


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

    def loss(self, batch: Tensor) -> Tensor:
        """The mean loss of the rows numbered in `batch` (B,)."""
        fit, method = self._fit, self._method
        sample = method.sampler(batch, self._crowd)
        together = torch.cat([batch, sample.others])  # (M,)
        points = self._embed(batch, sample.others)  # (M, D)
        # A row never answers its own question, wherever and however often it was drawn.
        silent = batch[:, None] == together  # (B, M)
        if sample.silent is not None:
            silent = silent | sample.silent
        log_weights = fit.log_weights
        rule = method.learning_rule(self.module)
        scores = rule.scores(
            rule.distance(points[: len(batch)], points),
            None if log_weights is None else log_weights[together],
            silent,
        )
        log_shares = scores.log_softmax(1)  # (B, M)
        losses = method.objective(
            log_shares, fit.labels[together], self._smooth(fit.labels[batch])
        )
        if fit.weights is None:
            return losses.mean()
        weights = fit.weights[batch]
        return (losses * weights).sum() / weights.sum()

    def _embed(self, batch: Tensor, others: Tensor) -> Tensor:
        """Embed the batch (B,) and the others who answer (S,): (B + S, D)."""
        # PAPER: the public code passes the batch and the sampled rows through BatchNorm
        # one after the other, so that one row has two embeddings and the running
        # statistics move twice a step. We pass them together: one row, one embedding.
        # Measured (benchmarks/batchnorm.py, one block, 10 tables, 3 seeds): the error
        # is 0.987 of that of two passes, 95 % interval 0.973 to 0.9996, 7 better.
        return self.module(self._fit.rows.take(torch.cat([batch, others])))

    def validate(self) -> tuple[float, float]:
        """A score (higher is better) and a loss of the judging rows' predictions."""
        fit, method, net = self._fit, self._method, self.module
        keys = embed_all(net, fit.rows)
        if self._stop is None:
            query, own = keys, torch.arange(len(keys), device=keys.device)
        else:
            query, own = embed_all(net, self._stop.rows), None
        with torch.no_grad():
            votes = vote_in_chunks(
                query,
                keys,
                fit.values,
                rule=method.answering_rule(net),
                log_weights=fit.log_weights,
                own=own,
            )
        return self._judge(votes.mean)

    def _smooth(self, targets: Tensor) -> Tensor:
        """Give a small part of each one-hot target to all classes alike."""
        smoothing = self._method.label_smoothing
        if smoothing == 0:
            return targets
        return targets * (1 - smoothing) + smoothing / targets.shape[1]

    def _distances(self, batch: Tensor) -> Tensor:
        """Distances (B, N) of the rows in `batch` to all rows, as the net is now."""
        with torch.no_grad():
            points = embed_all(self.module, self._fit.rows)
            return self._method.distance(points[batch], points)
