"""The steps of a fit: train members, combine them, check baselines, finish."""

import copy
import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from modernnca.core.rows import Examples, concatenate
from modernnca.ensemble.baselines import (
    ConstantMember,
    default_baselines,
    gain_in_errors,
)
from modernnca.ensemble.calibration import Calibration, fit_calibration
from modernnca.ensemble.combine import Combiner, fit_combiner
from modernnca.ensemble.costs import RESERVED, finetuning_ratio
from modernnca.ensemble.ensemble import Ensemble
from modernnca.ensemble.forest_member import shared_forest
from modernnca.ensemble.held_out import HeldOut, cross_fitted_votes, held_out_rows
from modernnca.ensemble.joint_training import (
    finetune_together,
    fit_together,
    forkable,
    group_members,
)
from modernnca.ensemble.member import Member
from modernnca.ensemble.moments import (
    Moments,
    can_leave_out,
    moments,
    moments_without_self,
)
from modernnca.ensemble.network_member import MIN_FINETUNING, NetworkMember
from modernnca.ensemble.preparation import Part, Preparation, prepare
from modernnca.ensemble.run import Run
from modernnca.ensemble.side_by_side import n_at_once, one_at_a_time, side_by_side
from modernnca.table.evaluation import Evaluator, better_result
from modernnca.table.raw_examples import RawExamples, concatenate_raw
from modernnca.table.targets import ClassificationTarget
from modernnca.train.budget import Budget
from modernnca.train.loop import History

_MAX_COMBINED_ROWS = 2048  # enough to learn weights and a calibration
_MAX_BASELINE_ROWS = 2048  # enough to compare an ensemble with baselines
_MIN_COMBINED_ROWS = 50  # with fewer, if there are more, weights are not learned
_MAX_RESERVED = 0.5  # of the time, for what follows training
_BY_RANK = ("accuracy", "balanced-accuracy", "auc")  # calibration does not change them


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
    score: float | None = None  # on the validation rows, if there are any
    held_out: HeldOut | None = None  # the votes on these rows


class Finished(NamedTuple):
    """What predicts in the end."""

    preparation: Preparation
    ensemble: Ensemble
    rows: RawExamples  # the remembered ones


def fit_members(
    prototypes: Sequence[Member], train: Part, valid: Part | None, run: Run
) -> list[Trained]:
    """Train a copy of each member; one that finished no epoch does not vote.

    Of the time, as much is reserved as the later steps take.
    """
    n_valid = 0 if valid is None else len(valid.raw)
    budget = _time_for_training(len(prototypes), train, valid, run)
    valid = valid and valid.sample(run.config.max_validation_rows, run.seeds[0])
    run = run.but(evaluate=_evaluator(valid or train, run), budget=budget)
    rows = _as_validated(train.encoded, run)
    valid_rows = None if valid is None else _as_validated(valid.encoded, run)
    run = run.but(callbacks=one_at_a_time(run.callbacks))
    groups = group_members(prototypes, run)
    runs = _runs_of_groups(groups, prototypes, run)

    def fit_group(turn: int) -> list[Trained]:
        kept, parts = [prototypes[number] for number in groups[turn]], runs[turn]
        if not kept[0].auxiliary:
            budget = _timed(parts[0], run, rows.n_rows, n_valid).budget
            parts = [part.but(budget=budget) for part in parts]
        if turn and parts[0].budget.exhausted() and not kept[0].auxiliary:
            return []
        members = [copy.deepcopy(prototype) for prototype in kept]
        networks = [each for each in members if isinstance(each, NetworkMember)]
        if len(networks) > 1:
            histories = fit_together(networks, rows, valid_rows, parts)
        else:
            histories = [members[0].fit(rows, valid_rows, parts[0])]
        return list(map(Trained, kept, members, histories))

    tasks = [partial(fit_group, turn) for turn in range(len(groups))]
    forks = forkable([[prototypes[n] for n in numbers] for numbers in groups], run)
    if forks and run.config.column_scales == "importance":
        shared_forest(rows, run)  # here, where all processes have it
    found = side_by_side(tasks, run.device, run.budget, forkable=forks)
    by_number = {
        number: each
        for numbers, group in zip(groups, found, strict=True)
        for number, each in zip(numbers, group, strict=False)
    }
    trained = [by_number[number] for number in sorted(by_number)]
    useful = [each for each in trained if not _learned_nothing(each.history)]
    n_asked = sum(not each.auxiliary for each in prototypes)
    n_trained = sum(not each.prototype.auxiliary for each in useful)
    if n_trained < n_asked:
        run.leave_out(f"{n_asked - n_trained} of {n_asked} networks")
    return useful if n_trained or not n_asked else []


def _timed(part: Run, run: Run, n_train: int, n_valid: int) -> Run:
    """The run of a member, with enough time to be useful, or none.

    Its training ends early enough to find its temperature. If it is more than was
    planned, it ends early enough for all that follows, too.
    """
    costs, left = run.costs, run.budget.left()
    if math.isinf(left) or not left:
        return part
    least = costs.training(n_train, n_valid, run.config.batch_size)
    after = costs.cooling(n_train, n_valid)
    if part.number >= run.n_planned:
        after += costs.settling(n_train, n_valid)
        if left < least + after:
            return part.but(budget=run.budget.first(0))
    seconds = min(left, max(part.budget.left(), least + after))
    return part.but(budget=run.budget.first(max(0.0, seconds - after) / left))


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


def _time_for_training(
    n_members: int, train: Part, valid: Part | None, run: Run
) -> Budget:
    """The budget of training, without what is reserved for all that follows."""
    costs, config, n_train = run.costs, run.config, train.encoded.n_rows
    n_valid = 0 if valid is None else valid.encoded.n_rows
    settling = min(n_members, run.n_planned) * costs.settling(n_train, n_valid)
    settling += costs.baseline(n_train, n_valid)
    budget = run.budget.less(min(settling, _MAX_RESERVED * run.budget.left()))
    if valid is None:
        return budget
    if config.refit == "full":  # which takes as long again
        return budget.part(0, 2)
    if config.refit == "remember" and config.finetune:
        ratio = finetuning_ratio(config, train.encoded) * (1 + n_valid / n_train)
        return budget.first(1 / (1 + RESERVED * config.finetune * ratio))
    return budget


def _evaluator(part: Part, run: Run) -> Evaluator:
    """What evaluates votes for these rows."""
    assert isinstance(run.evaluate, Evaluator)
    return run.evaluate.of(part.raw.y, part.raw.weights)


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
    if not trained:
        return _baseline_alone(train, run)
    config = run.config
    if not (config.combine == "weighted" or config.calibrate or config.baseline_check):
        return _all_alike(trained, train, valid, run)
    n_asked = 0 if valid is None else _n_asked(len(trained), train, valid, run)
    if valid is None or not n_asked:
        return _all_alike(trained, train, None, run)
    valid = valid.sample(n_asked, run.seeds[0])
    evaluate = _evaluator(valid, run)
    rows, known = (_as_validated(part.encoded, run) for part in (train, valid))
    found = _validation_votes([each.member for each in trained], rows, known, run)
    combine = Combiner.mean(len(trained))
    if config.combine == "weighted":
        values, classes = known.values.cpu().numpy(), known.values.shape[1] > 1
        combine = fit_combiner(found.votes, values, classification=classes)
    held_out = _held_out(found, valid, combine, run)
    combined, baseline = combine(found.votes), None
    score = evaluate(_cross_fitted(found, known, evaluate, run))[0]
    if config.baseline_check:
        some = np.arange(0, len(combined), -(-len(combined) // _MAX_BASELINE_ROWS))
        few, asked = evaluate.take(some), known.take(torch.from_numpy(some))
        better = _better_baseline(combined[some], few, rows, asked, run)
        if better is not None:
            trained, baseline = [better.trained], better.trained.member.kind
            combine, combined, evaluate = Combiner.mean(1), better.found.votes[0], few
            held_out = _held_out(better.found, valid.take(some), combine, run)
            score = evaluate(combined)[0]
    calibration = Calibration()
    if config.calibrate and isinstance(evaluate.target, ClassificationTarget):
        codes = evaluate.target.encode(evaluate.y)
        calibration = fit_calibration(combined, codes, evaluate.weights)
    return Combined(trained, combine, calibration, baseline, score, held_out)


def _all_alike(
    trained: list[Trained], train: Part, valid: Part | None, run: Run
) -> Combined:
    """All members count alike; nothing is learned from validation rows, if any."""
    kept = [each for each in trained if not each.prototype.auxiliary] or trained
    score = _score_of(kept[0].history) if len(kept) == 1 else None
    combine, held_out = Combiner.mean(len(kept)), None
    if valid is not None and math.isinf(run.budget.left()):
        valid = valid.sample(_MAX_COMBINED_ROWS, run.seeds[0])
        rows, known = (_as_validated(part.encoded, run) for part in (train, valid))
        found = _validation_votes([each.member for each in kept], rows, known, run)
        held_out = _held_out(found, valid, combine, run)
    return Combined(kept, combine, score=score, held_out=held_out)


def _validation_votes(
    members: list[Member], train: Examples, valid: Examples, run: Run
) -> Moments:
    """The votes on validation rows.

    If these were drawn at random they also vote on each other, as on new rows in the
    end. Others may have more in common with each other than new rows with them.
    """
    combine = Combiner.mean(len(members))
    together = run.drawn and run.config.refit != "none" and can_leave_out(members)
    if not together:
        ensemble = Ensemble.remembering(members, combine, train)
        return moments(ensemble, valid.rows)
    both = concatenate(train, valid)
    ensemble = Ensemble.remembering(members, combine, both)
    places = torch.arange(train.n_rows, both.n_rows, device=valid.rows.device)
    return moments_without_self(ensemble, places)


def _held_out(found: Moments, valid: Part, combine: Combiner, run: Run) -> HeldOut:
    """The honest votes on the validation rows."""
    values, raw = valid.encoded.values.cpu().numpy(), valid.raw
    return held_out_rows(
        found,
        values,
        raw.index,
        combine,
        raw.weights,
        weighted=run.config.combine == "weighted" and len(found.votes) > 1,
        calibrate=run.config.calibrate,
    )


def _n_asked(n_members: int, train: Part, valid: Part, run: Run) -> int:
    """How many validation rows there is time to learn from; 0 if too few."""
    costs, n_train = run.costs, train.encoded.n_rows
    n_valid = min(valid.encoded.n_rows, _MAX_COMBINED_ROWS)
    n_all = n_train + valid.encoded.n_rows
    left = run.budget.left() - n_members * costs.remember(n_all)
    n_asked = int(min(n_valid, costs.n_affordable(left, n_members, n_train)))
    out_of_time = run.budget.exhausted() == "time_limit"
    if out_of_time or n_asked < min(n_valid, _MIN_COMBINED_ROWS):
        run.leave_out("weights of the members, calibration and the baseline check")
        return 0
    return n_asked


def _score_of(history: History) -> float | None:
    """The score of the best epoch, if it was validated."""
    if not history.best_epoch or not history.epochs:
        return None
    score = history.epochs[history.best_epoch - 1].score
    return None if math.isnan(score) else score


def _cross_fitted(
    found: Moments, known: Examples, evaluate: Evaluator, run: Run
) -> np.ndarray:
    """The combined votes (B, V) on validation rows, as they are to be scored."""
    config = run.config
    return cross_fitted_votes(
        found.votes,
        known.values.cpu().numpy(),
        evaluate.weights,
        weighted=config.combine == "weighted",
        calibrate=config.calibrate and config.eval_metric not in _BY_RANK,
    )


def _baseline_alone(train: Part, run: Run) -> Combined:
    """A baseline, because no network finished an epoch."""
    rows = _as_validated(train.encoded, run)
    prototype = default_baselines(run.shape, rows.n_rows)[0]
    member = copy.deepcopy(prototype)
    trained = Trained(prototype, member, member.fit(rows, None, run))
    return Combined([trained], Combiner.mean(1), baseline=member.kind)


class _Baseline(NamedTuple):
    trained: Trained
    found: Moments  # of the validation rows


def _better_baseline(
    combined: np.ndarray,
    evaluate: Evaluator,
    train: Examples,
    valid: Examples,
    run: Run,
) -> _Baseline | None:
    """The best baseline, if it is better than the members combined (B, V).

    By its score on the validation rows, and by its squared errors.
    """
    found, best = None, evaluate(combined)
    values = valid.values.cpu().numpy()
    for prototype in default_baselines(run.shape, train.n_rows):
        member = copy.deepcopy(prototype)
        history = member.fit(train, valid, run)
        votes = _validation_votes([member], train, valid, run)
        own, margin = votes.votes[0], run.config.baseline_margin
        gain = gain_in_errors(own, combined, values, evaluate.weights)
        # A constant is simpler than networks and needs no margin. But where one class
        # is frequent its labels are as often right, and its probabilities say nothing.
        needed = min(margin, 0.0) if isinstance(member, ConstantMember) else margin
        if gain > needed and better_result(result := evaluate(own), best):
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
    learn = combined.baseline is None and run.budget.exhausted() != "interrupted"
    raw, rows = train
    if valid is not None and config.refit != "none":
        raw = concatenate_raw(raw, valid.raw, preparation.preprocessor.schema_)
        rows = concatenate(rows, valid.encoded)
        budget = run.budget.rest().less(len(members) * run.costs.remember(rows.n_rows))
        run = run.but(evaluate=None, budget=budget)
        if config.refit == "full" and learn:
            refitted = None if budget.exhausted() else _refit(combined, raw, run)
            if refitted is not None:
                return refitted
            run.leave_out("retraining on all rows")
        elif config.finetune and learn:
            known = _as_validated(rows, run)
            members = _finetune(combined.members, train, known, run)
    ensemble = Ensemble.remembering(members, combined.combine, rows)
    return Finished(preparation, ensemble, raw)


def _finetune(
    trained: list[Trained], train: Part, rows: Examples, run: Run
) -> list[Member]:
    """The members, fine-tuned on all rows, until the user interrupts."""
    members = [each.member for each in trained]
    n_groups = sum(not members[g[0]].auxiliary for g in group_members(members, run))
    n_rounds = max(1, n_groups) / n_at_once(max(1, n_groups), run.device)
    share = _share_of_finetuning(trained, train, rows, run, n_rounds)
    if not share:
        run.leave_out("fine-tuning")
        return members
    run = run.but(config=run.config.updated({"finetune": share * run.config.finetune}))
    run = run.but(callbacks=one_at_a_time(run.callbacks))
    groups = group_members(members, run)
    runs = _runs_of_groups(groups, members, run)

    def finetune_group(turn: int) -> list[Member]:
        group = [members[number] for number in groups[turn]]
        if run.budget.interrupted:
            return group
        networks = [each for each in group if isinstance(each, NetworkMember)]
        if len(networks) > 1:
            finetune_together(networks, rows, runs[turn])
        else:
            group[0].finetune(rows, runs[turn][0])
        return group

    tasks = [partial(finetune_group, turn) for turn in range(len(groups))]
    forks = forkable([[members[n] for n in numbers] for numbers in groups], run)
    found = side_by_side(tasks, run.device, run.budget, forkable=forks)
    for numbers, group in zip(groups, found, strict=True):
        for number, member in zip(numbers, group, strict=True):
            members[number] = member
    return members


def _share_of_finetuning(
    trained: list[Trained], train: Part, rows: Examples, run: Run, n_rounds: float
) -> float:
    """Which share of fine-tuning there is time for; 0 if not for the least.

    Fewer epochs, at the end of which the learning rate has fallen as far, are better
    than a part of many.
    """
    seconds = run.budget.left() / math.ceil(n_rounds)
    if math.isinf(seconds):
        return 1.0
    ratio = finetuning_ratio(run.config, train.encoded)
    ratio *= rows.n_rows / train.encoded.n_rows
    share = 1.0
    for epochs, best_epoch, _ in (each.history for each in trained):
        if epochs:
            of_epoch = ratio * epochs[-1].seconds / len(epochs)
            n_affordable = int(seconds / max(of_epoch, 1e-9))
            n_wanted = max(MIN_FINETUNING, round(run.config.finetune * best_epoch))
            if n_affordable < MIN_FINETUNING:
                return 0.0
            share = min(share, n_affordable / n_wanted)
    return share


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
