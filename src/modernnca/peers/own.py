"""The house's own estimators as peers."""

from collections.abc import Callable
from typing import Any

from modernnca.estimators.base import BaseModernNCA
from modernnca.peers.base import Report


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

            def tell(epoch: Any) -> None:
                report(epoch.epoch, epoch.score)

            callbacks = (tell,)
        return kind(random_state=seed, callbacks=callbacks, **{**fixed, **settings})

    return make
