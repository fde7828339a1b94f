"""XGBoost: boosted trees, level by level."""

import time
from typing import Any

from modernnca.lab.peers.card import Peer, imported, n_threads
from modernnca.lab.peers.wrapped import Boosted, Seen, as_array, wrapped_maker
from modernnca.tune.space import Float, Int, LogFloat, Maybe


class XGBoost(Boosted):
    """Stops by the held-out rows; its file holds the library's own format."""

    rounds = "n_estimators"

    def estimator(self, **settings: Any) -> Any:
        """Of the authors' package."""
        package = imported("xgboost", extra="boosting")
        return (package.XGBRegressor if self.regression else package.XGBClassifier)(
            random_state=self.seed,
            n_jobs=n_threads(),
            tree_method="hist",
            enable_categorical=True,
            **settings,
        )

    def learn(self, fit: Seen, stop: Seen | None, ends: float) -> None:
        """Boost until it helps no more."""
        from xgboost.callback import TrainingCallback

        class Clock(TrainingCallback):
            def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                return time.monotonic() >= ends

        self.model.set_params(callbacks=[Clock()])
        watched = None if stop is None else [stop]
        self.model.fit(fit.x, fit.y, eval_set=watched, verbose=False)
        self.model.set_params(callbacks=None)

    def n_rounds(self) -> int:
        """Rounds up to the best one."""
        return int(self.model.best_iteration) + 1

    def put_away(self) -> dict[str, Any]:
        """The model in UBJSON."""
        return {"ubj": as_array(self.model.get_booster().save_raw("ubj"))}

    def bring_back(self, state: dict[str, Any]) -> None:
        """Read the model."""
        self.model.load_model(bytearray(state["ubj"]))


PEER = Peer(
    name="xgboost",
    title="XGBoost",
    paper="Chen and Guestrin, 2016",
    source="the authors' package",
    differs="tuned with early stopping, where the benchmark tunes 100 trees without",
    extra="boosting",
    make=wrapped_maker("xgboost", XGBoost),
    defaults={
        "n_estimators": 2000,
        "early_stopping_rounds": 50,
        "subsample": 0.8,
        "colsample_bytree": 0.8,
    },
    space={
        "max_depth": Int(3, 10),
        "min_child_weight": LogFloat(1e-8, 1e5),
        "subsample": Float(0.5, 1.0),
        "learning_rate": LogFloat(1e-3, 1.0),
        "colsample_bylevel": Float(0.5, 1.0),
        "colsample_bytree": Float(0.5, 1.0),
        "gamma": Maybe(LogFloat(1e-8, 1e2), 0.0),
        "reg_lambda": Maybe(LogFloat(1e-8, 1e2), 1.0),
        "reg_alpha": Maybe(LogFloat(1e-8, 1e2), 0.0),
    },
)
