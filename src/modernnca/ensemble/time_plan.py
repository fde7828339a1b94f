"""Plan a fit within its time limit, by costs that are measured on few rows first.

A limit that binds must not change what kind of model is fitted: time is kept for all
that follows training (weights of members, calibration, baseline check, fine-tuning, the
memory). Where the time is too short for all networks, fewer are trained; where it is
too short for one, it learns from a sample of the rows.
"""

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from modernnca.ensemble.baselines import KNNMember, default_baselines
from modernnca.ensemble.costs import RESERVED, Costs, finetuning_ratio
from modernnca.ensemble.forest_member import shared_forest
from modernnca.ensemble.joint_training import forkable
from modernnca.ensemble.member import Member
from modernnca.ensemble.preparation import Part
from modernnca.ensemble.run import Run
from modernnca.ensemble.side_by_side import n_at_once, side_by_side
from modernnca.table.evaluation import Evaluator
from modernnca.table.split import hold_out
from modernnca.table.targets import ClassificationTarget

_N_REHEARSED, _N_ASKED = 2048, 256  # training and validation rows of the rehearsal
_SHARE_REHEARSED = 0.05  # of the time; members that were not rehearsed cost as others
_MIN_ROWS, _MIN_BATCHES = 1000, 8  # of a sample
_MARGIN = 1.2  # what is measured on few rows, in a process that is warm, is too little


class Planned(NamedTuple):
    """What there is time for."""

    members: list[Member]
    train: Part
    valid: Part | None
    run: Run


@dataclass(frozen=True)
class Work:
    """How much a fit has to do."""

    n_train: int
    n_valid: int
    n_members: int
    n_together: int  # members that are trained at once
    batch_size: int
    finetuning: float = 0.0  # how long fine-tuning takes, of the time of training

    def scaled(self, share: float) -> "Work":
        """The work with a share of the rows; fewer rows have smaller batches."""
        n_train, n_valid = round(share * self.n_train), round(share * self.n_valid)
        size = max(1, min(self.batch_size, n_train // _MIN_BATCHES))
        return replace(self, n_train=n_train, n_valid=n_valid, batch_size=size)

    def seconds(self, costs: Costs) -> float:
        """What the least useful fit costs.

        >>> work = Work(800, 200, n_members=4, n_together=2, batch_size=10)
        >>> round(work.seconds(Costs(epoch=0.01, embed=0.001)), 1)
        58.8
        """
        n_train, n_valid = self.n_train, self.n_valid
        each = costs.training(n_train, n_valid, self.batch_size)
        each *= 1 + self.finetuning * (1 + n_valid / n_train)
        each += costs.cooling(n_train, n_valid)
        n_rounds = math.ceil(self.n_members / self.n_together)
        settling = self.n_members * costs.settling(n_train, n_valid)
        return n_rounds * each + settling + costs.baseline(n_train, n_valid)


def within_time(
    prototypes: Sequence[Member], train: Part, valid: Part | None, run: Run
) -> Planned:
    """What there is time for, of the members and of the rows: mostly everything."""
    whole = Planned(list(prototypes), train, valid, run)
    trained = [each for each in prototypes if not each.auxiliary]
    unlimited = math.isinf(run.budget.end) or not trained
    if unlimited or run.budget.exhausted() is not None:
        return whole
    costs = _rehearse(trained, train, valid, run)
    run = run.but(costs=costs)
    n_together = n_at_once(len(trained), run.device)
    n_valid = 0 if valid is None else len(valid.raw)
    finetuning = 0.0 if valid is None else _finetuning(train, run)
    size = run.config.batch_size
    work = Work(len(train.raw), n_valid, len(trained), n_together, size, finetuning)
    seconds = run.budget.left() / (2 if run.config.refit == "full" and valid else 1)
    n_members, share = _affordable(work, costs, seconds)
    run = run.but(n_planned=n_members)
    if share == 1 or run.checkpoint_dir is not None:  # which has to see the same rows
        return whole._replace(run=run)
    n_rows, work = len(train.raw) + n_valid, work.scaled(share)
    train, valid = _sample(train, share, run), valid and _sample(valid, share, run)
    n_kept = len(train.raw) + (0 if valid is None else len(valid.raw))
    run.leave_out(f"{n_rows - n_kept:,} of {n_rows:,} rows")
    run = run.but(config=run.config.updated({"batch_size": work.batch_size}))
    return Planned(whole.members, train, valid, run)


def _finetuning(train: Part, run: Run) -> float:
    """How long fine-tuning takes, of the time of training."""
    config = run.config
    if not config.finetune or config.refit != "remember":
        return 0.0
    return RESERVED * config.finetune * finetuning_ratio(config, train.encoded)


def _affordable(work: Work, costs: Costs, seconds: float) -> tuple[int, float]:
    """How many members, and which share of the rows, there is time for."""
    for n_members in range(work.n_members, 0, -1):
        fewer = replace(work, n_members=n_members)
        if fewer.seconds(costs) <= seconds:
            return n_members, 1.0
    least = min(1.0, _MIN_ROWS / (work.n_train + work.n_valid))
    shares = np.geomspace(1.0, least, 50)
    enough = (s for s in shares if fewer.scaled(s).seconds(costs) <= seconds)
    return 1, float(next(enough, least))


def _sample(part: Part, share: float, run: Run) -> Part:
    """A share of the rows, of which each class keeps some."""
    evaluate, codes = run.evaluate, None
    assert isinstance(evaluate, Evaluator)
    if isinstance(evaluate.target, ClassificationTarget):
        codes = evaluate.target.encode(part.raw.y)
    rng = np.random.RandomState(run.seeds[0])
    fraction = 1 - share
    kept, _ = hold_out(len(part.raw), fraction=fraction, rng=rng, classes=codes)
    return part.take(kept)


def _rehearse(
    members: Sequence[Member], train: Part, valid: Part | None, run: Run
) -> Costs:
    """The mean costs of the members, on few rows, as many at once as later."""
    some = train.sample(_N_REHEARSED, run.seeds[0])
    asked = None if valid is None else valid.sample(_N_ASKED, run.seeds[0])
    assert isinstance(run.evaluate, Evaluator)
    validated = (asked or some).raw
    alone = run.but(
        evaluate=run.evaluate.of(validated.y, validated.weights),
        n_steps=1,
        callbacks=(),
        checkpoint_dir=None,
        verbose=False,
    )
    if run.config.column_scales == "importance":
        shared_forest(train.encoded, run)  # of all rows, as the members need it later
    found: list[Costs] = []
    end = time.monotonic() + _SHARE_REHEARSED * run.budget.left()
    n_together = n_at_once(len(members), run.device)
    for first in range(0, len(members), n_together):
        if first and time.monotonic() > end:
            break
        some_members = members[first : first + n_together]
        tasks = [partial(_costs, member, some, asked, alone) for member in some_members]
        forks = forkable([[member] for member in some_members], alone)
        found += side_by_side(tasks, run.device, run.budget, forkable=forks)
    mean = _MARGIN * np.array([astuple(costs) for costs in found]).mean(0)
    baselines = default_baselines(run.shape, len(train.raw))
    checked = run.config.baseline_check and isinstance(baselines[0], KNNMember)
    knn = _seconds_of_knn(some, asked, alone) if checked else 0.0
    return replace(Costs(*mean.tolist()), knn=_MARGIN * knn)


def _costs(prototype: Member, train: Part, asked: Part | None, run: Run) -> Costs:
    """What a member costs for each row, and for each pair of rows that vote."""
    member, rows = copy.deepcopy(prototype), train.encoded
    valid = None if asked is None else asked.encoded
    query = rows if valid is None else valid
    began = time.monotonic()
    history = member.fit(rows, valid, run)
    fitting = _since(began, run.device)
    epoch = history.epochs[-1].seconds if history.epochs else 0.0
    remember = _timed(lambda: member.remember(rows), run.device)
    vote = _timed(lambda: member.vote(query.rows), run.device)
    vote -= remember * query.n_rows / rows.n_rows
    return Costs(
        start=(fitting - epoch) / rows.n_rows,
        epoch=epoch / rows.n_rows,
        embed=remember / rows.n_rows,
        pair=max(0.0, vote) / (rows.n_rows * query.n_rows),
    )


def _seconds_of_knn(train: Part, asked: Part | None, run: Run) -> float:
    """The seconds of a pair of rows in plain k-NN."""
    rows = train.encoded.without_time()
    query = (asked or train).encoded.rows.without_time().take(slice(_N_ASKED))
    member = KNNMember()
    member.fit(rows, None, run)
    member.remember(rows)
    return _timed(lambda: member.vote(query), run.device) / (rows.n_rows * query.n_rows)


def _timed(work: Callable[[], object], device: torch.device) -> float:
    began = time.monotonic()
    with torch.inference_mode():
        work()
    return _since(began, device)


def _since(began: float, device: torch.device) -> float:
    """The seconds since then, with what the device has still to do."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.monotonic() - began
