"""A net behind the contract here: raw tables in, the one training loop inside."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss

from modernnca._named import named
from modernnca._tree_file import read_tree, with_arrays, write_tree
from modernnca.core.rows import Rows
from modernnca.core.transforms import TRANSFORMS
from modernnca.estimators.device import choose_device
from modernnca.lab.peers.card import Report
from modernnca.lab.peers.seeding import seeded
from modernnca.lab.peers.supervised import Examples, Supervised, answer_all
from modernnca.table.preprocessor import PreprocessingConfig, Preprocessor
from modernnca.table.schema import RawTable, read_table
from modernnca.table.split import hold_out
from modernnca.table.targets import ClassificationTarget, RegressionTarget
from modernnca.train.budget import Budget
from modernnca.train.generators import Generators
from modernnca.train.loop import Epoch, TrainingConfig, train

Build = Callable[..., nn.Module]


@dataclass(frozen=True)
class TableShape:
    """What a net must know of a table to be built for it.

    Codes of all columns share one space, 0 to n_levels - 1, and n_levels means "none of
    the known"; see `core.rows.Rows`.
    """

    n_numbers: int
    n_plain: int  # few-valued numbers and marks of gaps, used as they are
    levels: tuple[int, ...]  # of each column of codes
    d_out: int  # classes, or 1

    @property
    def n_levels(self) -> int:
        """Of all columns together."""
        return sum(self.levels)

    @property
    def d_flat(self) -> int:
        """The width of a row with its categories one-hot."""
        return self.n_numbers + self.n_plain + self.n_levels


# How networks are trained, as in the paper's benchmark.
# PAPER: stops by RMSE, where the benchmark stops by MAE: all are judged by RMSE.
TRAINING = TrainingConfig(
    optimizer="adamw",
    learning_rate=3e-4,
    weight_decay=2e-4,
    batch_size=1024,
    max_epochs=200,
    patience=20,
    tie_break="loss",
    weight_averaging=0.0,
)
# Other settings that are not the network's own.
_OTHER = {"numeric_transform": "standard", "time_limit": None, "device": None}
# Few numbers of a table are special to a network here, and categories may be rare.
COLUMNS = PreprocessingConfig.defaults().updated(
    {"max_plain_values": 0, "time_features": "column"}
)


class NetModel:
    """A net as an estimator.

    Args:
        name: of the peer, for files.
        build: `build(shape, **settings)` gives a module from `Rows` to (B, V) logits
            or (B, 1) numbers.
        phases: the learners, trained one after the other on the same module.
        settings: options of training, and what `build` takes.
    """

    def __init__(
        self,
        name: str,
        build: Build,
        phases: Sequence[type[Supervised]],
        task: str,
        seed: int,
        report: Report | None = None,
        **settings: Any,
    ) -> None:
        self.name, self.build, self.phases = name, build, tuple(phases)
        self.task, self.seed, self.report = task, seed, report
        names = TrainingConfig.names()
        self.training = TRAINING.updated(
            {name: value for name, value in settings.items() if name in names}
        )
        self.training.check()
        other = {**_OTHER, **{n: v for n, v in settings.items() if n in _OTHER}}
        self.numeric_transform = str(other["numeric_transform"])
        self.time_limit, self.device = other["time_limit"], other["device"]
        self.settings = {
            name: value
            for name, value in settings.items()
            if name not in names and name not in _OTHER
        }

    def fit(self, X: Any, y: Any, *, eval_set: Any = None) -> Self:
        """Learn from a raw table; stops by `eval_set`, or by a fifth of the rows."""
        budget = Budget(self.time_limit)
        table, self.target_ = read_table(X), self._new_target().fit(y)
        codes = self.target_.encode(y)
        if eval_set is None:
            rng = np.random.RandomState(self.seed)
            classes = None if self.task == "regression" else codes
            fit, stop = hold_out(len(codes), fraction=0.2, rng=rng, classes=classes)
            stop = stop if len(stop) else fit  # a tiny table is judged by itself
            parts = [(table.take(rows), codes[rows]) for rows in (fit, stop)]
        else:
            stop_codes = self.target_.encode(eval_set[1])
            parts = [(table, codes), (read_table(eval_set[0]), stop_codes)]
        self.table_ = Preprocessor(COLUMNS).fit(parts[0][0])
        self.device_ = choose_device(self.device)
        self.transform_ = self._new_transform()
        self.transform_.prepare(self._rows(parts[0][0], transform=False).numbers)
        learn, judge = (Examples(self._rows(t), self._y(c)) for t, c in parts)
        with seeded(self.seed, self.device_) as generator:
            self._learn(learn, judge, generator, budget)
        return self

    def _learn(
        self, fit: Examples, stop: Examples, generator: torch.Generator, budget: Budget
    ) -> None:
        self.shape_ = self._shape()
        self.module_ = self.build(self.shape_, **self.settings).to(self.device_)
        self.history_: list[Epoch] = []
        for i, phase in enumerate(self.phases):
            learner = phase(
                self.module_,
                fit,
                stop,
                criterion=_number_loss if self.task == "regression" else cross_entropy,
                judge=self._judge(stop.y),
                generator=generator,
            )
            history = train(
                learner,
                self.training,
                Generators(generator, generator, generator),
                budget=budget.part(i, len(self.phases)),
                callbacks=[self._tell] if i == len(self.phases) - 1 else [],
            )
            self.history_ += history.epochs
            self.module_ = learner.module

    def _tell(self, epoch: Epoch) -> None:
        if self.report is not None:
            self.report(epoch.epoch, epoch.score)

    @property
    def classes_(self) -> np.ndarray:
        """The classes, in the order of the columns of `predict_proba`."""
        return self.target_.classes_

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, (B, V)."""
        return self._answers(X).double().softmax(1).cpu().numpy()

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class, or the number, of each row."""
        answers = self._answers(X)
        if self.task == "regression":
            return self.target_.decode(answers.squeeze(1).cpu().numpy())
        return self.target_.decode(answers.argmax(1).cpu().numpy())

    def transform(self, X: Any) -> np.ndarray:
        """Embed rows (B, D), if the net has a space in which it looks for neighbors."""
        embed = getattr(self.module_, "embed", None)
        if embed is None:
            raise TypeError(f"The method {self.name!r} has no embedding to give.")
        self.module_.eval()
        with torch.inference_mode():
            return embed(self._rows(read_table(X))).cpu().numpy()

    def save(self, path: Any) -> None:
        """Write all that was learned to one file, in which nothing can be executed."""
        tree = {
            "peer": self.name,
            "task": self.task,
            "seed": self.seed,
            "settings": self._all_settings(),
            "table": self.table_.state(),
            "target": self.target_.state(),
            "transform": dict(self.transform_.state_dict()),
            "weights": dict(self.module_.state_dict()),
        }
        write_tree(path, tree)

    def load(self, path: Any) -> Self:
        """Read what `save` wrote into a model of the same peer."""
        return self.restore(read_tree(path))

    def restore(self, tree: dict[str, Any]) -> Self:
        """Become the model that was saved."""
        self.table_ = Preprocessor.from_state(with_arrays(tree["table"]))
        self.target_ = type(self._new_target()).from_state(tree["target"])
        self.device_ = choose_device(self.device)
        self.shape_ = self._shape()
        self.transform_ = self._new_transform()
        self.transform_.load_state_dict(tree["transform"])
        with seeded(self.seed):
            self.module_ = self.build(self.shape_, **self.settings).to(self.device_)
        _make_room(self.module_, tree["weights"])
        self.module_.load_state_dict(tree["weights"])
        return self

    def _answers(self, X: Any) -> Tensor:
        table = read_table(X)
        return answer_all(self.module_, self._rows(table), len(table))

    def _rows(self, table: RawTable, *, transform: bool = True) -> Rows:
        encoded = self.table_.transform(table)
        rows = Rows(*map(torch.from_numpy, encoded)).to(self.device_)
        if not transform:
            return rows
        return rows._replace(numbers=self.transform_(rows.numbers))

    def _new_transform(self) -> Any:
        kind = named("numeric_transform", self.numeric_transform, TRANSFORMS)
        return kind(self.table_.n_numbers).to(self.device_)

    def _all_settings(self) -> dict[str, Any]:
        other = {name: getattr(self, name) for name in _OTHER}
        return {**self.settings, **self.training.given(), **other}

    def _y(self, codes: np.ndarray) -> Tensor:
        dtype = torch.float32 if self.task == "regression" else torch.long
        return torch.as_tensor(codes, dtype=dtype).to(self.device_)

    def _new_target(self) -> Any:
        return (
            RegressionTarget() if self.task == "regression" else ClassificationTarget()
        )

    def _shape(self) -> TableShape:
        table = self.table_
        levels = [len(table.categorical_.levels_[i]) for i in table.categorical_.kept_]
        return TableShape(
            table.n_numbers, table.n_plain, tuple(levels), self.target_.n_values
        )

    def _judge(self, y: Tensor) -> Callable[[Tensor], tuple[float, float]]:
        def judge(answers: Tensor) -> tuple[float, float]:
            if self.task == "regression":
                error = _number_loss(answers, y).item()
                return -math.sqrt(error), error
            right = (answers.argmax(1) == y).float().mean().item()
            return right, cross_entropy(answers, y).item()

        return judge


def _number_loss(answers: Tensor, y: Tensor) -> Tensor:
    return mse_loss(answers.squeeze(-1), y)


def _make_room(module: nn.Module, weights: dict[str, Tensor]) -> None:
    """Let buffers that were learned (rows, prototypes) take the size they had."""
    for name, buffer in list(module.named_buffers()):
        if name in weights and buffer.shape != weights[name].shape:
            owner, _, own = name.rpartition(".")
            like = torch.empty_like(weights[name], device=buffer.device)
            module.get_submodule(owner).register_buffer(own, like)


def net_maker(
    name: str, build: Build, *phases: type[Supervised]
) -> Callable[..., NetModel]:
    """A `make` for the card of a net; without `phases`, the plain learner."""

    def make(
        task: str, seed: int, *, report: Report | None = None, **settings: Any
    ) -> NetModel:
        return NetModel(
            name, build, phases or (Supervised,), task, seed, report, **settings
        )

    return make
