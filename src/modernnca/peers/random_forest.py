"""Random forest: the mean of many deep trees on resampled rows."""

from typing import Any

from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from modernnca.peers.base import Peer, n_threads
from modernnca.peers.columns import Matrix
from modernnca.peers.wrapped import Wrapped
from modernnca.tune.space import Int


def make(task: str, seed: int, *, report: Any = None, **settings: Any) -> Wrapped:
    """Build the estimator."""
    kind = RandomForestRegressor if task == "regression" else RandomForestClassifier
    model = kind(random_state=seed, n_jobs=n_threads(), **settings)
    return Wrapped(model, task=task, columns=Matrix())


PEER = Peer(
    name="random-forest",
    title="RandomForest",
    paper="Breiman, 2001",
    source="scikit-learn's forests: the reference implementation",
    differs="300 trees where the benchmark's default has 2,000: more change little",
    make=make,
    defaults={"n_estimators": 300, "max_depth": 12},
    space={"min_samples_split": Int(2, 10), "min_samples_leaf": Int(1, 10)},
)
