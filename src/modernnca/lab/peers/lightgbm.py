"""LightGBM: boosted trees, leaf by leaf."""

import time
from typing import Any

import numpy as np

from modernnca.lab.peers.card import Peer, imported, n_threads
from modernnca.lab.peers.wrapped import Boosted, Seen, as_array, wrapped_maker
from modernnca.tune.space import Float, Int, LogFloat, Maybe

_PATIENCE = 50


class LightGBM(Boosted):
    """Stops by the held-out rows; its file holds the library's own text."""

    rounds = "n_estimators"

    def estimator(self, **settings: Any) -> Any:
        """Of the authors' package."""
        package = imported("lightgbm", extra="boosting")
        return (package.LGBMRegressor if self.regression else package.LGBMClassifier)(
            random_state=self.seed,
            n_jobs=n_threads(),
            deterministic=True,
            force_row_wise=True,
            verbosity=-1,
            **settings,
        )

    def learn(self, fit: Seen, stop: Seen | None, ends: float) -> None:
        """Boost until it helps no more."""
        from lightgbm import early_stopping
        from lightgbm.callback import EarlyStopException

        def look_at_the_clock(step: Any) -> None:
            if time.monotonic() >= ends:
                raise EarlyStopException(step.iteration, step.evaluation_result_list)

        watch = {}
        callbacks: list[Any] = [look_at_the_clock]
        if stop is not None:
            watch = {"eval_X": stop.x, "eval_y": stop.y}
            callbacks.append(early_stopping(_PATIENCE, verbose=False))
        self.model.fit(fit.x, fit.y, callbacks=callbacks, **watch)
        # The best trees only, and what a file can hold.
        self._read(self.model.booster_.model_to_string())

    def n_rounds(self) -> int:
        """Rounds up to the best one."""
        return int(self.model.best_iteration_)

    def answer(self, x: Any) -> np.ndarray:
        """Probabilities (B, V), or standardized numbers (B,)."""
        found = np.asarray(self.booster_.predict(x, num_threads=n_threads()))
        if self.task == "binclass" and found.ndim == 1:
            return np.stack([1 - found, found], axis=1)
        return found

    def put_away(self) -> dict[str, Any]:
        """The model as text."""
        return {"text": as_array(self.booster_.model_to_string().encode())}

    def bring_back(self, state: dict[str, Any]) -> None:
        """Read the model."""
        self._read(bytes(state["text"]).decode())

    def _read(self, text: str) -> None:
        from lightgbm import Booster

        self.booster_ = Booster(model_str=text)


PEER = Peer(
    name="lightgbm",
    title="LightGBM",
    paper="Ke et al., 2017",
    source="the authors' package",
    differs="stops early, where the benchmark grows 2,000 trees, or 100 when tuned",
    extra="boosting",
    make=wrapped_maker("lightgbm", LightGBM),
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
