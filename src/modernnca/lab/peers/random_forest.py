"""Random forest: the mean of many deep trees on resampled rows."""

import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree._tree import NODE_DTYPE, Tree

from modernnca.lab.peers.card import Peer, n_threads
from modernnca.lab.peers.wrapped import Seen, Wrapped, wrapped_maker
from modernnca.tune.space import Int

_TREES_AT_ONCE = 20  # between two looks at the clock


class RandomForest(Wrapped):
    """Grown tree after tree; its file holds the nodes of all trees in a row."""

    def estimator(self, **settings: Any) -> Any:
        """Of scikit-learn."""
        kind = RandomForestRegressor if self.regression else RandomForestClassifier
        return kind(random_state=self.seed, n_jobs=n_threads(), **settings)

    def learn(self, fit: Seen, stop: Seen | None, ends: float) -> None:
        """Grow all trees; by a clock, some at a time, which gives the same trees."""
        n_trees = self.model.n_estimators
        n_at_once = n_trees if ends == math.inf else _TREES_AT_ONCE
        self.model.set_params(warm_start=True)
        for n_grown in range(0, n_trees, n_at_once):
            n_now = min(n_grown + n_at_once, n_trees)
            self.model.set_params(n_estimators=n_now).fit(fit.x, fit.y)
            if time.monotonic() >= ends:
                break
        self.trees_ = [grown.tree_ for grown in self.model.estimators_]

    def answer(self, x: Any) -> np.ndarray:
        """Probabilities (B, V), or standardized numbers (B,).

        The trees are added up in their order, so that threads cannot change a bit.
        """
        x = x.astype(np.float32)
        n_rows = -(-x.shape[0] // n_threads())
        parts = [x[at : at + n_rows] for at in range(0, x.shape[0], n_rows)]
        with ThreadPoolExecutor(n_threads()) as pool:
            means = np.concatenate(list(pool.map(self._mean, parts)))  # (B, V)
        return means[:, 0] if self.regression else means

    def _mean(self, x: Any) -> np.ndarray:
        total = sum(tree.predict(x) for tree in self.trees_)
        return np.asarray(total / len(self.trees_)).reshape(x.shape[0], -1)

    def put_away(self) -> dict[str, Any]:
        """The nodes of all trees, field by field, and where one tree ends."""
        states = [tree.__getstate__() for tree in self.trees_]
        nodes = np.concatenate([state["nodes"] for state in states])
        return {
            "n_columns": self.trees_[0].n_features,
            "sizes": np.array([len(state["nodes"]) for state in states]),
            "depths": np.array([state["max_depth"] for state in states]),
            "nodes": {name: nodes[name] for name in NODE_DTYPE.names},
            "values": np.concatenate([state["values"] for state in states]),
        }

    def bring_back(self, state: dict[str, Any]) -> None:
        """Plant the same trees."""
        nodes = np.empty(len(state["values"]), dtype=NODE_DTYPE)
        for name in NODE_DTYPE.names:
            nodes[name] = state["nodes"][name]
        ends = np.cumsum(state["sizes"])[:-1]
        parts = np.split(nodes, ends), np.split(state["values"], ends)
        n_values = np.array([self.target_.n_values])
        self.trees_ = []
        for depth, own, values in zip(state["depths"], *parts, strict=True):
            _check(own, state["n_columns"])
            tree = Tree(state["n_columns"], n_values, 1)
            tree.__setstate__(
                {
                    "max_depth": int(depth),
                    "node_count": len(own),
                    "nodes": own.copy(),
                    "values": values.copy(),
                }
            )
            self.trees_.append(tree)


def _check(nodes: np.ndarray, n_columns: int) -> None:
    """Refuse a tree that points out of itself: it would be read without a look."""
    left, right, feature = nodes["left_child"], nodes["right_child"], nodes["feature"]
    inner = left != -1
    own = np.arange(len(nodes))[inner]
    ahead = all(
        ((side[inner] > own) & (side[inner] < len(nodes))).all()
        for side in (left, right)
    )
    inside = ((feature[inner] >= 0) & (feature[inner] < n_columns)).all()
    if not (len(nodes) and ahead and inside):
        raise ValueError("the nodes of a tree do not make a tree.")


PEER = Peer(
    name="random-forest",
    title="RandomForest",
    paper="Breiman, 2001",
    source="scikit-learn's forests: the reference implementation",
    differs="300 trees where the benchmark's default has 2,000: more change little",
    make=wrapped_maker("random-forest", RandomForest),
    defaults={"n_estimators": 300, "max_depth": 12},
    space={"min_samples_split": Int(2, 10), "min_samples_leaf": Int(1, 10)},
)
