"""A network as a member: it learns an embedding, in which remembered rows vote."""

import copy
import math
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from modernnca._declared import finite, flag, real, whole
from modernnca.core.network import InputShape, Network, embed_rows
from modernnca.core.rows import Examples, Rows
from modernnca.core.softnn import Rule
from modernnca.core.weight_files import build_within, check_weights
from modernnca.ensemble.checkpoint import Checkpoint, fingerprint
from modernnca.ensemble.cooling import (
    fit_cooling,
    n_cooling_queries,
    rescaled_cooling,
    votes_at_factors,
)
from modernnca.ensemble.embedding_member import EmbeddingMember
from modernnca.ensemble.ensemble_config import EnsembleConfig
from modernnca.ensemble.forest_member import shared_forest
from modernnca.ensemble.learner import MethodConfig, NeighborLearner
from modernnca.ensemble.member import Remembered, State
from modernnca.ensemble.progress import progress
from modernnca.ensemble.run import Run
from modernnca.table.evaluation import Evaluator
from modernnca.table.trees import importance_scales
from modernnca.train.generators import Generators
from modernnca.train.loop import History, train

MIN_FINETUNING = 2  # epochs
_TEMPERATURES = (1e-12, 1e12)  # that a file may declare
_FINAL_RATE = 0.05  # of the learning rate, at the end of fine-tuning
_FINETUNING_RATE = 0.5  # of the learning rate, after a schedule that ended at a low one


class NetworkMember(EmbeddingMember):
    """A network with the options of the ensemble, or some of its own.

    Args:
        depth: multiplies the number of blocks.
        frequency: multiplies the scale of the initial frequencies.
        options: of `ModernNCAConfig`, instead of those of the ensemble.

    >>> NetworkMember(numeric_transform="quantile", depth=2)
    NetworkMember(depth=2, numeric_transform='quantile')
    """

    kind = "network"
    config_: EnsembleConfig
    cooling_: float = 1.0  # the factor of the temperature in prediction
    valid_loss_: float = math.nan  # at that temperature

    def __init__(
        self, *, depth: float = 1, frequency: float = 1, **options: Any
    ) -> None:
        self.depth, self.frequency, self.options = depth, frequency, options

    def __repr__(self) -> str:
        own = {"depth": self.depth, "frequency": self.frequency}
        given = {name: value for name, value in own.items() if value != 1}
        pairs = {**given, **self.options}.items()
        return f"NetworkMember({', '.join(f'{name}={v!r}' for name, v in pairs)})"

    def configure(self, config: EnsembleConfig) -> EnsembleConfig:
        """The options of this member."""
        own = config.updated(
            {
                "n_blocks": round(self.depth * config.n_blocks),
                "frequency_scale": self.frequency * config.frequency_scale,
                **self.options,
            }
        )
        own.check()
        return own

    def fit(self, train: Examples, valid: Examples | None, run: Run) -> History:
        """Train a network; with a finite patience, the validation rows can stop it."""
        generators = self.start(train, run)
        self.history_ = self._train(train, valid, self.config_, run, generators)
        self.settle(train, valid, run)
        return self.history_

    def start(self, train: Examples, run: Run) -> Generators:
        """Make the network that is to be trained; returns its random generators."""
        config, generators = self.configure(run.config), run.generators()
        network = Network(config, run.shape, generators.module).to(run.device)
        network.prepare(train.rows.numbers)
        if config.column_scales == "importance":
            scales = importance_scales(shared_forest(train, run))
            of_columns = torch.from_numpy(scales).to(train.values)
            network.init_scales(of_columns, train.rows.codes)
        if run.n_steps is not None:
            n_epochs = max(1, round(run.n_steps / config.n_batches(train.n_rows)))
            config = config.updated({"max_epochs": n_epochs})
        self.network_, self.config_ = network, config
        return generators

    def settle(self, train: Examples, valid: Examples | None, run: Run) -> None:
        """Learn from the validation rows what the trained network is to do."""
        config = self.config_
        self.n_steps_ = self.history_.best_epoch * config.n_batches(train.n_rows)
        learned = self.history_.best_epoch > 0 and config.cooling
        if learned and valid is not None and isinstance(run.evaluate, Evaluator):
            found = self._fit_cooling(train, valid, run.evaluate)
            self.cooling_, self.valid_loss_ = found

    def _fit_cooling(
        self, train: Examples, valid: Examples, evaluate: Evaluator
    ) -> tuple[float, float]:
        """Find the temperature for a memory of all training rows."""
        n_asked = min(valid.n_rows, n_cooling_queries(train.n_rows))
        some = np.arange(0, valid.n_rows, -(-valid.n_rows // n_asked))
        query = valid.take(torch.from_numpy(some).to(valid.values.device)).rows
        with torch.no_grad():
            votes = votes_at_factors(
                self.embed(query),
                self.embed(train.rows),
                train,
                self.config_.prediction_rule(self.network_),
                query.origin,
            )
        return fit_cooling(votes, evaluate.take(some))

    def finetune(self, rows: Examples, run: Run) -> None:
        """Learn on from all rows, at a falling rate, for a share of the epochs."""
        if self.history_.ended == "callback":  # it was told to stop
            return
        config = self.finetuning_config(rows, run)
        start = copy.deepcopy(self.network_.state_dict())
        run = run.but(evaluate=None, stage="finetune")
        history = self._train(rows, None, config, run, run.generators())
        if history.best_epoch:
            self.settle_finetuned(rows, config)
        else:  # there was no time for one
            self.network_.load_state_dict(start)

    def finetuning_config(self, rows: Examples, run: Run) -> EnsembleConfig:
        """The options of fine-tuning.

        More rows vote than before, as they do in prediction: where rows lie dense, the
        last details are learned only so (docs/performance.md).
        """
        config = self.configure(run.config)
        n_epochs = round(config.finetune * self.history_.best_epoch)
        n_sampled = config.finetune_max_sampled
        if self.config_.sampler == "random":  # maybe more, where rows lie dense
            n_sampled = max(n_sampled, self.config_.max_sampled)
        changes: dict[str, Any] = {
            "max_epochs": max(n_epochs, MIN_FINETUNING),
            "final_rate": _FINAL_RATE,
            "max_sampled": n_sampled,
            "batch_size": max(32, min(config.finetune_batch_size, rows.n_rows // 8)),
        }
        if config.final_rate < 1:  # it ended at a low rate
            changes["learning_rate"] = _FINETUNING_RATE * config.learning_rate
        if config.sampler == "batch":
            changes["sampler"] = "random"
        return config.updated(changes)

    def settle_finetuned(self, rows: Examples, config: EnsembleConfig) -> None:
        """Adjust what was learned from validation rows before fine-tuning."""
        before = self.config_.n_voters(rows)
        self.cooling_ = rescaled_cooling(
            self.cooling_, rows.n_rows, before, config.n_voters(rows)
        )

    def _train(
        self,
        rows: Examples,
        valid: Examples | None,
        config: EnsembleConfig,
        run: Run,
        generators: Generators,
    ) -> History:
        """Train the network; where an earlier fit was interrupted, resume it."""
        network = self.network_.requires_grad_(True)
        network.draw_dropout_from(generators.device)
        # A fixed schedule needs no validation, except for callbacks to see.
        seen = math.isfinite(config.patience) or bool(run.callbacks)
        evaluate = run.evaluate if seen else None
        learner = NeighborLearner(
            network,
            rows,
            valid,
            config=config,
            evaluate=evaluate,
            generators=generators,
        )
        resume, keep = None, None
        if run.checkpoint_dir is not None:
            of = fingerprint(run.seed, config, rows, network)
            name = f"{run.stage}-{run.number}"
            checkpoint = Checkpoint(run.checkpoint_dir, name, of)
            # Other rows or options are another fit. Fine-tuning may begin with other
            # weights than before, and then starts over.
            resume = checkpoint.read(required=run.stage == "fit")
            keep = checkpoint.write
        title, metric = self._title(run), config.eval_metric
        with progress(title, config.max_epochs, metric, shown=run.verbose) as bar:
            history = train(
                learner,
                config,
                generators,
                validated=evaluate is not None,
                select=math.isfinite(config.patience),
                budget=run.budget,
                callbacks=[*bar, *run.callbacks],
                resume=resume,
                keep=keep,
            )
        network.draw_dropout_from(None)
        network.eval().requires_grad_(False)
        return history

    @staticmethod
    def _title(run: Run) -> str:
        if run.n_members == 1:
            return run.stage
        name = "network" if run.stage == "fit" else run.stage
        return f"{name} {run.number + 1} of {run.n_members}"

    def embed(self, rows: Rows) -> Tensor:
        """The embeddings of rows, (N, D)."""
        return embed_rows(self.network_, rows)

    def rule(self) -> Rule:
        """How distances become scores in prediction."""
        rule = self.config_.prediction_rule(self.network_)
        return rule._replace(temperature=rule.temperature * self.cooling_)

    def embedding_state(self) -> State:
        """The config and the weights."""
        config = {name: getattr(self.config_, name) for name in MethodConfig.names()}
        shape = list(self.network_.shape)
        return {
            "config": config,
            "shape": shape,
            "weights": self.network_.state_dict(),
            "cooling": self.cooling_,
        }

    @classmethod
    def from_embedding_state(
        cls, state: State, remembered: Remembered, device: torch.device
    ) -> Self:
        """Rebuild the network; it takes no memory that the file does not have."""
        new, config = cls(), MethodConfig(**state["config"])
        config.check()
        weights, shape = state["weights"], _input_shape(state["shape"])
        drawn = torch.Generator()  # not from the global one; the file has the weights
        network = build_within(lambda: Network(config, shape, drawn), weights)
        check_weights(network, weights)
        network.load_state_dict(weights, assign=True)
        new.network_ = network.to(device).eval().requires_grad_(False)
        new.config_ = EnsembleConfig(**state["config"])
        new.cooling_ = finite(state["cooling"], "cooling")
        low, high = _TEMPERATURES
        real(float(network.temperature) * new.cooling_, "the temperature", low, high)
        if state["keys"].shape[1:] != (network.config.dim,):
            raise ValueError(f"embeddings have the shape {tuple(state['keys'].shape)}.")
        return new

    def check(self, shape: InputShape, remembered: Remembered) -> None:
        """Raise unless it embeds rows of this shape."""
        if self.network_.shape != shape:
            raise ValueError(f"a network is for rows of {self.network_.shape}.")


def _input_shape(state: Any) -> InputShape:
    """The shape of a row, as a file declares it."""
    n_numbers, n_plain, n_levels, encode = state
    return InputShape(
        whole(n_numbers, "n_numbers"),
        whole(n_plain, "n_plain"),
        whole(n_levels, "n_levels"),
        flag(encode, "encode_numbers"),
    )
