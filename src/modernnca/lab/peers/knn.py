"""KNN: a vote of the nearest training rows, weighted by distance."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from modernnca._declared import array
from modernnca.lab.peers.card import Peer, n_threads
from modernnca.lab.peers.estimator_model import (
    EncodedData,
    EstimatorModel,
    estimator_maker,
)
from modernnca.lab.peers.table_encoders import MatrixEncoder
from modernnca.tune.space import Choice, Int


class KNN(EstimatorModel):
    """scikit-learn's KNN, with at most as many neighbors as rows."""

    encoder: MatrixEncoder

    def make_estimator(self, **settings: Any) -> Any:
        """The estimator of scikit-learn."""
        estimator = KNeighborsRegressor if self.is_regression else KNeighborsClassifier
        return estimator(n_jobs=n_threads(), **settings)

    def fit_estimator(
        self, train: EncodedData, valid: EncodedData | None, deadline: float
    ) -> None:
        """Store the rows."""
        self.train_ = train
        n_neighbors = min(self.model.n_neighbors, len(train.y))
        self.model.set_params(n_neighbors=n_neighbors).fit(train.x, train.y)

    def estimator_state(self) -> dict[str, Any]:
        """The rows and their targets."""
        x = self.train_.x
        if not sparse.issparse(x):
            return {"x": x, "y": self.train_.y}
        parts = {"data": x.data, "indices": x.indices, "indptr": x.indptr}
        return {"x": {**parts, "shape": list(x.shape)}, "y": self.train_.y}

    def load_estimator_state(self, state: dict[str, Any]) -> None:
        """Fit the saved rows again."""
        x = state["x"]
        if not isinstance(x, np.ndarray):
            parts = (x["data"], x["indices"], x["indptr"])
            x = sparse.csr_array(parts, shape=x["shape"])
            x.check_format()
        n_rows, n_columns = len(state["y"]), self.encoder.width
        cells = x if isinstance(x, np.ndarray) else x.data
        shape = cells.shape if cells is not x else (n_rows, n_columns)
        array(cells, "x", shape, ["float64"])
        if x.shape != (n_rows, n_columns):
            raise ValueError(f"the rows have the shape {x.shape}.")
        dtype = "float64" if self.is_regression else "int64"
        y = array(state["y"], "y", (None,), [dtype])
        classes = np.arange(self.target_.n_values)
        if not self.is_regression and not np.array_equal(np.unique(y), classes):
            raise ValueError("the rows have other classes than the target.")
        self.fit_estimator(EncodedData(x, y), None, np.inf)


PEER = Peer(
    name="knn",
    title="KNN",
    paper="Cover and Hart, 1967",
    source="scikit-learn's KNeighbors: the reference implementation",
    differs="one-hot categories, since distances between codes mean nothing; "
    "a time limit cannot interrupt it",
    make=estimator_maker("knn", KNN),
    defaults={"n_neighbors": 5, "weights": "distance", "p": 2},
    space={
        "n_neighbors": Int(1, 128),
        "weights": Choice(("uniform", "distance")),
        "p": Choice((1, 1.5, 2, 2.5, 3)),
    },
)
