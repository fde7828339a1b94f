"""The one training loop of the house, and the Learner it asks for."""

import copy
import math
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from modernnca._named import named
from modernnca.train.average import Average
from modernnca.train.optim import OPTIMIZERS
from modernnca.train.recorded import Recorded
from modernnca.train.stopping import Best


class Pace(NamedTuple):
    """What the rates of all parameters are multiplied by in one step."""

    rate: float = 1.0  # of learning
    decay: float = 1.0  # of weights


class Learner(Protocol):
    """What the loop asks of a method: the loss of a batch, and a judgement.

    One whose pace changes also has `pace(progress) -> Pace`: called before each step
    with the share of `max_epochs` that is done, it may as well change its dropout.
    One whose loss can be recorded (see train.recorded) says so by `recordable`.
    """

    n_rows: int

    @property
    def module(self) -> nn.Module:
        """What is trained."""

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of the rows numbered in `batch`, to be minimized."""

    def validate(self) -> tuple[float, float]:
        """A score (higher is better) and a loss (lower is better; it breaks ties)."""


@dataclass(frozen=True)
class Plan:
    """How to train. `deadline` is a time of `time.monotonic`."""

    optimizer: str = "adamw"
    learning_rate: float = 0.01
    weight_decay: float = 2e-4
    batch_size: int = 1024
    max_epochs: int = 200
    patience: int | None = 20
    ties: str = "loss"  # what tells equal scores apart: "loss", or "later" wins
    judged: bool = True  # False: no validation, the last weights stay
    averaging: float = 0.0  # over so many epochs are weights averaged; 0: not at all
    deadline: float = math.inf


class Epoch(NamedTuple):
    """What happened in one pass over the rows."""

    epoch: int
    train_loss: float
    score: float
    valid_loss: float
    best: bool
    seconds: float  # since training began
    member: int = 0  # which network, where there are several


class History(NamedTuple):
    """What happened in training, and why it ended."""

    epochs: list[Epoch]
    best_epoch: int  # 0: no epoch was judged, the weights are the last ones
    ended: str  # "patience", "max_epochs", "time_limit", "interrupted", ...


Callback = Callable[[Epoch], bool | None]


class Training:
    """A training under way, with all that must be kept to go on with it later."""

    def __init__(
        self, learner: Learner, plan: Plan, generator: torch.Generator
    ) -> None:
        self.learner, self.plan, self.generator = learner, plan, generator
        build = named("optimizer", plan.optimizer, OPTIMIZERS)
        self.optimizer = build(learner.module, plan.learning_rate, plan.weight_decay)
        self.rates = [
            (group["lr"], group.get("weight_decay", 0.0))
            for group in self.optimizer.param_groups
        ]
        self.best = Best(learner.module, ties=plan.ties)
        n_steps = math.ceil(learner.n_rows / plan.batch_size)
        self.average = (
            Average(learner.module, plan.averaging * n_steps)
            if plan.averaging
            else None
        )
        self.epochs: list[Epoch] = []
        self.device = next(learner.module.parameters()).device
        self.step: Callable[[Tensor], Tensor] = self._step
        steady = getattr(learner, "recordable", False) and not hasattr(learner, "pace")
        on_device = self.device.type == "cuda" and plan.optimizer.startswith("adamw")
        if steady and on_device:
            self.step = Recorded(self._step, self.optimizer)

    def run_epoch(self) -> float:
        """One pass over the rows in random order; the mean loss, NaN if time ran out.

        The clock is read after each step, so a step is the most that is overrun.
        """
        n_rows = self.learner.n_rows
        self.learner.module.train()
        order = torch.randperm(n_rows, generator=self.generator).to(self.device)
        total = torch.zeros((), device=self.device)
        batches = order.split(self.plan.batch_size)
        for place, batch in enumerate(batches):
            done = len(self.epochs) + place / len(batches)
            self._set_pace(done / self.plan.max_epochs)
            total += self.step(batch) * len(batch)
            if self.average is not None:
                self.average.see()
            if time.monotonic() >= self.plan.deadline:
                return math.nan
        return total.item() / n_rows

    def judge(self) -> tuple[tuple[float, float], bool]:
        """What the epoch's weights, or their mean, are worth, and if it is the best."""
        number, judged = len(self.epochs) + 1, self.plan.judged
        with nullcontext() if self.average is None else self.average.taken():
            # Unjudged, every epoch counts as better than the one before.
            verdict = self.learner.validate() if judged else (float(number), 0.0)
            is_best = self.best.see(number, verdict)
        return verdict if judged else (math.nan, math.nan), is_best

    def _set_pace(self, progress: float) -> None:
        if not hasattr(self.learner, "pace"):
            return
        pace: Pace = self.learner.pace(progress)
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
        return torch.as_tensor(self.optimizer.step(closure)).detach()  # type: ignore[arg-type]

    def state(self) -> dict[str, Any]:
        """Everything that the next epoch depends on; it moves on, so keep a copy."""
        state = {
            "module": self.learner.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "best": self.best.state(),
            "epochs": [list(epoch) for epoch in self.epochs],
            "generator": self.generator.get_state(),
            "torch": torch.get_rng_state(),
        }
        if self.average is not None:
            state["average"] = self.average.state()
        if self.device.type == "cuda":
            state["cuda"] = torch.cuda.get_rng_state(self.device)
        return state

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on as if never interrupted."""
        self.learner.module.load_state_dict(state["module"])
        # torch keeps the very tensors it is given: copied, the state can serve again.
        self.optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))
        self.best.load_state(state["best"])
        if self.average is not None:
            self.average.load_state(state["average"])
        self.epochs = [Epoch(*epoch) for epoch in state["epochs"]]
        self.generator.set_state(state["generator"])
        torch.set_rng_state(state["torch"])
        if self.device.type == "cuda" and "cuda" in state:
            torch.cuda.set_rng_state(state["cuda"], self.device)


def train(
    learner: Learner,
    plan: Plan,
    generator: torch.Generator,
    *,
    callbacks: Iterable[Callback] = (),
    resume: dict[str, Any] | None = None,
    keep: Callable[[dict[str, Any]], None] | None = None,
) -> History:
    """Train until nothing improves, and leave the best weights in `learner.module`.

    Args:
        callbacks: called with each `Epoch`; one that returns True ends the training.
        resume: what `keep` was given in an earlier run.
        keep: called with all the state after each epoch.

    An interruption from the keyboard ends the training, not the program: the best
    weights so far are kept, as at every other end.
    """
    training = Training(learner, plan, generator)
    if resume is not None:
        training.load_state(resume)
    try:
        ended = _run(training, tuple(callbacks), keep)
    except KeyboardInterrupt:
        ended = "interrupted"
    # Without a judged epoch the present weights are the best there are, unless they are
    # broken: then the first ones are better than none.
    if training.best.epoch or not _finite(learner.module):
        training.best.restore()
    return History(training.epochs, training.best.epoch, ended)


def _run(
    training: Training,
    callbacks: tuple[Callback, ...],
    keep: Callable[[dict[str, Any]], None] | None,
) -> str:
    """Epoch after epoch; the reason to end."""
    plan, best = training.plan, training.best
    spent = training.epochs[-1].seconds if training.epochs else 0.0
    begin = time.monotonic() - spent
    for number in range(len(training.epochs) + 1, plan.max_epochs + 1):
        if plan.patience is not None and best.n_since > plan.patience:
            return "patience"
        train_loss = training.run_epoch()
        if time.monotonic() >= plan.deadline:
            return "time_limit"
        if not math.isfinite(train_loss):
            return "diverged"
        (score, valid_loss), is_best = training.judge()
        seconds = time.monotonic() - begin
        epoch = Epoch(number, train_loss, score, valid_loss, is_best, seconds)
        training.epochs.append(epoch)
        if keep is not None:
            keep(training.state())
        asked = [callback(epoch) for callback in callbacks]  # every one is called
        if any(asked):
            return "callback"
    return "max_epochs"


def _finite(module: nn.Module) -> bool:
    return all(bool(p.isfinite().all()) for p in module.parameters())
