"""Train several networks together: the same batches, and one step for all of them.

See `core.network_stack` for why. What a network learns does not depend on the others,
but for the batches, which they share.
"""

import math
import pickle
from collections.abc import Sequence

from modernnca.core.network_stack import NetworkStack, can_stack
from modernnca.core.rows import Examples
from modernnca.ensemble.dense_rounds import continue_where_dense
from modernnca.ensemble.ensemble_config import EnsembleConfig
from modernnca.ensemble.learner import NeighborLearner
from modernnca.ensemble.member import Member
from modernnca.ensemble.network_member import NetworkMember
from modernnca.ensemble.progress import progress
from modernnca.ensemble.run import Run
from modernnca.train.generators import Generators
from modernnca.train.loop import History, train

# What may differ between networks that are trained together.
_OWN = ("n_blocks", "numeric_transform", "frequency_scale", "clip_to_range")
_N_TOGETHER = 2  # on a CPU: with more, others of its cores would have nothing to do


def group_members(members: Sequence[Member], run: Run) -> list[list[int]]:
    """Numbers of members in groups that are trained together.

    On a CPU in pairs, a deep network with a shallow one; on a GPU all at once. With
    callbacks or checkpoints each network is trained alone.
    """
    alone = bool(run.callbacks) or run.checkpoint_dir is not None
    together: dict[tuple, list[int]] = {}
    groups: list[list[int]] = []
    for number, member in enumerate(members):
        key = None
        if isinstance(member, NetworkMember) and not alone:
            key = _shared_options(member.configure(run.config))
        if key is None:
            groups.append([number])
        else:
            together.setdefault(key, []).append(number)
    for numbers in together.values():
        groups += _split(numbers, members, run)
    return sorted(groups)


def forkable(groups: Sequence[Sequence[Member]], run: Run) -> list[int]:
    """The numbers of the groups that may be trained in a process of their own.

    Not members of others' making, who may rely on this process; and nothing where
    callbacks and checkpoints belong to it, or what a user gave cannot be sent back.
    """
    if run.callbacks or run.checkpoint_dir is not None:
        return []
    ours = [
        number
        for number, group in enumerate(groups)
        if all(type(member) is NetworkMember for member in group)
    ]
    try:
        pickle.dumps((run.config, [groups[number] for number in ours]))
    except Exception:  # of any kind: it depends on what was given
        return []
    return ours


def _shared_options(config: EnsembleConfig) -> tuple | None:
    """The options that networks must share to be trained together; None: alone."""
    steady = config.fused and config.sampler in ("random", "batch")
    if not steady or math.isfinite(config.patience):
        return None
    if config.optimizer not in ("adamw", "muon") or config.n_knots == 0:
        return None
    names = [name for name in EnsembleConfig.names() if name not in _OWN]
    return tuple(str(getattr(config, name)) for name in names)


def _split(numbers: list[int], members: Sequence[Member], run: Run) -> list[list[int]]:
    if run.device.type != "cpu":
        return [numbers]

    def depth(number: int) -> int:
        member = members[number]
        assert isinstance(member, NetworkMember)
        return member.configure(run.config).n_blocks

    ordered = sorted(numbers, key=depth)
    n_groups = -(-len(ordered) // _N_TOGETHER)
    groups: list[list[int]] = [[] for _ in range(n_groups)]
    for place, number in enumerate(ordered):
        turn, rest = divmod(place, n_groups)
        groups[rest if turn % 2 == 0 else n_groups - 1 - rest].append(number)
    return [sorted(group) for group in groups]


def fit_together(
    members: Sequence[NetworkMember],
    train_rows: Examples,
    valid: Examples | None,
    runs: Sequence[Run],
) -> list[History]:
    """Train networks together; each settles by itself."""
    generators = [m.start(train_rows, r) for m, r in zip(members, runs, strict=True)]
    config = members[0].config_
    history = _train(members, train_rows, config, runs, generators[0])
    if history is None:  # they differ too much, or one of them diverged
        return [m.fit(train_rows, valid, r) for m, r in zip(members, runs, strict=True)]
    for member, run in zip(members, runs, strict=True):
        member.history_ = history
        member.settle(train_rows, valid, run)

    def train_on(config: EnsembleConfig) -> bool:
        more = _train(members, train_rows, config, runs, generators[0])
        return more is not None and more.best_epoch > 0

    continue_where_dense(members, train_rows, valid, runs, train_on)
    return [history] * len(members)


def finetune_together(
    members: Sequence[NetworkMember], rows: Examples, runs: Sequence[Run]
) -> None:
    """Fine-tune networks together."""
    config = members[0].finetuning_config(rows, runs[0])
    runs = [run.but(evaluate=None, stage="finetune") for run in runs]
    history = _train(members, rows, config, runs, runs[0].generators())
    if history is None:
        for member, run in zip(members, runs, strict=True):
            member.finetune(rows, run)
        return
    if history.best_epoch:
        for member in members:
            member.settle_finetuned(rows, config)


def _train(
    members: Sequence[NetworkMember],
    rows: Examples,
    config: EnsembleConfig,
    runs: Sequence[Run],
    generators: Generators,
) -> History | None:
    """Train the networks of the members together, or None if that is not possible."""
    networks = [member.network_.requires_grad_(True).train() for member in members]
    if not can_stack(networks):
        return None
    stack = NetworkStack(networks)
    stack.draw_dropout_from(generators.device)
    learner = NeighborLearner(
        stack, rows, None, config=config, evaluate=None, generators=generators
    )
    if not learner.capturable:
        return None
    names = " and ".join(str(run.number + 1) for run in runs)
    title = f"{runs[0].stage}, networks {names} of {runs[0].n_members}"
    shown = runs[0].verbose
    with progress(title, config.max_epochs, config.eval_metric, shown=shown) as bar:
        history = train(
            learner,
            config,
            generators,
            validated=False,
            budget=runs[0].budget,
            callbacks=bar,
        )
    if history.ended == "diverged":
        return None
    if history.best_epoch or runs[0].stage == "fit":
        stack.write_back()
    for network in networks:
        network.eval().requires_grad_(False)
    return history
