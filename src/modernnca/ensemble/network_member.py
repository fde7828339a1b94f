"""A network as a member: it learns an embedding, in which remembered rows vote."""

import copy
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from modernnca.core.network import InputShape, Network, embed_rows
from modernnca.core.rows import Examples, Rows
from modernnca.core.softnn import Rule
from modernnca.ensemble.checkpoint import Checkpoint, fingerprint
from modernnca.ensemble.cooling import MAX_PAIRS, fit_cooling, rescaled_cooling
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
_FINAL_RATE = 0.05  # of the learning rate, at the end of fine-tuning


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
    config_: MethodConfig
    cooling_: float = 1.0  # the factor of the temperature in prediction

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
        """Train a network, stopping early by the validation rows."""
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
        self.history_ = self._train(train, valid, config, run, generators)
        self.n_steps_ = self.history_.best_epoch * config.n_batches(train.n_rows)
        learned = self.history_.best_epoch > 0 and config.cooling
        if learned and valid is not None and isinstance(run.evaluate, Evaluator):
            self.cooling_ = self._fit_cooling(train, valid, run.evaluate)
        return self.history_

    def _fit_cooling(
        self, train: Examples, valid: Examples, evaluate: Evaluator
    ) -> float:
        """Find the temperature for a memory of all training rows."""
        n_valid = min(valid.n_rows, max(1, MAX_PAIRS // train.n_rows))
        some = np.arange(0, valid.n_rows, -(-valid.n_rows // n_valid))
        query = valid.take(torch.from_numpy(some).to(valid.values.device)).rows
        keys, queries = self.embed(train.rows), self.embed(query)
        memory = self.memory_of(keys, Remembered.of(train))
        rule = memory.rule

        def votes_at(factor: float) -> np.ndarray:
            memory.rule = rule._replace(temperature=rule.temperature * factor)
            votes: Tensor = memory.vote(queries, query.time).mean
            return votes.double().cpu().numpy()

        return fit_cooling(votes_at, evaluate.take(some))

    def finetune(self, rows: Examples, run: Run) -> None:
        """Learn on from all rows, at a falling rate, for a share of the epochs."""
        if self.history_.ended == "callback":  # it was told to stop
            return
        config = self.configure(run.config)
        n_epochs = round(config.finetune * self.history_.best_epoch)
        changes: dict[str, Any] = {"max_epochs": max(n_epochs, MIN_FINETUNING)}
        config = config.updated({**changes, "final_rate": _FINAL_RATE})
        # More rows vote, as they do in prediction: where rows lie dense, the last
        # details are learned only so (docs/performance.md).
        before = config
        sampled: dict[str, Any] = {"max_sampled": config.finetune_max_sampled}
        if config.sampler == "batch":
            sampled["sampler"] = "random"
        config = config.updated(sampled)
        start = copy.deepcopy(self.network_.state_dict())
        run = run.but(evaluate=None, stage="finetune")
        history = self._train(rows, None, config, run, run.generators())
        if not history.best_epoch:  # there was no time for one
            self.network_.load_state_dict(start)
            return
        self.cooling_ = rescaled_cooling(
            self.cooling_, rows.n_rows, before.n_voters(rows), config.n_voters(rows)
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
        learner = NeighborLearner(
            network,
            rows,
            valid,
            config=config,
            evaluate=run.evaluate,
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
                validated=run.evaluate is not None,
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
        with torch.device("meta"):
            network = Network(config, InputShape(*state["shape"]))
        network.load_state_dict(state["weights"], assign=True)
        new.network_ = network.to(device).eval().requires_grad_(False)
        new.config_, new.cooling_ = config, float(state["cooling"])
        if state["keys"].shape[1:] != (network.config.dim,):
            raise ValueError(f"embeddings have the shape {tuple(state['keys'].shape)}.")
        return new
