"""The package's own estimators as peers."""

from collections.abc import Callable
from typing import Any

from modernnca.estimators.estimator import BaseModernNCA
from modernnca.estimators.search_space import SPACES
from modernnca.estimators.tuning import set_options
from modernnca.lab.peers.card import Report


def maker(
    classifier: type[BaseModernNCA], regressor: type[BaseModernNCA], **fixed: Any
) -> Callable[..., Any]:
    """A `make` for a card, from the estimators for classification and regression."""

    def make(
        task: str, seed: int, *, report: Report | None = None, **settings: Any
    ) -> BaseModernNCA:
        kind = regressor if task == "regression" else classifier
        callbacks: tuple[Callable[[Any], None], ...] = ()
        if report is not None:
            last = 0

            def callback(epoch: Any) -> None:
                nonlocal last
                if epoch.epoch > last:  # of several networks the first one reports
                    last = epoch.epoch
                    report(epoch.epoch, epoch.score)

            callbacks = (callback,)
        model = kind(random_state=seed, callbacks=callbacks)
        set_options(model, {**fixed, **settings})
        return model

    return make


def card_of(preset: str) -> dict[str, Any]:
    """What the card of a preset says about a search.

    It names no defaults: what a preset means may depend on the table and the machine.
    """
    return {"space": SPACES[preset], "searching": {"refit": "none"}}
