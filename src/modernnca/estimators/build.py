"""Settings to parts that run: the names given by the user become a net and a method."""

from dataclasses import replace
from typing import Any, NamedTuple

import torch
from sklearn.ensemble import BaseEnsemble

from modernnca.core.distances import DISTANCES
from modernnca.core.learner import Method
from modernnca.core.leaves import Leaves, LeavesShape
from modernnca.core.losses import LOSSES
from modernnca.core.net import NetShape
from modernnca.core.samplers import SAMPLERS
from modernnca.estimators.settings import Settings, Task
from modernnca.table.encoder import TableEncoder
from modernnca.table.forest import as_trees


class Kind(NamedTuple):
    """What a member of an ensemble has of its own."""

    changes: dict[str, Any]  # of the settings
    view: str = "as-is"  # of the numbers
    deep: bool = False  # twice as many blocks
    fine: bool = False  # higher frequencies


_FINENESS = 4.5  # of the frequencies' scale
_BARE = {"n_blocks": 0, "averaging": 0.0}
# The members, in turn. One without a block, whose weights are not averaged, is the
# paper's own; where it is better, it is much better, and so is a deep one. All eight
# are better than the first four twice (experiments/README.md).
_MIXED = (
    Kind(_BARE),
    Kind({}, "ranked"),
    Kind({}, "bent"),
    Kind({}, deep=True),
    Kind(_BARE, "ranked"),
    Kind({}, "ranked", fine=True),
    Kind(_BARE, fine=True),
    Kind({}, deep=True),
)
_KINDS: dict[str, tuple[Kind, ...]] = {"alike": (Kind({}),), "mixed": _MIXED}


def _kind(settings: Settings, number: int) -> Kind:
    kinds = _KINDS[settings.variety]
    return kinds[number % len(kinds)]


def as_member(settings: Settings, number: int) -> Settings:
    """The settings of one of several networks: all alike, or each in another way."""
    kind = _kind(settings, number)
    if kind.deep:
        settings = replace(settings, n_blocks=2 * settings.n_blocks)
    if kind.fine:
        scale = _FINENESS * settings.frequency_scale
        settings = replace(settings, frequency_scale=scale)
    return replace(settings, **kind.changes)


def build_shape(settings: Settings, table: TableEncoder, number: int) -> NetShape:
    """The shape of a member's net that fits the encoded table."""
    view = _kind(settings, number).view
    if view == "as-is" and settings.clip:
        view = "clipped"
    settings = as_member(settings, number)
    assert not isinstance(settings.d_block, str)  # settings.for_machine
    learned = settings.temperature == "learned"
    # Cosines differ by 2 at most: they need a start that tells neighbors apart.
    start = 0.1 if settings.distance == "cosine" else 1.0
    return NetShape(
        n_numbers=table.n_numbers,
        n_plain=table.n_plain,
        n_levels=table.n_levels,
        view=view,
        scale_columns=settings.scale_columns != "none",
        encoding=settings.encoding,
        n_frequencies=settings.n_frequencies,
        frequency_scale=settings.frequency_scale,
        d_encoding=settings.d_encoding,
        n_bins=settings.n_bins,
        embedding=settings.embedding,
        dim=settings.dim,
        n_blocks=settings.n_blocks,
        d_block=settings.d_block,
        dropout=settings.dropout,
        temperature=start if learned else float(settings.temperature),
        learn_temperature=learned,
    )


def build_leaves(forest: BaseEnsemble) -> Leaves:
    """The trees of a forest as an embedding."""
    trees = as_trees(forest)
    leaves = Leaves(LeavesShape(len(trees.roots), len(trees.left)))
    found = {name: torch.from_numpy(part) for name, part in trees._asdict().items()}
    leaves.load_state_dict(found)
    return leaves.eval()


def build_method(settings: Settings, learns_from: Task) -> Method:
    """The variant of the method; `learns_from` is what the loss compares."""
    loss = LOSSES[settings.loss]
    objective = loss.classes if learns_from == "classes" else loss.numbers
    assert objective is not None  # settings.resolve has checked
    assert not isinstance(settings.max_sampled, str)  # settings.for_machine
    hard = settings.prediction == "knn"
    return Method(
        distance=DISTANCES[settings.distance],
        kernel=loss.kernel,
        objective=objective,
        sampler=SAMPLERS[settings.sampler],
        n_neighbors=settings.n_neighbors if hard else None,
        rate=settings.sample_rate,
        max_sampled=settings.max_sampled,
        exponent=settings.sample_exponent,
        label_smoothing=settings.label_smoothing,
        fused=settings.head == "fused",
        # Numbers as they are cost less than a look between knots.
        n_knots=None if settings.encoding == "none" else settings.n_knots,
        learn_from_past=settings.past_only == "always",
    )
