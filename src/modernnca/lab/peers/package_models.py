"""Cards for this package's own estimators."""

from collections.abc import Callable
from typing import Any

from modernnca.estimators.estimator import BaseModernNCA
from modernnca.estimators.search_space import SPACES
from modernnca.estimators.tuning import set_options
from modernnca.lab.peers.card import Report
from modernnca.tune.space import Float, LogFloat


def package_maker(
    classifier: type[BaseModernNCA], regressor: type[BaseModernNCA], **fixed: Any
) -> Callable[..., Any]:
    """The `make` of a card, from the estimators for classification and regression."""

    def make(
        task: str, seed: int, *, report: Report | None = None, **settings: Any
    ) -> BaseModernNCA:
        estimator = regressor if task == "regression" else classifier
        callbacks: tuple[Callable[[Any], None], ...] = ()
        if report is not None:
            last = 0

            def callback(epoch: Any) -> None:
                nonlocal last
                if epoch.epoch > last:  # members train in turn; report each epoch once
                    last = epoch.epoch
                    report(epoch.epoch, epoch.score)

            callbacks = (callback,)
        model = estimator(random_state=seed, callbacks=callbacks)
        set_options(model, {**fixed, **settings})
        return model

    return make


def tuning_fields(preset: str) -> dict[str, Any]:
    """The fields of a card that describe how to tune a preset.

    There are no `defaults`: a preset may depend on the table and on the machine.
    """
    return {
        "space": SPACES[preset],
        "more_space": {
            "temperature": LogFloat(1e-3, 10.0),
            "sample_exponent": Float(0.0, 4.0),
        },
        # PAPER: the public code stops by the MAE, and the paper ranks by the RMSE.
        "in_regression": {"eval_metric": "rmse"},
        "tuning_settings": {"refit": "none"},
    }
