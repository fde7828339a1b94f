"""XGBoost: gradient boosting, with trees grown level by level."""

import time
from typing import Any

from modernnca.lab.peers.card import Peer, import_extra, n_threads
from modernnca.lab.peers.estimator_model import (
    BoostingModel,
    EncodedData,
    bytes_to_array,
    estimator_maker,
)
from modernnca.tune.space import Float, Int, LogFloat, Maybe


class XGBoost(BoostingModel):
    """XGBoost with early stopping; saved in the library's own format."""

    rounds_setting = "n_estimators"

    def make_estimator(self, **settings: Any) -> Any:
        """The estimator of the authors' package."""
        package = import_extra("xgboost", extra="boosting")
        estimator = (
            package.XGBRegressor if self.is_regression else package.XGBClassifier
        )
        return estimator(
            random_state=self.seed,
            n_jobs=n_threads(),
            tree_method="hist",
            enable_categorical=True,
            **settings,
        )

    def fit_estimator(
        self, train: EncodedData, valid: EncodedData | None, deadline: float
    ) -> None:
        """Boost until the validation loss stops improving."""
        from xgboost.callback import TrainingCallback

        class TimeLimit(TrainingCallback):
            def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                return time.monotonic() >= deadline

        self.model.set_params(callbacks=[TimeLimit()])
        eval_set = None if valid is None else [valid]
        self.model.fit(train.x, train.y, eval_set=eval_set, verbose=False)
        self.model.set_params(callbacks=None)

    def best_n_rounds(self) -> int:
        """The number of rounds up to the best one."""
        return int(self.model.best_iteration) + 1

    def estimator_state(self) -> dict[str, Any]:
        """The model as UBJSON."""
        return {"ubj": bytes_to_array(self.model.get_booster().save_raw("ubj"))}

    def load_estimator_state(self, state: dict[str, Any]) -> None:
        """Read the model from its saved format."""
        self.model.load_model(bytearray(state["ubj"]))


PEER = Peer(
    name="xgboost",
    title="XGBoost",
    paper="Chen and Guestrin, 2016",
    source="the authors' package",
    differs="tuned with early stopping; the benchmark tunes 100 trees without it",
    extra="boosting",
    tuning_settings={"refit": False},
    make=estimator_maker("xgboost", XGBoost),
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
