"""Random forest: the mean of deep trees on bootstrap samples."""

import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree._tree import NODE_DTYPE, Tree

from modernnca._declared import array, whole
from modernnca.lab.peers.card import Peer, n_threads
from modernnca.lab.peers.estimator_model import (
    EncodedData,
    EstimatorModel,
    estimator_maker,
)
from modernnca.lab.peers.table_encoders import MatrixEncoder
from modernnca.tune.space import Int

_TREES_PER_CHECK = 20  # of the time limit


class RandomForest(EstimatorModel):
    """scikit-learn's forest; its file holds the concatenated nodes of all trees."""

    encoder: MatrixEncoder

    def make_estimator(self, **settings: Any) -> Any:
        """The estimator of scikit-learn."""
        forest = RandomForestRegressor if self.is_regression else RandomForestClassifier
        return forest(random_state=self.seed, n_jobs=n_threads(), **settings)

    def fit_estimator(
        self, train: EncodedData, valid: EncodedData | None, deadline: float
    ) -> None:
        """Grow all trees; in steps if there is a time limit, which changes no tree."""
        n_trees = self.model.n_estimators
        step = n_trees if deadline == math.inf else _TREES_PER_CHECK
        self.model.set_params(warm_start=True)
        for n_grown in range(0, n_trees, step):
            self.model.set_params(n_estimators=min(n_grown + step, n_trees))
            self.model.fit(train.x, train.y)
            if time.monotonic() >= deadline:
                break
        self.trees_ = [estimator.tree_ for estimator in self.model.estimators_]

    def predict_encoded(self, x: Any) -> np.ndarray:
        """Probabilities (B, V), or standardized numbers (B,).

        Threads split the rows, not the trees: the sum over trees has a fixed order, so
        the result is the same to the last bit.
        """
        x = x.astype(np.float32)
        n_rows = -(-x.shape[0] // n_threads())
        parts = [x[i : i + n_rows] for i in range(0, x.shape[0], n_rows)]
        with ThreadPoolExecutor(n_threads()) as pool:
            means = np.concatenate(list(pool.map(self._mean, parts)))  # (B, V)
        return means[:, 0] if self.is_regression else means

    def _mean(self, x: Any) -> np.ndarray:
        total = sum(tree.predict(x) for tree in self.trees_)
        return np.asarray(total / len(self.trees_)).reshape(x.shape[0], -1)

    def estimator_state(self) -> dict[str, Any]:
        """The nodes of all trees, field by field, and the size of each tree."""
        states = [tree.__getstate__() for tree in self.trees_]
        nodes = np.concatenate([state["nodes"] for state in states])
        return {
            "n_columns": self.trees_[0].n_features,
            "sizes": np.array([len(state["nodes"]) for state in states]),
            "depths": np.array([state["max_depth"] for state in states]),
            "nodes": {name: nodes[name] for name in NODE_DTYPE.names},
            "values": np.concatenate([state["values"] for state in states]),
        }

    def load_estimator_state(self, state: dict[str, Any]) -> None:
        """Rebuild the trees from their nodes."""
        n_columns = self.encoder.width  # of a row, as it is encoded
        whole(state["n_columns"], "the columns of the forest", *[n_columns] * 2)
        shape = (None, 1, self.target_.n_values)
        n_nodes = len(array(state["values"], "values", shape, ["float64"]))
        nodes = np.empty(n_nodes, dtype=NODE_DTYPE)
        for name in NODE_DTYPE.names:
            dtype = str(NODE_DTYPE[name])
            nodes[name] = array(state["nodes"][name], name, (n_nodes,), [dtype])
        sizes = array(state["sizes"], "sizes", (None,), ["int64"])
        array(state["depths"], "depths", (len(sizes),), ["int64"])
        if (sizes < 1).any() or sizes.sum() != n_nodes or not len(sizes):
            raise ValueError("invalid forest: the sizes of trees are not of its nodes.")
        ends = np.cumsum(sizes)[:-1]
        parts = np.split(nodes, ends), np.split(state["values"], ends)
        n_values = np.array([self.target_.n_values])
        self.trees_ = []
        for depth, tree_nodes, values in zip(state["depths"], *parts, strict=True):
            _check(tree_nodes, state["n_columns"])
            tree = Tree(state["n_columns"], n_values, 1)
            tree.__setstate__(
                {
                    "max_depth": int(depth),
                    "node_count": len(tree_nodes),
                    "nodes": tree_nodes.copy(),
                    "values": values.copy(),
                }
            )
            self.trees_.append(tree)


def _check(nodes: np.ndarray, n_columns: int) -> None:
    """Reject a tree with indices out of range: scikit-learn does not check them."""
    left, right, feature = nodes["left_child"], nodes["right_child"], nodes["feature"]
    inner = left != -1
    parent = np.arange(len(nodes))[inner]
    children_valid = all(
        ((child[inner] > parent) & (child[inner] < len(nodes))).all()
        for child in (left, right)
    )
    features_valid = ((feature[inner] >= 0) & (feature[inner] < n_columns)).all()
    if not (len(nodes) and children_valid and features_valid):
        raise ValueError("invalid tree: a child or feature index is out of range.")


PEER = Peer(
    name="random-forest",
    title="RandomForest",
    paper="Breiman, 2001",
    source="scikit-learn's forests: the reference implementation",
    differs="300 trees by default, not 2,000 as in the benchmark: more change little",
    make=estimator_maker("random-forest", RandomForest),
    defaults={"n_estimators": 300, "max_depth": 12},
    space={"min_samples_split": Int(2, 10), "min_samples_leaf": Int(1, 10)},
)
