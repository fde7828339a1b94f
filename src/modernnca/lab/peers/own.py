"""The house's own estimators as peers."""

from collections.abc import Callable
from typing import Any

from modernnca.estimators.base import BaseModernNCA
from modernnca.estimators.settings import PRESETS
from modernnca.estimators.spaces import SPACES
from modernnca.lab.peers.card import Report


def maker(
    classifier: type[BaseModernNCA], regressor: type[BaseModernNCA], **fixed: Any
) -> Callable[..., Any]:
    """A `make` for a card, from the estimators for classes and for numbers."""

    def make(
        task: str, seed: int, *, report: Report | None = None, **settings: Any
    ) -> BaseModernNCA:
        kind = regressor if task == "regression" else classifier
        callbacks: tuple[Callable[[Any], None], ...] = ()
        if report is not None:
            told = 0

            def tell(epoch: Any) -> None:
                nonlocal told
                if epoch.epoch > told:  # of several networks the first one tells
                    told = epoch.epoch
                    report(epoch.epoch, epoch.score)

            callbacks = (tell,)
        return kind(random_state=seed, callbacks=callbacks, **{**fixed, **settings})

    return make


def card_of(preset: str) -> dict[str, Any]:
    """What the card of a preset says of its settings: defaults, space, searching."""
    space = SPACES[preset]
    return {
        "defaults": {name: getattr(PRESETS[preset], name) for name in space},
        "space": space,
        "searching": {"refit": None},
    }
