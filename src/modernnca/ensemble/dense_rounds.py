"""More rounds of training, with more rows that vote, where rows lie dense.

A batch of local rows (core.local_batches) teaches a network as much as thousands of
sampled rows do, on most tables and at a fraction of the cost. Not where rows lie so
dense that the nearest of all rows tell much more (electricity, kropt, letter). Cooling
tells these tables: there, the temperature for all rows is far below the one that was
learned. They are trained on in rounds, each with twice as many sampled rows as the one
before, as long as that pays on the validation rows.
"""

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

from modernnca.core.rows import Examples
from modernnca.ensemble.ensemble_config import EnsembleConfig
from modernnca.ensemble.network_member import NetworkMember
from modernnca.ensemble.run import Run

_DENSE = 0.6  # a cooling below this
_FIRST_SAMPLED = 512  # rows, twice as many in each further round
_BATCH_SIZE = 256
_EPOCHS = 0.5  # of those of the first training
_MIN_GAIN = 0.05  # of the validation loss, for another round


def continue_where_dense(
    members: Sequence[NetworkMember],
    train: Examples,
    valid: Examples | None,
    runs: Sequence[Run],
    train_on: Callable[[EnsembleConfig], bool],
) -> None:
    """Train settled networks on, round after round.

    Args:
        train_on: trains the networks of all members with these options; whether it
            finished.
    """
    config = members[0].config_
    if valid is None or not config.cooling or math.isfinite(config.patience):
        return
    if _mean([member.cooling_ for member in members]) > _DENSE:
        return
    for number in range(config.dense_rounds):
        before = [_keep(member) for member in members]
        changes = _options_of(config, number, train.n_rows)
        if runs[0].budget.exhausted() or not train_on(config.updated(changes)):
            _restore(members, before)
            return
        for member, run in zip(members, runs, strict=True):
            member.config_ = member.config_.updated(changes)
            member.settle(train, valid, run)
        ratio = _mean([m.valid_loss_ for m in members]) / _mean(
            [kept["valid_loss_"] for kept in before]
        )
        if ratio > 1:
            _restore(members, before)
        if not ratio < 1 - _MIN_GAIN:
            return


def _options_of(config: EnsembleConfig, number: int, n_rows: int) -> dict[str, Any]:
    """The options of a round."""
    return {
        "sampler": "random",
        "batch_size": max(config.batch_size, min(_BATCH_SIZE, n_rows // 8)),
        "max_sampled": _FIRST_SAMPLED * 2**number,
        "max_epochs": max(1, round(_EPOCHS * config.max_epochs)),
    }


def _mean(values: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(math.log(max(v, 1e-12)) for v in values) / len(values))


def _keep(member: NetworkMember) -> dict[str, Any]:
    return {
        "network": copy.deepcopy(member.network_.state_dict()),
        "config_": member.config_,
        "cooling_": member.cooling_,
        "valid_loss_": member.valid_loss_,
    }


def _restore(members: Sequence[NetworkMember], kept: list[dict[str, Any]]) -> None:
    for member, state in zip(members, kept, strict=True):
        member.network_.load_state_dict(state["network"])
        for name in ("config_", "cooling_", "valid_loss_"):
            setattr(member, name, state[name])
