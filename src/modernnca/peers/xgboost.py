"""XGBoost: boosted trees, level by level."""

from typing import Any

from modernnca.errors import MissingExtraError
from modernnca.peers.base import Peer, n_threads
from modernnca.peers.columns import Frame
from modernnca.peers.wrapped import Wrapped
from modernnca.tune.space import Float, Int, LogFloat, Maybe


def _stop(x: Any, y: Any, columns: Any) -> dict[str, Any]:
    return {"eval_set": [(x, y)], "verbose": False}


def make(task: str, seed: int, *, report: Any = None, **settings: Any) -> Wrapped:
    """Build the estimator."""
    try:
        from xgboost import XGBClassifier, XGBRegressor
    except ImportError as error:
        raise MissingExtraError(
            'XGBoost is not installed; pip install "modernnca[boosting]".'
        ) from error
    model = (XGBRegressor if task == "regression" else XGBClassifier)(
        random_state=seed,
        n_jobs=n_threads(),
        tree_method="hist",
        enable_categorical=True,
        **settings,
    )
    return Wrapped(
        model,
        task=task,
        columns=Frame(),
        stop=_stop,
        seed=seed,
    )


PEER = Peer(
    name="xgboost",
    title="XGBoost",
    paper="Chen and Guestrin, 2016",
    source="the authors' package",
    differs="tuned with early stopping, where the benchmark tunes 100 trees without",
    extra="boosting",
    make=make,
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
