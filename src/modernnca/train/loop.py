"""The one training loop, and the Learner that it trains."""

import copy
import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from modernnca._config import (
    COUNT,
    FLAG,
    FRACTION,
    POSITIVE,
    Config,
    Number,
    OneOf,
    option,
)
from modernnca._named import named
from modernnca.train.adamw import AdamW
from modernnca.train.best_weights import BestWeights
from modernnca.train.budget import Budget
from modernnca.train.cuda_graph import CapturedStep
from modernnca.train.generators import Generators
from modernnca.train.optimizers import OPTIMIZERS
from modernnca.train.weight_averaging import AveragedWeights

TIE_BREAKS = ("loss", "later")
_BEHIND = 0.02  # of a schedule that a time limit shortens


class Pace(NamedTuple):
    """What the rates of all parameters are multiplied by in one step."""

    rate: float = 1.0  # of learning
    decay: float = 1.0  # of weights


class Learner(Protocol):
    """What the loop needs of a method: the loss of a batch, and a validation.

    A learner with a schedule also has `pace(progress) -> Pace`: called before each step
    with the share of `max_epochs` that is done, it may as well change its dropout. One
    that chooses the order of the rows, `order(batch_size) -> Tensor`, is asked before
    each epoch. One whose loss can be captured as a CUDA graph (train.cuda_graph) has
    `capturable`.
    """

    n_rows: int

    @property
    def module(self) -> nn.Module:
        """What is trained."""

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of the rows numbered in `batch`, to be minimized."""

    def validate(self) -> tuple[float, float]:
        """A score (higher is better) and a loss (lower is better; it breaks ties)."""


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(Config):
    """How to train."""

    optimizer: str = option(
        "muon",
        OneOf(OPTIMIZERS),
        "The optimizer; muon: Muon for the matrices of blocks, AdamW for the rest.",
    )
    learning_rate: float = option(0.004, POSITIVE, "The learning rate.")
    weight_decay: float = option(2e-4, Number(0), "The weight decay.")
    batch_size: int = option(
        None, COUNT, "Rows in a step; None chooses by the number of rows."
    )
    max_epochs: int = option(
        None,
        COUNT,
        "The most epochs; None chooses by the number of rows, or 200 with a patience.",
    )
    patience: float = option(
        math.inf,
        Number(0, integer=True, also=(math.inf,)),
        "Epochs without a better score before training stops; inf trains for "
        "`max_epochs` and keeps the last weights.",
    )
    min_gain: float = option(
        0.003,
        FRACTION,
        "A better score counts for `patience` if score or loss gain this share of what "
        "is left to gain.",
    )
    final_rate: float = option(
        0.03,
        Number(0),
        "The learning rate changes linearly, over `max_epochs`, to this multiple.",
    )
    warmup: float = option(
        1.0, Number(0), "The learning rate grows from 0 in the first so many epochs."
    )
    drop_last: bool = option(
        True,
        FLAG,
        "Take batches of one size only, and leave out the few rows that remain (other "
        "ones in each epoch).",
    )
    # PAPER: the public code takes the later of equal epochs; so does preset="paper".
    tie_break: str = option(
        "loss",
        OneOf(TIE_BREAKS),
        'Of epochs with equal scores, the one with the lower "loss" is better, or the '
        '"later" one.',
    )
    weight_averaging: float = option(
        1.0,
        Number(0),
        "Evaluate and keep the moving average of the weights over so many epochs; 0 "
        "takes the weights of the last step.",
    )

    def rate_at(self, progress: float) -> float:
        """What the learning rate is multiplied by when this share of epochs is done.

        >>> options = {"max_epochs": 8, "warmup": 4, "final_rate": 0.5}
        >>> config = TrainingConfig.defaults().updated(options)
        >>> [config.rate_at(share) for share in (0, 0.25, 0.5, 1)]
        [0.0, 0.4375, 0.75, 0.5]
        """
        warm = progress * self.max_epochs / self.warmup if self.warmup else 1.0
        return min(1.0, warm) * (1 + progress * (self.final_rate - 1))

    def n_batches(self, n_rows: int) -> int:
        """How many steps an epoch of so many rows has."""
        if self.drop_last and n_rows > self.batch_size:
            return n_rows // self.batch_size
        return -(-n_rows // self.batch_size)

    def batches(self, order: Tensor) -> Sequence[Tensor]:
        """The batches of rows (N,) in this order.

        >>> config = TrainingConfig.defaults().updated({"batch_size": 4})
        >>> [len(batch) for batch in config.batches(torch.arange(11))]
        [5, 5]
        """
        if not self.drop_last:
            return order.split(self.batch_size)
        n_batches = self.n_batches(len(order))
        size = len(order) // n_batches
        return order[: size * n_batches].split(size)


class Epoch(NamedTuple):
    """What happened in one pass over the rows."""

    epoch: int
    train_loss: float
    score: float
    valid_loss: float
    best: bool
    seconds: float  # since training began
    member: int = 0  # which member of the ensemble


class History(NamedTuple):
    """What happened in training, and why it ended."""

    epochs: list[Epoch]
    best_epoch: int  # 0: no epoch has ended, the weights are the last ones
    ended: str  # "patience", "max_epochs", "time_limit", "interrupted", ...


Callback = Callable[[Epoch], bool | None]


class Training:
    """A training under way, with all that must be kept to resume it later."""

    def __init__(
        self,
        learner: Learner,
        config: TrainingConfig,
        generators: Generators,
        *,
        validated: bool = True,
        select: bool = True,
        budget: Budget | None = None,
    ) -> None:
        self.learner, self.config, self.generators = learner, config, generators
        self.validated, self.select = validated, validated and select
        self.budget, self.begin = budget or Budget(), time.monotonic()
        build = named("optimizer", config.optimizer, OPTIMIZERS)
        self.optimizer = build(
            learner.module, config.learning_rate, config.weight_decay
        )
        self.rates = [
            (group["lr"], group.get("weight_decay", 0.0))
            for group in self.optimizer.param_groups
        ]
        self.best = BestWeights(
            learner.module, tie_break=config.tie_break, min_gain=config.min_gain
        )
        self.average: AveragedWeights | None = None
        if config.weight_averaging:
            horizon = config.weight_averaging * config.n_batches(learner.n_rows)
            self.average = AveragedWeights(learner.module, horizon)
        self.epochs: list[Epoch] = []
        self.device = next(learner.module.parameters()).device
        self.step: Callable[[Tensor], Tensor] = self._step
        steady = getattr(learner, "capturable", False) and not hasattr(learner, "pace")
        if steady and self.device.type == "cuda" and isinstance(self.optimizer, AdamW):
            self.step = CapturedStep(self._step, self.optimizer, generators.device)

    def run_epoch(self) -> float:
        """One pass over the rows in random order; the mean loss, NaN if cut short.

        The budget is checked after each step, so it is overrun by one step at most.
        """
        order = self._order().to(self.device)
        self.learner.module.train()
        total = torch.zeros((), device=self.device)
        batches, n_learned = self.config.batches(order), 0
        for place, batch in enumerate(batches):
            done = len(self.epochs) + place / len(batches)
            self._set_pace(self._progress(done / self.config.max_epochs))
            total += self.step(batch) * len(batch)
            n_learned += len(batch)
            if self.budget.exhausted():
                return math.nan
        return total.item() / n_learned

    def _order(self) -> Tensor:
        if hasattr(self.learner, "order"):
            order: Tensor = self.learner.order(self.config.batch_size)
            return order
        return torch.randperm(self.learner.n_rows, generator=self.generators.rows)

    def evaluate(self) -> tuple[tuple[float, float], bool]:
        """The (score, loss) of the weights, or of their average; whether it is best."""
        number, validated = len(self.epochs) + 1, self.validated
        with nullcontext() if self.average is None else self.average.applied():
            result = self.learner.validate() if validated else (math.nan, math.nan)
            # Without selection, every epoch counts as better than the one before.
            is_best = self.best.update(
                number, result if self.select else (float(number), 0.0)
            )
        return result, is_best

    def _progress(self, done: float) -> float:
        """How far a schedule is: by steps, or by time if that is running out."""
        seconds = self.budget.end - self.begin
        if self.select or math.isinf(seconds) or seconds <= 0:
            return done
        spent = min(1.0, (time.monotonic() - self.begin) / seconds)
        return spent if spent > done + _BEHIND else done

    def _set_pace(self, progress: float) -> None:
        if hasattr(self.learner, "pace"):
            pace: Pace = self.learner.pace(progress)
        elif self.config.warmup or self.config.final_rate != 1:
            pace = Pace(self.config.rate_at(progress))
        else:
            return
        for group, (rate, decay) in zip(
            self.optimizer.param_groups, self.rates, strict=True
        ):
            group["lr"] = rate * pace.rate
            group["weight_decay"] = decay * pace.decay

    def _step(self, batch: Tensor) -> Tensor:
        def closure() -> Tensor:
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.learner.loss(batch)
            loss.backward()
            return loss

        # torch types step(closure) as float; every optimizer returns our tensor.
        loss = torch.as_tensor(self.optimizer.step(closure)).detach()  # type: ignore[arg-type]
        if self.average is not None:
            self.average.update()
        return loss

    def state(self) -> dict[str, Any]:
        """Everything that the next epoch depends on; it moves on, so keep a copy."""
        state = {
            "module": self.learner.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "best": self.best.state(),
            "epochs": [list(epoch) for epoch in self.epochs],
            "generators": self.generators.state(),
        }
        if self.average is not None:
            state["average"] = self.average.state()
        return state

    def load_state(self, state: dict[str, Any]) -> None:
        """Continue as if never interrupted."""
        self.learner.module.load_state_dict(state["module"])
        # torch keeps the very tensors it is given: copied, the state can be used again.
        self.optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))
        self.best.load_state(state["best"])
        if self.average is not None:
            self.average.load_state(state["average"])
        self.epochs = [Epoch(*epoch) for epoch in state["epochs"]]
        self.generators.load_state(state["generators"])


def train(
    learner: Learner,
    config: TrainingConfig,
    generators: Generators,
    *,
    validated: bool = True,
    select: bool = True,
    budget: Budget | None = None,
    callbacks: Iterable[Callback] = (),
    resume: dict[str, Any] | None = None,
    keep: Callable[[dict[str, Any]], None] | None = None,
) -> History:
    """Train until nothing improves, and leave the best weights in `learner.module`.

    Args:
        validated: False trains for `max_epochs` and keeps the last weights.
        select: False keeps the last weights, and does not stop early, all the same.
        budget: the time limit, and the interruption.
        callbacks: called with each `Epoch`; one that returns True ends the training.
        resume: what `keep` was given in an earlier run.
        keep: called with the whole state after each epoch.

    An interruption ends the training, not the program: the best weights so far are
    kept, as at every other end.
    """
    training = Training(
        learner, config, generators, validated=validated, select=select, budget=budget
    )
    if resume is not None:
        training.load_state(resume)
    try:
        ended = _run(training, tuple(callbacks), keep)
    except KeyboardInterrupt:
        if training.budget.interrupted:  # for the second time: give up
            raise
        training.budget.interrupt()
        ended = "interrupted"
    # Without a finished epoch the present weights are the best there are, unless they
    # are not finite: then the first ones are better.
    if training.best.epoch or not _finite(learner.module):
        training.best.restore()
    # A part of an epoch, cut by the time limit, counts with the one before.
    best_epoch = min(training.best.epoch, len(training.epochs))
    return History(training.epochs, best_epoch, ended)


def _run(
    training: Training,
    callbacks: tuple[Callback, ...],
    keep: Callable[[dict[str, Any]], None] | None,
) -> str:
    """Run epoch after epoch; return the reason to end."""
    config, best, budget = training.config, training.best, training.budget
    spent = training.epochs[-1].seconds if training.epochs else 0.0
    begin = time.monotonic() - spent
    for number in range(len(training.epochs) + 1, config.max_epochs + 1):
        if training.select and best.n_since > config.patience:
            return "patience"
        train_loss = training.run_epoch()
        if (reason := budget.exhausted()) is not None:
            if reason == "time_limit" and training.epochs and not training.select:
                training.evaluate()  # the schedule ended here: keep the last weights
            return reason
        # Without validation, no score tells of weights that are not finite.
        checked = training.select or _finite(training.learner.module)
        if not math.isfinite(train_loss) or not checked:
            return "diverged"
        (score, valid_loss), is_best = training.evaluate()
        seconds = time.monotonic() - begin
        epoch = Epoch(number, train_loss, score, valid_loss, is_best, seconds)
        training.epochs.append(epoch)
        if keep is not None:
            keep(training.state())
        answers = [callback(epoch) for callback in callbacks]  # every one is called
        if any(answers):
            return "callback"
    return "max_epochs"


def _finite(module: nn.Module) -> bool:
    return all(bool(p.isfinite().all()) for p in module.parameters())
