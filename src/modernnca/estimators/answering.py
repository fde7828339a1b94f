"""A fitted model answers: rows are encoded, embedded, and asked of the memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from modernnca.core.learner import Labeled
from modernnca.core.leaves import Leaves, apart, together
from modernnca.core.net import Embedding, Net, NetShape, embed_all
from modernnca.core.rows import Rows
from modernnca.core.softnn import Rule, chunks
from modernnca.estimators.arguments import Arguments
from modernnca.estimators.build import build_method, build_shape
from modernnca.estimators.parts import Part
from modernnca.estimators.settings import PAST_ONLY, Settings, Task
from modernnca.estimators.weigh import counts
from modernnca.memory.exact import ExactMemory
from modernnca.table.clock import Clock
from modernnca.table.encoder import TableEncoder
from modernnca.table.schema import RawTable, read_table


class Neighbors(NamedTuple):
    """Remembered rows behind predictions; one line for each asking row."""

    distances: np.ndarray  # (B, K) in the embedding
    indices: np.ndarray  # (B, K) row numbers of the table given to `fit`
    shares: np.ndarray  # (B, K) parts of the vote, out of 1 over all remembered rows


@dataclass(frozen=True)
class Member:
    """One embedding, a network's or a forest's, and the memory that answers in it."""

    net: Embedding
    memory: ExactMemory


class Asking(NamedTuple):
    """Encoded rows that ask, and when they do."""

    rows: Rows
    moments: Tensor | None  # (B,) None: whenever


def _mean(parts: list[Tensor], counts: np.ndarray) -> Tensor:
    """The mean of what members say (B, ...), each as it counts for the row (M, B)."""
    weights = torch.from_numpy(counts).to(parts[0])
    weighed = zip(parts, weights, strict=True)
    return torch.stack([part * weight[:, None] for part, weight in weighed]).sum(0)


class Answering(TransformerMixin, Arguments):
    """What a model does with what `fit` learned; see `base` for how it is learned."""

    _learns_from: Task  # what the loss compares
    _device: torch.device
    settings_: Settings
    table_: TableEncoder
    clock_: Clock | None
    members_: list[Member]
    member_weights_: list[float]  # how much each counts, out of 1
    reach_: float  # how far a member's number usually is from the median of all
    remembered_: Part
    n_features_in_: int

    def _values(self, y: np.ndarray) -> Tensor:
        """What rows vote for, (N, V)."""
        raise AssertionError("said by the classifier and the regressor")

    def _labels(self, y: np.ndarray) -> Tensor:
        """What the loss compares, (N, L)."""
        return self._values(y)

    def _rows(self, table: RawTable) -> Rows:
        """Encode a table as tensors."""
        return Rows(*map(torch.from_numpy, self.table_.transform(table)))

    def _moments(self, table: RawTable) -> Tensor | None:
        """When rows happened, where it matters."""
        if self.clock_ is None or self.settings_.past_only == "never":
            return None
        return torch.from_numpy(self.clock_.tell(table))

    def _asking(self, table: RawTable) -> Asking:
        """Encode rows that ask, on the device."""
        moments = self._moments(table)
        if moments is not None:
            moments = moments.to(self._device)
        return Asking(self._rows(table).to(self._device), moments)

    @property
    def _judged_by_the_past(self) -> bool:
        return PAST_ONLY[self.settings_.past_only] >= PAST_ONLY["judging"]

    def _asking_to_judge(self, table: RawTable) -> Asking:
        """Encode held-out rows that ask in order to judge the answers."""
        asking = self._asking(table)
        return asking if self._judged_by_the_past else asking._replace(moments=None)

    def _labeled(self, part: Part) -> Labeled:
        """Encode a part: rows, values, labels, weights, moments; on the device."""
        weights = part.weights
        return Labeled(
            self._rows(part.table),
            self._values(part.y),
            self._labels(part.y),
            None if weights is None else torch.from_numpy(weights).float(),
            self._moments(part.table),
        ).to(self._device)

    def _net_shape(self, number: int) -> NetShape:
        """The net of one member that fits the encoded table."""
        return build_shape(self.settings_, self.table_, number)

    def _remember(
        self, part: Part, nets: Sequence[Embedding], weights: list[float] | None = None
    ) -> None:
        """Embed the rows that will answer; without weights the members count alike."""
        if weights is None or len(weights) != len(nets):
            weights = [1 / len(nets)] * len(nets)
        self.member_weights_ = weights
        labeled = self._labeled(part)
        self.remembered_ = part
        self.members_ = [
            self._member(net, embed_all(net, labeled.rows), labeled) for net in nets
        ]

    def _member(self, net: Embedding, keys: Tensor, labeled: Labeled) -> Member:
        if isinstance(net, Leaves):
            rule = Rule(apart, kernel=together)
        else:
            rule = build_method(self.settings_, self._learns_from).answering_rule(net)
        memory = ExactMemory(
            keys,
            labeled.values,
            rule,
            log_weights=labeled.log_weights,
            moments=labeled.moments,
        )
        return Member(net, memory)

    # Answering.

    def transform(self, X):
        """Embed rows: phi(x), with the networks' embeddings side by side."""
        rows = self._read_asking(X).rows
        embedded = [embed_all(net, rows) for net in self._networks()]
        return torch.cat(embedded, dim=1).cpu().numpy()

    def _networks(self) -> list[Net]:
        """The members that are networks."""
        nets = [member.net for member in self.members_]
        return [net for net in nets if isinstance(net, Net)]

    def kneighbors(self, X, n_neighbors=5):
        """The remembered rows that matter most to each row of `X`.

        Returns `(distances, indices, shares)`, each (B, n_neighbors). Indices count the
        rows of the table given to `fit` (rows of an `eval_set` come after these);
        shares are parts of the vote that made the prediction. With one member the
        nearest row is first; with several, the one with the largest mean share is, and
        distances are means over the members, each as it counts. Rows that may not
        answer, since they are later, come last: at an infinite distance, with no share.
        """
        asking = self._read_asking(X)
        queries, asked = self._queries(asking), asking.moments
        n_rows = len(self.remembered_.origin)
        if not 1 <= n_neighbors <= n_rows:
            raise ValueError(
                f"n_neighbors must be between 1 and the number of remembered rows, "
                f"{n_rows}; got {n_neighbors!r}."
            )
        with torch.inference_mode():
            if len(self.members_) == 1:
                memory = self.members_[0].memory
                found = memory.nearest(queries[0], n_neighbors, asked)
            else:
                found = self._nearest_of_all(queries, n_neighbors, asked)
        distances, rows, shares = (part.cpu().numpy() for part in found)
        return Neighbors(distances, self.remembered_.origin[rows], shares)

    def _nearest_of_all(
        self, queries: list[Tensor], n_neighbors: int, moments: Tensor | None
    ) -> Any:
        """Rows with the largest mean share over all members."""
        memories = [member.memory for member in self.members_]
        parts = []
        for chunk in chunks(len(queries[0]), len(memories[0]), memories[0].n_pairs):
            asked = [(m, q[chunk]) for m, q in zip(memories, queries, strict=True)]
            when = None if moments is None else moments[chunk]
            of_each = [m.shares(q, when) for m, q in asked]
            votes = torch.stack([share @ memories[0].values for share in of_each])
            counts = self._counts(votes.double().cpu().numpy())
            shares = _mean(of_each, counts)
            top = shares.topk(n_neighbors)
            distances = [m.distances(q, top.indices) for m, q in asked]
            parts.append((_mean(distances, counts), top.indices, top.values))
        return [torch.cat(part) for part in zip(*parts, strict=True)]

    def _votes(self, X) -> np.ndarray:
        """The mean vote of the members, (B, V)."""
        return self._vote(self._read_asking(X))

    def _vote(self, asking: Asking) -> np.ndarray:
        """The mean vote of the members for encoded rows, (B, V)."""
        votes = self._votes_of_each(asking)
        return (votes * self._counts(votes)[..., None]).sum(0)

    def _counts(self, votes: np.ndarray) -> np.ndarray:
        """How much each member counts for each row of votes (M, B, V): (M, B)."""
        return counts(votes, self.member_weights_, self.reach_)

    def _votes_of_each(self, asking: Asking) -> np.ndarray:
        """The vote of each member for encoded rows, (M, B, V)."""
        queries = self._queries(asking)
        with torch.inference_mode():
            votes = [
                member.memory.vote(query, asking.moments).mean.double()
                for member, query in zip(self.members_, queries, strict=True)
            ]
        return torch.stack(votes).cpu().numpy()

    def _queries(self, asking: Asking) -> list[Tensor]:
        """Embed rows with each member: (B, D)."""
        return [embed_all(member.net, asking.rows) for member in self.members_]

    def _read_asking(self, X) -> Asking:
        """Check and encode what was given to predict."""
        self._check_fitted()
        table = read_table(X)
        self._check_width(table)
        return self._asking(table)

    def _check_fitted(self) -> None:
        message = "This %(name)s is not fitted yet; call fit(X, y) first."
        check_is_fitted(self, "members_", msg=message)

    def _check_width(self, table: RawTable) -> None:
        """Columns without names are known by their number."""
        by_name = table.named and hasattr(self, "feature_names_in_")
        if len(table.columns) != self.n_features_in_ and not by_name:
            raise ValueError(
                f"X has {len(table.columns)} features, but {type(self).__name__} is "
                f"expecting {self.n_features_in_} features as input; give the same "
                "columns as in fit."
            )

    # Files.

    def save(self, path, *, rows=True):
        """Write the fitted model to one file; `modernnca.load` reads it.

        The file holds safetensors and JSON: reading it never runs code. It is written
        whole or not at all. With rows=False the raw rows of the training table stay
        out; their embeddings and targets are needed to predict and stay in.
        """
        # The file names estimators, so persist.py imports them, and so this file.
        from modernnca.estimators.persist import save_model

        self._check_fitted()
        save_model(self, path, rows=rows)

    # scikit-learn's questions.

    @property
    def _n_features_out(self) -> int:
        return sum(net.shape.dim for net in self._networks())

    def get_feature_names_out(self, input_features=None):
        """Names of the numbers that `transform` gives."""
        self._check_fitted()
        prefix = type(self).__name__.lower()
        names = [f"{prefix}{i}" for i in range(self._n_features_out)]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags
