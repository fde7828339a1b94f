"""The steps of a fit: train members, combine them, check baselines, finish."""

import copy
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from modernnca.core.rows import Examples, concatenate
from modernnca.ensemble.baselines import default_baselines
from modernnca.ensemble.calibration import Calibration, fit_calibration
from modernnca.ensemble.combine import Combiner, fit_combiner
from modernnca.ensemble.ensemble import Ensemble
from modernnca.ensemble.joint_training import (
    finetune_together,
    fit_together,
    group_members,
)
from modernnca.ensemble.member import Member
from modernnca.ensemble.network_member import NetworkMember
from modernnca.ensemble.preparation import Part, Preparation, prepare
from modernnca.ensemble.run import Run
from modernnca.ensemble.side_by_side import n_at_once, one_at_a_time, side_by_side
from modernnca.table.evaluation import Evaluator, Result, better_result
from modernnca.table.raw_examples import RawExamples, concatenate_raw
from modernnca.table.targets import ClassificationTarget
from modernnca.train.loop import History

_MAX_COMBINED_ROWS = 2048  # enough to learn weights and a calibration
_MAX_BASELINE_ROWS = 2048  # enough to compare an ensemble with baselines


class Trained(NamedTuple):
    """A member before and after training."""

    prototype: Member
    member: Member
    history: History


class Combined(NamedTuple):
    """Members, and how their votes become predictions."""

    members: list[Trained]
    combine: Combiner
    calibration: Calibration = Calibration()
    baseline: str | None = None  # the kind of the baseline that votes instead


class Finished(NamedTuple):
    """What predicts in the end."""

    preparation: Preparation
    ensemble: Ensemble
    rows: RawExamples  # the remembered ones


def fit_members(
    prototypes: Sequence[Member], train: Part, valid: Part | None, run: Run
) -> list[Trained]:
    """Train a copy of each member; an interruption keeps those trained so far."""
    rows = _as_validated(train.encoded, run)
    valid_rows = None if valid is None else _as_validated(valid.encoded, run)
    if valid is not None and run.config.refit == "full":  # which takes as long again
        run = run.but(budget=run.budget.part(0, 2))
    run = run.but(callbacks=one_at_a_time(run.callbacks))
    groups = group_members(prototypes, run)
    runs = _runs_of_groups(groups, prototypes, run)

    def fit_group(turn: int) -> list[Trained]:
        kept = [prototypes[number] for number in groups[turn]]
        if turn and run.budget.interrupted and not kept[0].auxiliary:
            return []
        members = [copy.deepcopy(prototype) for prototype in kept]
        networks = [each for each in members if isinstance(each, NetworkMember)]
        if len(networks) > 1:
            histories = fit_together(networks, rows, valid_rows, runs[turn])
        else:
            histories = [members[0].fit(rows, valid_rows, runs[turn][0])]
        return list(map(Trained, kept, members, histories))

    tasks = [partial(fit_group, turn) for turn in range(len(groups))]
    found = side_by_side(tasks, run.device, stop=run.budget.interrupt)
    by_number = {
        number: each
        for numbers, group in zip(groups, found, strict=True)
        for number, each in zip(numbers, group, strict=False)
    }
    trained = [by_number[number] for number in sorted(by_number)]
    useful = [each for each in trained if not _learned_nothing(each.history)]
    return useful if any(not each.prototype.auxiliary for each in useful) else trained


def _runs_of_groups(
    groups: list[list[int]], members: Sequence[Member], run: Run
) -> list[list[Run]]:
    """The run as each member sees it; each group has an equal part of the time."""
    timed = [group for group in groups if not members[group[0]].auxiliary]
    n_together = n_at_once(len(timed), run.device)
    n_rounds = -(-max(1, len(timed)) // n_together)
    n_members = max(1, sum(not member.auxiliary for member in members))
    found = []
    for turn, group in enumerate(groups):
        budget = run.budget.part(min(turn // n_together, n_rounds - 1), n_rounds)
        part = run.but(budget=budget, n_members=n_members)
        found.append([part.but(number=number) for number in group])
    return found


def _learned_nothing(history: History) -> bool:
    """Whether training was stopped before its first epoch."""
    return not history.best_epoch and history.ended in ("interrupted", "time_limit")


def _as_validated(rows: Examples, run: Run) -> Examples:
    """The rows with their times only if later rows do not vote in validation."""
    masked = run.config.masks_future_in("validation")
    return rows if masked else rows.without_time()


def combine_members(
    trained: list[Trained], train: Part, valid: Part | None, run: Run
) -> Combined:
    """Learn from the validation rows how much each member counts.

    Where a baseline is better on these rows, it is taken instead.
    """
    config, evaluate = run.config, run.evaluate
    weighted = config.combine == "weighted"
    needed = weighted or config.calibrate or config.baseline_check
    if valid is None or not needed or run.budget.exhausted() == "time_limit":
        kept = [each for each in trained if not each.prototype.auxiliary] or trained
        return Combined(kept, Combiner.mean(len(kept)))
    assert isinstance(evaluate, Evaluator)
    valid = valid.sample(_MAX_COMBINED_ROWS, run.seeds[0])
    evaluate = evaluate.of(valid.raw.y, valid.raw.weights)
    rows, known = (_as_validated(part.encoded, run) for part in (train, valid))
    members = [each.member for each in trained]
    ensemble = Ensemble.remembering(members, Combiner.mean(len(members)), rows)
    votes = ensemble.votes(known.rows)  # (K, B, V)
    combine, classification = ensemble.combine, votes.shape[2] > 1
    if weighted:
        values = known.values.cpu().numpy()
        combine = fit_combiner(votes, values, classification=classification)
    combined, baseline = combine(votes), None
    if config.baseline_check:
        some = np.arange(0, len(combined), -(-len(combined) // _MAX_BASELINE_ROWS))
        few, best = evaluate.take(some), evaluate.take(some)(combined[some])
        asked = known.take(torch.from_numpy(some))
        found = _better_baseline(best, few, rows, asked, run)
        if found is not None:
            trained, baseline = [found.trained], found.trained.member.kind
            combine, combined, evaluate = Combiner.mean(1), found.votes, few
    calibration = Calibration()
    if config.calibrate and isinstance(evaluate.target, ClassificationTarget):
        codes = evaluate.target.encode(evaluate.y)
        calibration = fit_calibration(combined, codes, evaluate.weights)
    return Combined(trained, combine, calibration, baseline)


class _Baseline(NamedTuple):
    trained: Trained
    votes: np.ndarray  # (B, V) for the validation rows


def _better_baseline(
    best: Result, evaluate: Evaluator, train: Examples, valid: Examples, run: Run
) -> _Baseline | None:
    """The best baseline, if it is better than `best` on the validation rows."""
    found = None
    for prototype in default_baselines(run.shape, train.n_rows):
        member = copy.deepcopy(prototype)
        history = member.fit(train, valid, run)
        ensemble = Ensemble.remembering([member], Combiner.mean(1), train)
        votes = ensemble.vote(valid.rows)
        if better_result(result := evaluate(votes), best):
            best = result
            found = _Baseline(Trained(prototype, member, history), votes)
    return found


def finish(
    combined: Combined,
    train: Part,
    valid: Part | None,
    preparation: Preparation,
    run: Run,
) -> Finished:
    """Fine-tune on all rows, or retrain on them, and let them vote."""
    config, members = run.config, [each.member for each in combined.members]
    learn = combined.baseline is None and run.budget.exhausted() is None
    raw, rows = train
    if valid is not None and config.refit != "none":
        raw = concatenate_raw(raw, valid.raw, preparation.preprocessor.schema_)
        rows = concatenate(rows, valid.encoded)
        run = run.but(evaluate=None, budget=run.budget.rest())
        if config.refit == "full" and learn:
            refitted = _refit(combined, raw, run)
            if refitted is not None:
                return refitted
        elif config.finetune and learn:
            _finetune(members, _as_validated(rows, run), run)
    ensemble = Ensemble.remembering(members, combined.combine, rows)
    return Finished(preparation, ensemble, raw)


def _finetune(members: list[Member], rows: Examples, run: Run) -> None:
    """Fine-tune each member on all rows, until the user interrupts."""
    run = run.but(callbacks=one_at_a_time(run.callbacks))
    groups = group_members(members, run)
    runs = _runs_of_groups(groups, members, run)

    def finetune_group(turn: int) -> None:
        if run.budget.interrupted:
            return
        group = [members[number] for number in groups[turn]]
        networks = [each for each in group if isinstance(each, NetworkMember)]
        if len(networks) > 1:
            finetune_together(networks, rows, runs[turn])
        else:
            group[0].finetune(rows, runs[turn][0])

    tasks = [partial(finetune_group, turn) for turn in range(len(groups))]
    side_by_side(tasks, run.device, stop=run.budget.interrupt)


def _refit(combined: Combined, raw: RawExamples, run: Run) -> Finished | None:
    """Retrain everything on all rows, in as many steps as led to the best.

    None if that was cut short: then what was learned before is better.
    """
    preparation = prepare(raw, None, run.config, run.task, run.seeds[0])
    run = run.but(shape=preparation.shape, stage="refit", shared={})
    rows, members = preparation.part(raw, run.device).encoded, []
    for number, each in enumerate(combined.members):
        member = copy.deepcopy(each.prototype)
        part = run.for_member(number, len(combined.members))
        part = part.but(n_steps=each.member.n_steps_)
        history = member.fit(_as_validated(rows, run), None, part)
        if run.budget.interrupted or _learned_nothing(history):
            return None
        members.append(member)
    ensemble = Ensemble.remembering(members, combined.combine, rows)
    return Finished(preparation, ensemble, raw)
