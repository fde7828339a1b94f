"""KNN: the nearest training rows vote, weighted by their distance."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from modernnca.lab.peers.card import Peer, n_threads
from modernnca.lab.peers.wrapped import Seen, Wrapped, wrapped_maker
from modernnca.tune.space import Choice, Int


class KNN(Wrapped):
    """Never more neighbors than there are rows; to fit is to keep the rows."""

    def estimator(self, **settings: Any) -> Any:
        """Of scikit-learn."""
        kind = KNeighborsRegressor if self.regression else KNeighborsClassifier
        return kind(n_jobs=n_threads(), **settings)

    def learn(self, fit: Seen, stop: Seen | None, ends: float) -> None:
        """Keep the rows."""
        self.rows_ = fit
        n_neighbors = min(self.model.n_neighbors, len(fit.y))
        self.model.set_params(n_neighbors=n_neighbors).fit(fit.x, fit.y)

    def put_away(self) -> dict[str, Any]:
        """The rows and their targets."""
        x = self.rows_.x
        if not sparse.issparse(x):
            return {"x": x, "y": self.rows_.y}
        parts = {"data": x.data, "indices": x.indices, "indptr": x.indptr}
        return {"x": {**parts, "shape": list(x.shape)}, "y": self.rows_.y}

    def bring_back(self, state: dict[str, Any]) -> None:
        """Keep the same rows."""
        x = state["x"]
        if not isinstance(x, np.ndarray):
            parts = (x["data"], x["indices"], x["indptr"])
            x = sparse.csr_array(parts, shape=x["shape"])
            x.check_format()
        self.learn(Seen(x, state["y"]), None, np.inf)


PEER = Peer(
    name="knn",
    title="KNN",
    paper="Cover and Hart, 1967",
    source="scikit-learn's KNeighbors: the reference implementation",
    differs="categories one-hot, since distances between codes mean nothing; "
    "a limit of time cannot interrupt it",
    make=wrapped_maker("knn", KNN),
    defaults={"n_neighbors": 5, "weights": "distance", "p": 2},
    space={
        "n_neighbors": Int(1, 128),
        "weights": Choice(("uniform", "distance")),
        "p": Choice((1, 1.5, 2, 2.5, 3)),
    },
)
