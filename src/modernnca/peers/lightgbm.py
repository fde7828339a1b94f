"""LightGBM: boosted trees, leaf by leaf."""

from typing import Any

from modernnca.errors import MissingExtraError
from modernnca.peers.base import Peer, n_threads
from modernnca.peers.columns import Frame
from modernnca.peers.wrapped import Wrapped
from modernnca.tune.space import Float, Int, LogFloat, Maybe

_PATIENCE = 50


def _stop(x: Any, y: Any, columns: Any) -> dict[str, Any]:
    from lightgbm import early_stopping

    quiet = early_stopping(_PATIENCE, verbose=False)
    return {"eval_X": x, "eval_y": y, "callbacks": [quiet]}


def make(task: str, seed: int, *, report: Any = None, **settings: Any) -> Wrapped:
    """Build the estimator."""
    try:
        from lightgbm import LGBMClassifier, LGBMRegressor
    except ImportError as error:
        raise MissingExtraError(
            'LightGBM is not installed; pip install "modernnca[boosting]".'
        ) from error
    model = (LGBMRegressor if task == "regression" else LGBMClassifier)(
        random_state=seed,
        n_jobs=n_threads(),
        deterministic=True,
        force_row_wise=True,
        verbosity=-1,
        **settings,
    )
    return Wrapped(model, task=task, columns=Frame(), stop=_stop, seed=seed)


PEER = Peer(
    name="lightgbm",
    title="LightGBM",
    paper="Ke et al., 2017",
    source="the authors' package",
    differs="stops early, where the benchmark grows 2,000 trees, or 100 when tuned",
    extra="boosting",
    make=make,
    defaults={"n_estimators": 2000},
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
