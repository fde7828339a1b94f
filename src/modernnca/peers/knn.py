"""KNN: the nearest training rows vote, weighted by their distance."""

from typing import Any

from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from modernnca.peers.base import Peer, n_threads
from modernnca.peers.columns import Matrix
from modernnca.peers.wrapped import Wrapped
from modernnca.tune.space import Choice, Int


class _AsManyAsThereAre:
    """Ask no more neighbors than there are rows."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, x: Any, y: Any) -> None:
        self.model.n_neighbors = min(self.model.n_neighbors, len(y))
        self.model.fit(x, y)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)


def make(task: str, seed: int, *, report: Any = None, **settings: Any) -> Wrapped:
    """Build the estimator."""
    kind = KNeighborsRegressor if task == "regression" else KNeighborsClassifier
    model = kind(n_jobs=n_threads(), **settings)
    return Wrapped(model, task=task, columns=Matrix())


PEER = Peer(
    name="knn",
    title="KNN",
    paper="Cover and Hart, 1967",
    source="scikit-learn's KNeighbors: the reference implementation",
    differs="categories one-hot, since distances between codes mean nothing",
    make=make,
    defaults={"n_neighbors": 5, "weights": "distance", "p": 2},
    space={
        "n_neighbors": Int(1, 128),
        "weights": Choice(("uniform", "distance")),
        "p": Choice((1, 1.5, 2, 2.5, 3)),
    },
)
