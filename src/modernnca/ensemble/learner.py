"""The loss of a batch, and the votes for validation rows, for the training loop."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from modernnca._config import COUNT, FLAG, FRACTION, Number, OneOf, option
from modernnca.core.distances import DISTANCES
from modernnca.core.local_batches import local_order
from modernnca.core.losses import LOSSES
from modernnca.core.network import Network, NetworkConfig, embed_rows
from modernnca.core.network_stack import NetworkStack
from modernnca.core.origin import extend_mask
from modernnca.core.rows import Examples
from modernnca.core.samplers import (
    SAMPLERS,
    Sample,
    SamplingContext,
    sample_batch,
    sample_random,
)
from modernnca.core.softnn import Rule, exponential, vote_in_chunks
from modernnca.kernels.fused_loss import Batch, fused_loss
from modernnca.kernels.geometry import GEOMETRIES
from modernnca.kernels.knot_bags import Bags, bags_supported, make_bags, sum_cells
from modernnca.kernels.knots import Cells, embed_cells, place_cells, place_knots
from modernnca.kernels.streaming import geometry_of, prepare_keys, stream_vote
from modernnca.train.generators import Generators

Evaluate = Callable[[np.ndarray], tuple[float, float]]  # of votes (B, V)
# Each masks the future where those before it do, and in one more phase.
PAST_ONLY = ("never", "prediction", "validation", "always")
_MIN_KNOTS = 32  # with fewer, a table is small enough to do without
_MIN_LEAVES, _MIN_LEAF = 4, 4  # leaves of a batch, rows of a leaf
_N_AT_ONCE = 8192  # rows that are embedded at a time


@dataclass(frozen=True, kw_only=True)
class MethodConfig(NetworkConfig):
    """A network, and how it learns from and votes with its neighbors."""

    loss: str = option(
        "log",
        OneOf(LOSSES),
        "log (in regression the squared error), sum (the original NCA), mcml, "
        "t-distribution.",
    )
    label_smoothing: float = option(
        0.0, FRACTION, "The part of each label that is given to all classes."
    )
    target_bins: int = option(
        0,
        Number(0, integer=True),
        "In regression, let the loss compare so many quantile bins of the target "
        "(TabCon); 0 compares the target itself.",
    )
    sampler: str = option(
        "batch", OneOf(SAMPLERS), "How the rows that vote on a batch are drawn."
    )
    sample_rate: float = option(
        0.5, Number(0, 1, above=True), "The share of rows drawn to vote on a batch."
    )
    max_sampled: float = option(
        512,
        Number(1, integer=True, also=(float("inf"),)),
        "The most rows drawn to vote on a batch.",
    )
    leaf_size: int = option(
        64,
        Number(0, integer=True),
        "Make batches of leaves of at most so many rows that are near each other, and "
        "at least four leaves (see core.local_batches); 0 makes them of random rows.",
    )
    sample_exponent: float = option(
        1.0, Number(0), 'The exponent tau of the sampler "distance".'
    )
    prediction: str = option(
        "soft",
        OneOf(("soft", "knn")),
        "soft: all rows vote; knn: the `n_neighbors` nearest, equally.",
    )
    n_neighbors: int = option(5, COUNT, 'Neighbors of the prediction "knn".')
    fused: bool = option(
        True, FLAG, "Compute loss and gradient in one pass where that is possible."
    )
    n_knots: int = option(
        64,
        Number(2, integer=True, also=(0,)),
        "In training, interpolate the encoding of numbers between so many knots of "
        "their column; 0 encodes every number, as predictions do.",
    )
    past_only: str = option(
        "prediction",
        OneOf(PAST_ONLY),
        "With a time column, rows later than a query do not vote: never, in "
        "prediction, in validation too, or always, in training as well.",
    )

    def masks_future_in(self, phase: str) -> bool:
        """Whether later rows do not vote in this phase."""
        return PAST_ONLY.index(self.past_only) >= PAST_ONLY.index(phase)

    def training_rule(self, network: Network) -> Rule:
        """How the network's distances become scores in training."""
        kernel = LOSSES[self.loss].kernel
        return Rule(DISTANCES[self.distance], network.temperature, kernel)

    def prediction_rule(self, network: Network) -> Rule:
        """The same in prediction."""
        n_neighbors = self.n_neighbors if self.prediction == "knn" else None
        return self.training_rule(network)._replace(n_neighbors=n_neighbors)


class NeighborLearner:
    """Learn an embedding in which the neighbors of a row vote for its target.

    Args:
        network: one, or several that learn together from the same batches; the loss is
            then the sum of theirs, and nothing is validated.
        train: the rows that are learned from and that vote.
        valid: the validation rows; None: each row of `train`, by leave-one-out votes.
        evaluate: from votes (B, V) for the validation rows to a score (higher is
            better) and a loss; None if nothing is validated.
    """

    def __init__(
        self,
        network: Network | NetworkStack,
        train: Examples,
        valid: Examples | None,
        *,
        config: MethodConfig,
        evaluate: Evaluate | None,
        generators: Generators,
    ) -> None:
        self.module, self.generators = network, generators
        self.n_rows = train.n_rows
        self._train, self._valid = train, valid
        self._config, self._evaluate = config, evaluate
        loss, of_classes = LOSSES[config.loss], train.labels.shape[1] > 1
        self._share_loss = loss.of_shares
        self._vote_loss = loss.classification if of_classes else loss.regression
        masked = config.masks_future_in("always")
        rows = train.rows if masked else train.rows.without_time()
        self._origin = rows.origin
        self._context = SamplingContext(
            n_rows=self.n_rows,
            classes=train.labels.argmax(1) if of_classes else None,
            rate=config.sample_rate,
            max_sampled=config.max_sampled,
            exponent=config.sample_exponent,
            distances=self._distances,
            generator=generators.rows,
            device_generator=generators.device,
        )
        self._in_batch = torch.zeros(
            self.n_rows, dtype=torch.bool, device=train.values.device
        )
        self._knots = self._place_knots()
        self._bags: Bags | None = None
        if self._knots is not None:
            self._cells = place_cells(train.rows.numbers, self._knots)
            if valid is not None:
                self._valid_cells = place_cells(valid.rows.numbers, self._knots)
            if bags_supported(train.rows.numbers):
                self._bags = make_bags(self._cells)

    def _place_knots(self) -> Tensor | None:
        """Knots, if the table is large enough to gain from them."""
        config, numbers = self._config, self._train.rows.numbers
        encoding = self.module.config.encoding
        # Unencoded numbers cost less than an interpolation.
        if config.n_knots == 0 or encoding == "none" or not numbers.shape[1]:
            return None
        # A small table has few cells a step, so few knots are enough to gain. Profile
        # at 930 rows x 37 columns, one core: encoding every cell takes 70 % of a fit;
        # with 116 knots the whole fit is three times faster.
        n_knots = min(config.n_knots, self.n_rows // 8)
        if n_knots < max(1, min(config.n_knots, _MIN_KNOTS)):
            return None
        return place_knots(numbers, n_knots)

    @property
    def capturable(self) -> bool:
        """Whether a step never waits for the device: see train.cuda_graph."""
        samplers = (sample_random, sample_batch)
        return self._is_fused and SAMPLERS[self._config.sampler] in samplers

    @property
    def _is_fused(self) -> bool:
        config = self._config
        known = DISTANCES[config.distance] in GEOMETRIES and self._share_loss is None
        soft = LOSSES[config.loss].kernel is exponential and self._origin is None
        return config.fused and known and soft

    def order(self, batch_size: int) -> Tensor:
        """The rows in the order of the next epoch, on the CPU or on their device."""
        generator, n_rows = self.generators.rows, self.n_rows
        leaf_size = min(self._config.leaf_size, batch_size // _MIN_LEAVES)
        if leaf_size < _MIN_LEAF or n_rows <= batch_size:
            return torch.randperm(n_rows, generator=generator)
        self.module.eval()
        index = torch.arange(n_rows, device=self._train.values.device)
        with torch.no_grad():
            parts = [self._embed(some) for some in index.split(_N_AT_ONCE)]
        points = torch.cat(parts, dim=-2)
        if points.dim() == 3:  # networks that share their batches take turns
            turn = torch.randint(len(points), (1,), generator=generator)
            points = points[int(turn)]
        self.module.train()
        return local_order(points, leaf_size, generator)

    def loss(self, batch: Tensor) -> Tensor:
        """The mean loss of the rows numbered in `batch` (B,)."""
        sample = SAMPLERS[self._config.sampler](batch, self._context)
        if self._is_fused and sample.mask is None:
            return self._fused_loss(batch, sample.others)
        return self._plain_loss(batch, sample)

    def _fused_loss(self, batch: Tensor, others: Tensor) -> Tensor:
        """The loss in one pass; no pair is kept."""
        train = self._train
        voting = torch.cat([batch, others])  # (M,)
        key_weights = self._key_weights(batch, others)
        if train.weights is not None:
            key_weights = key_weights * train.weights[voting]
        assert self._vote_loss is not None
        return fused_loss(
            self._embed(voting),
            self.module.temperature,
            Batch(
                n_queries=len(batch),
                values=train.labels[voting],
                targets=self._smooth(train.labels[batch]),
                key_weights=key_weights,
                query_weights=None if train.weights is None else train.weights[batch],
            ),
            geometry=GEOMETRIES[DISTANCES[self._config.distance]],
            vote_loss=self._vote_loss,
        )

    def _key_weights(self, batch: Tensor, others: Tensor) -> Tensor:
        """1 for rows that vote, 0 for others that are in the batch as well: (M,).

        A row never votes on itself, wherever and however often it was drawn: in the
        batch it is masked for itself, a second copy is masked for all.
        """
        # PAPER: the public code masks the diagonal of the batch only.
        # index_fill_, not an assignment, which would copy its scalar from the CPU.
        self._in_batch.index_fill_(0, batch, True)
        copies = self._in_batch[others]
        self._in_batch.index_fill_(0, batch, False)
        weights = self._train.labels.new_ones(len(batch) + len(others))
        weights[len(batch) :].masked_fill_(copies, 0.0)
        return weights

    def _plain_loss(self, batch: Tensor, sample: Sample) -> Tensor:
        """The loss for any distance, kernel and loss; pairs are kept."""
        train = self._train
        voting = torch.cat([batch, sample.others])  # (M,)
        points = self._embed(voting)  # (M, D)
        copies = self._key_weights(batch, sample.others) == 0
        mask = (batch[:, None] == voting) | copies  # (B, M)
        if sample.mask is not None:
            mask = mask | sample.mask
        weights = None if train.weights is None else train.weights[batch]
        origin = self._origin
        if origin is not None:
            more, alone = extend_mask(mask, origin.take(batch), origin.take(voting))
            assert more is not None
            assert alone is not None
            mask = more
            # A row without an earlier one, or one of another group, has nothing to
            # learn from.
            counted = (~alone).to(points.dtype)
            weights = counted if weights is None else weights * counted
        log_weights = train.log_weights
        assert isinstance(self.module, Network)
        rule = self._config.training_rule(self.module)
        scores = rule.scores(
            rule.distance(points[: len(batch)], points),
            None if log_weights is None else log_weights[voting],
            mask,
        )
        log_shares = scores.log_softmax(1)  # (B, M)
        values, targets = train.labels[voting], self._smooth(train.labels[batch])
        if self._share_loss is not None:
            losses = self._share_loss(log_shares, values, targets)
        else:
            assert self._vote_loss is not None
            losses = self._vote_loss(log_shares.exp() @ values, targets)
        if weights is None:
            return losses.mean()
        return (losses * weights).sum() / weights.sum().clamp_min(1e-30)

    def _embed(self, index: Tensor) -> Tensor:
        """Embed training rows (M,), with a gradient: (M, D), or (G, M, D)."""
        # PAPER: the public code passes the batch and the sampled rows through BatchNorm
        # one after the other, so that one row has two embeddings and the running
        # statistics move twice a step. We pass them together: one row, one embedding.
        # Measured (benchmarks/batchnorm.py, one block, 10 tables, 3 seeds): the error
        # is 0.987 of that of two passes, 95 % interval 0.973 to 0.9996, 7 better.
        rows = self._train.rows
        if self._knots is None:
            return self.module(rows.take(index))
        rows = rows._replace(numbers=rows.numbers[:, :0]).take(index)
        table = self.module.knot_table(self._knots)
        # Bags hold the cells of all rows, so a few rows do better without.
        if self._bags is not None and 8 * len(index) > self.n_rows:
            summed = sum_cells(table, self._cells, self._bags, index)
        else:
            summed = self._cells.take(index).look_up(table)
        return self.module.forward_cells(summed, rows)

    def validate(self) -> tuple[float, float]:
        """A score (higher is better) and a loss of the validation rows' predictions."""
        train, valid = self._train, self._valid
        assert isinstance(self.module, Network)
        keys = self._embed_train()
        rule = self._config.prediction_rule(self.module)
        geometry = geometry_of(rule)
        assert self._evaluate is not None
        if valid is None:
            own = torch.arange(len(keys), device=keys.device)
            query, origin = keys, train.rows.origin
        else:
            own, origin = None, valid.rows.origin
            query = self._embed_all(valid, lambda: self._valid_cells)
        with torch.no_grad():
            if geometry is not None and own is None:
                prepared = prepare_keys(keys, train.values, geometry, train.log_weights)
                votes = stream_vote(
                    query,
                    prepared,
                    temperature=rule.temperature,
                    query_origin=origin,
                    key_origin=train.rows.origin,
                    exact=False,
                )
            else:
                votes = vote_in_chunks(
                    query,
                    keys,
                    train.values,
                    rule=rule,
                    log_weights=train.log_weights,
                    own=own,
                    query_origin=origin,
                    key_origin=train.rows.origin,
                )
        return self._evaluate(votes.mean.double().cpu().numpy())

    def _embed_train(self) -> Tensor:
        return self._embed_all(self._train, lambda: self._cells)

    def _embed_all(self, examples: Examples, cells: Callable[[], Cells]) -> Tensor:
        """Embed all rows of some examples, without a gradient: (N, D)."""
        assert isinstance(self.module, Network)
        if self._knots is None:
            return embed_rows(self.module, examples.rows)
        return embed_cells(self.module, examples.rows, self._knots, cells())

    def _smooth(self, targets: Tensor) -> Tensor:
        """Give a small part of each one-hot target to all classes equally."""
        smoothing = self._config.label_smoothing
        if smoothing == 0:
            return targets
        return targets * (1 - smoothing) + smoothing / targets.shape[1]

    def _distances(self, batch: Tensor) -> Tensor:
        """Distances (B, N) of the rows in `batch` to all rows."""
        points = self._embed_train()
        with torch.no_grad():
            return DISTANCES[self._config.distance](points[batch], points)
