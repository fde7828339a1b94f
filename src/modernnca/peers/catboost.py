"""CatBoost: boosted symmetric trees, with its own way with categories."""

from typing import Any

from modernnca.errors import MissingExtraError
from modernnca.peers.base import Peer, n_threads
from modernnca.peers.columns import Frame
from modernnca.peers.wrapped import Wrapped
from modernnca.tune.space import Float, Int, LogFloat


def _as_text(frame: Any) -> Any:
    """CatBoost wants categories as text, a missing one included."""
    texts = frame.select_dtypes("category")
    return frame.assign(**{name: texts[name].astype(str) for name in texts})


def _stop(x: Any, y: Any, columns: Any) -> dict[str, Any]:
    return {"eval_set": (x, y), "cat_features": columns.categorical}


def make(task: str, seed: int, *, report: Any = None, **settings: Any) -> Wrapped:
    """Build the estimator."""
    try:
        from catboost import CatBoostClassifier, CatBoostRegressor
    except ImportError as error:
        raise MissingExtraError(
            'CatBoost is not installed; pip install "modernnca[boosting]".'
        ) from error
    model = (CatBoostRegressor if task == "regression" else CatBoostClassifier)(
        random_seed=seed,
        thread_count=n_threads(),
        allow_writing_files=False,
        logging_level="Silent",
        **settings,
    )

    return Wrapped(
        model, task=task, columns=Frame(), stop=_stop, seed=seed, prepare=_as_text
    )


PEER = Peer(
    name="catboost",
    title="CatBoost",
    paper="Prokhorenkova et al., 2018",
    source="the authors' package",
    extra="boosting",
    make=make,
    defaults={"iterations": 2000, "early_stopping_rounds": 50},
    space={
        "depth": Int(3, 10),
        "learning_rate": LogFloat(1e-3, 1.0),
        "bagging_temperature": Float(0.0, 1.0),
        "l2_leaf_reg": LogFloat(1.0, 10.0),
        "leaf_estimation_iterations": Int(1, 10),
    },
)
