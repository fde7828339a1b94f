"""A forest as a member: rows that share leaves of its trees vote on each other."""

from typing import Self

import torch
from sklearn.ensemble import BaseEnsemble

from modernnca.core.leaf_embedding import LeafEmbedding, leaf_distance, leaf_kernel
from modernnca.core.network import embed_rows
from modernnca.core.rows import Examples, Rows
from modernnca.core.softnn import Rule
from modernnca.core.weight_files import check_weights
from modernnca.ensemble.embedding_member import EmbeddingMember
from modernnca.ensemble.member import Remembered, State, unvalidated
from modernnca.ensemble.run import Run
from modernnca.table.preprocessor import EncodedTable
from modernnca.table.trees import as_trees, grow_forest
from modernnca.train.loop import History

_SHARE_OF_TIME = 10  # a forest takes at most a tenth of the time


def shared_forest(train: Examples, run: Run) -> BaseEnsemble:
    """The forest of a fit, grown when the first member needs it."""

    def grow() -> BaseEnsemble:
        table = EncodedTable(*(part.cpu().numpy() for part in train.rows[:3]))
        weights = None if train.weights is None else train.weights.cpu().numpy()
        budget = run.budget.rest().part(0, _SHARE_OF_TIME)
        return grow_forest(
            table,
            train.values.cpu().numpy(),
            weights=weights,
            seed=run.seeds[0],
            stop=budget.exhausted,
            n_jobs=run.n_threads,
        )

    return run.once("forest", grow)


class ForestMember(EmbeddingMember):
    """The leaves of a forest as an embedding; it is not fine-tuned."""

    kind = "forest"
    auxiliary = True

    def fit(self, train: Examples, valid: Examples | None, run: Run) -> History:
        """Take the nodes of the shared forest."""
        trees = as_trees(shared_forest(train, run))
        self.leaves_ = LeafEmbedding(len(trees.roots), len(trees.left))
        nodes = {name: torch.from_numpy(part) for name, part in trees._asdict().items()}
        self.leaves_.load_state_dict(nodes)
        self.leaves_.to(run.device).eval()
        return unvalidated()

    def embed(self, rows: Rows) -> torch.Tensor:
        """The leaves of rows, (N, T)."""
        return embed_rows(self.leaves_, rows, width=len(self.leaves_.roots))

    def rule(self) -> Rule:
        """How the share of trees that separate two rows becomes a score."""
        return Rule(leaf_distance, kernel=leaf_kernel)

    def embedding_state(self) -> State:
        """The nodes of the trees."""
        return {"nodes": self.leaves_.state_dict()}

    @classmethod
    def from_embedding_state(
        cls, state: State, remembered: Remembered, device: torch.device
    ) -> Self:
        """Rebuild the trees; check them before any row is sent through."""
        new, nodes = cls(), state["nodes"]
        leaves = LeafEmbedding(len(nodes["roots"]), len(nodes["left"]))
        check_weights(leaves, nodes)
        leaves.load_state_dict(nodes, assign=True)
        leaves.check(remembered.n_columns)
        new.leaves_ = leaves.to(device).eval()
        if state["keys"].shape[1:] != (len(leaves.roots),):
            raise ValueError(f"leaves have the shape {tuple(state['keys'].shape)}.")
        return new
