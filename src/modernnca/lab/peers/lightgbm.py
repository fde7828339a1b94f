"""LightGBM: gradient boosting, with trees grown leaf by leaf."""

import time
from typing import Any

import numpy as np

from modernnca.lab.peers.card import Peer, import_extra, n_threads
from modernnca.lab.peers.estimator_model import (
    BoostingModel,
    EncodedData,
    bytes_to_array,
    estimator_maker,
)
from modernnca.tune.space import Float, Int, LogFloat, Maybe

_PATIENCE = 50


class LightGBM(BoostingModel):
    """LightGBM with early stopping; saved in the library's text format."""

    rounds_setting = "n_estimators"

    def make_estimator(self, **settings: Any) -> Any:
        """The estimator of the authors' package."""
        package = import_extra("lightgbm", extra="boosting")
        estimator = (
            package.LGBMRegressor if self.is_regression else package.LGBMClassifier
        )
        return estimator(
            random_state=self.seed,
            n_jobs=n_threads(),
            deterministic=True,
            force_row_wise=True,
            verbosity=-1,
            **settings,
        )

    def fit_estimator(
        self, train: EncodedData, valid: EncodedData | None, deadline: float
    ) -> None:
        """Boost until the validation loss stops improving."""
        from lightgbm import early_stopping
        from lightgbm.callback import EarlyStopException

        def time_limit(step: Any) -> None:
            if time.monotonic() >= deadline:
                raise EarlyStopException(step.iteration, step.evaluation_result_list)

        eval_set = {}
        callbacks: list[Any] = [time_limit]
        if valid is not None:
            eval_set = {"eval_X": valid.x, "eval_y": valid.y}
            callbacks.append(early_stopping(_PATIENCE, verbose=False))
        self.model.fit(train.x, train.y, callbacks=callbacks, **eval_set)
        # The text holds the trees up to the best round only, as a file does.
        self._read(self.model.booster_.model_to_string())

    def best_n_rounds(self) -> int:
        """The number of rounds up to the best one."""
        return int(self.model.best_iteration_)

    def predict_encoded(self, x: Any) -> np.ndarray:
        """Probabilities (B, V), or standardized numbers (B,)."""
        predicted = np.asarray(self.booster_.predict(x, num_threads=n_threads()))
        if self.task == "binclass" and predicted.ndim == 1:
            return np.stack([1 - predicted, predicted], axis=1)
        return predicted

    def estimator_state(self) -> dict[str, Any]:
        """The model as text."""
        return {"text": bytes_to_array(self.booster_.model_to_string().encode())}

    def load_estimator_state(self, state: dict[str, Any]) -> None:
        """Read the model from its text."""
        self._read(bytes(state["text"]).decode())

    def _read(self, text: str) -> None:
        from lightgbm import Booster

        self.booster_ = Booster(model_str=text)


PEER = Peer(
    name="lightgbm",
    title="LightGBM",
    paper="Ke et al., 2017",
    source="the authors' package",
    differs="early stopping; the benchmark grows 2,000 trees, or 100 when tuned",
    extra="boosting",
    tuning_settings={"refit": False},
    make=estimator_maker("lightgbm", LightGBM),
    defaults={
        "n_estimators": 2000,
        "num_leaves": 31,
        "max_depth": -1,
        "learning_rate": 0.1,
        "min_child_weight": 1e-3,
        "min_child_samples": 20,
        "subsample": 1.0,
        "subsample_freq": 0,
        "colsample_bytree": 1.0,
        "reg_lambda": 0.0,
    },
    space={
        "num_leaves": Int(10, 100),
        "max_depth": Int(3, 10),
        "learning_rate": LogFloat(1e-3, 0.3),
        "min_child_weight": LogFloat(1e-5, 1e-1),
        "min_child_samples": Int(2, 100),
        "subsample": Float(0.5, 1.0),
        "subsample_freq": Int(0, 1),
        "colsample_bytree": Float(0.5, 1.0),
        "reg_lambda": Maybe(LogFloat(1e-5, 10.0), 0.0),
    },
)
