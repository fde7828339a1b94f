"""A network as a member: it learns an embedding, in which remembered rows vote."""

import copy
from typing import Any, Self

import torch
from torch import Tensor

from modernnca.core.network import InputShape, Network, embed_rows
from modernnca.core.rows import Examples, Rows
from modernnca.core.softnn import Rule
from modernnca.ensemble.checkpoint import Checkpoint, fingerprint
from modernnca.ensemble.embedding_member import EmbeddingMember
from modernnca.ensemble.ensemble_config import EnsembleConfig
from modernnca.ensemble.forest_member import shared_forest
from modernnca.ensemble.learner import MethodConfig, NeighborLearner
from modernnca.ensemble.member import Remembered, State
from modernnca.ensemble.progress import progress
from modernnca.ensemble.run import Run
from modernnca.table.trees import importance_scales
from modernnca.train.generators import Generators
from modernnca.train.loop import History, train

# Fine-tuning is not validated, so it is careful (see experiments/).
_FINETUNING_RATE = 0.3  # of the learning rate
_MIN_FINETUNING, _FINETUNING_AVERAGE = 2, 2.0  # epochs
# With few rows a network soon learns their noise: fine-tune for a shorter time.
FEW_ROWS, _MIN_SHARE = 3000, 1 / 3
# Below so many rows a network without a block learns from half the batch: it needs more
# steps, and its steps cost less.
_HALF_BATCH_ROWS = 32_000


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

    def __init__(
        self, *, depth: float = 1, frequency: float = 1, **options: Any
    ) -> None:
        self.depth, self.frequency, self.options = depth, frequency, options

    def __repr__(self) -> str:
        own = {"depth": self.depth, "frequency": self.frequency}
        given = {name: value for name, value in own.items() if value != 1}
        pairs = {**given, **self.options}.items()
        return f"NetworkMember({', '.join(f'{name}={v!r}' for name, v in pairs)})"

    def configure(self, config: EnsembleConfig, n_rows: int) -> EnsembleConfig:
        """The options of this member when it learns from so many rows."""
        own = config.updated(
            {
                "n_blocks": round(self.depth * config.n_blocks),
                "frequency_scale": self.frequency * config.frequency_scale,
                **self.options,
            }
        )
        bare = own.n_blocks == 0 < config.n_blocks and n_rows < _HALF_BATCH_ROWS
        if bare and "batch_size" not in self.options and own.optimizer != "lbfgs":
            own = own.updated({"batch_size": max(1, own.batch_size // 2)})
        own.check()
        return own

    def fit(self, train: Examples, valid: Examples | None, run: Run) -> History:
        """Train a network, stopping early by the validation rows."""
        config, generators = self.configure(run.config, train.n_rows), run.generators()
        network = Network(config, run.shape, generators.module).to(run.device)
        network.prepare(train.rows.numbers)
        if config.column_scales == "importance":
            scales = importance_scales(shared_forest(train, run))
            of_columns = torch.from_numpy(scales).to(train.values)
            network.init_scales(of_columns, train.rows.codes)
        if run.n_steps is not None:
            steps = -(-train.n_rows // config.batch_size)  # of an epoch
            n_epochs = max(1, round(run.n_steps / steps))
            config = config.updated({"max_epochs": n_epochs})
        self.network_, self.config_ = network, config
        self.history_ = self._train(train, valid, config, run, generators)
        self.n_steps_ = self.history_.best_epoch * -(-train.n_rows // config.batch_size)
        return self.history_

    def finetune(self, rows: Examples, run: Run) -> None:
        """Learn on from all rows, at a lower rate, for a share of the epochs."""
        if self.history_.ended == "callback":  # it was told to stop
            return
        config = self.configure(run.config, rows.n_rows)
        share = min(1.0, max(_MIN_SHARE, rows.n_rows / FEW_ROWS)) * config.finetune
        n_epochs = max(round(share * self.history_.best_epoch), _MIN_FINETUNING)
        config = config.updated(
            {
                "max_epochs": n_epochs,
                "learning_rate": config.learning_rate * _FINETUNING_RATE,
                "weight_averaging": config.weight_averaging or _FINETUNING_AVERAGE,
            }
        )
        start = copy.deepcopy(self.network_.state_dict())
        run = run.but(evaluate=None, stage="finetune")
        history = self._train(rows, None, config, run, run.generators())
        if not history.best_epoch:  # there was no time for one
            self.network_.load_state_dict(start)

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
        return self.config_.prediction_rule(self.network_)

    def embedding_state(self) -> State:
        """The config and the weights."""
        config = {name: getattr(self.config_, name) for name in MethodConfig.names()}
        shape = list(self.network_.shape)
        return {"config": config, "shape": shape, "weights": self.network_.state_dict()}

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
        new.config_ = config
        if state["keys"].shape[1:] != (network.config.dim,):
            raise ValueError(f"embeddings have the shape {tuple(state['keys'].shape)}.")
        return new
