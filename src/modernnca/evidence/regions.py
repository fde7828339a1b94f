"""Regions: clusters of remembered rows, each named by what sets it apart.

Shapes: M remembered rows, D embedding, R regions.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from sklearn.cluster import KMeans
from torch import Tensor

from modernnca.core.distances import cosine
from modernnca.core.rows import Rows
from modernnca.ensemble.embedding_member import EmbeddingMember
from modernnca.ensemble.ensemble import Ensemble
from modernnca.table.read import RawTable, as_levels, missing_in
from modernnca.table.schema import Schema, conform

_MAX_FITTED = 10_000  # rows that find the centers
_ROWS_EACH = 15  # at least, on average
_MIN_EFFECT = 0.3  # in standard deviations, or shares of the rows
_N_NAMED = 2  # columns in the name of a region


class Regions(NamedTuple):
    """Clusters of the remembered rows."""

    centers: np.ndarray  # (R, D)
    of_rows: np.ndarray  # (M,) the region of each remembered row
    prototypes: np.ndarray  # (R,) the remembered row nearest to each center

    def find(self, points: np.ndarray) -> np.ndarray:
        """The region of each of some embedded rows (B, D)."""
        return _nearest(points, self.centers)


def embedded_members(ensemble: Ensemble) -> list[tuple[EmbeddingMember, float]]:
    """The members that have an embedding, with the factor of each in a common one."""
    found = []
    for member, weight in zip(ensemble.members, ensemble.combine.weights, strict=True):
        if not isinstance(member, EmbeddingMember) or member.auxiliary:
            continue
        spread = float(_points(member, member.keys_).std(dim=0).square().sum().sqrt())
        found.append((member, weight**0.5 / spread if spread > 0 else 0.0))
    if not found:
        raise ValueError(
            "No member of this model has an embedding; fit one with networks, or with "
            "members=['knn']."
        )
    return found


def remembered_points(ensemble: Ensemble) -> np.ndarray:
    """The embeddings of the remembered rows side by side, (M, D)."""
    members = embedded_members(ensemble)
    return _side_by_side([_points(m, m.keys_) * by for m, by in members])


def embedded_points(ensemble: Ensemble, rows: Rows) -> np.ndarray:
    """The embeddings of other rows, as `remembered_points` has them, (B, D)."""
    with torch.inference_mode():
        members = embedded_members(ensemble)
        return _side_by_side([_points(m, m.embed(rows)) * by for m, by in members])


def _points(member: EmbeddingMember, embedded: Tensor) -> Tensor:
    """Embeddings whose Euclidean distances are in the order of the member's own."""
    if member.rule().distance is cosine:
        return torch.nn.functional.normalize(embedded.double(), dim=1)
    return embedded.double()


def _side_by_side(parts: Sequence[Tensor]) -> np.ndarray:
    joined: np.ndarray = torch.cat(list(parts), dim=1).cpu().numpy()
    return np.nan_to_num(joined)


def find_regions(points: np.ndarray, n_regions: int) -> Regions:
    """Cut rows (M, D) into at most so many clusters, by k-means."""
    distinct = len(np.unique(points[:_MAX_FITTED], axis=0))
    n_regions = max(1, min(n_regions, len(points) // _ROWS_EACH, distinct))
    some = np.random.RandomState(0).permutation(len(points))[:_MAX_FITTED]
    means = KMeans(n_regions, n_init=2, random_state=0).fit(points[some])
    centers = means.cluster_centers_
    prototypes = _nearest(centers, points)
    return Regions(centers, _nearest(points, centers), prototypes)


def _nearest(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    """For each point (B, D) the nearest of the others (M, D), in chunks."""
    squares, parts = np.square(others).sum(1), []
    step = max(1, 2**24 // max(1, len(others)))
    for start in range(0, len(points), step):
        some = points[start : start + step]
        parts.append((squares - 2 * some @ others.T).argmin(1))
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def name_regions(table: RawTable, schema: Schema, of_rows: np.ndarray) -> list[str]:
    """A name for each region, by the columns in which it differs most from all rows.

    >>> from modernnca.table.schema import learn_schema, read_table
    >>> table = read_table([[1.0, "a"], [1.5, "a"], [9.0, "b"], [9.5, "b"]])
    >>> name_regions(table, learn_schema(table), np.array([0, 0, 1, 1]))
    ['x1 a, x0 low', 'x1 b, x0 high']
    """
    columns = conform(table, schema).columns
    names = [c.name for c in schema.columns if c.kind not in ("identifier", "constant")]
    n_regions = int(of_rows.max()) + 1
    told: list[list[tuple[float, str]]] = [[] for _ in range(n_regions)]
    for name in names:
        for place, (effect, text) in enumerate(_effects(columns[name], of_rows)):
            told[place].append((effect, f"{name} {text}"))
    result = []
    for each in told:
        most = sorted(each, key=lambda pair: -pair[0])[:_N_NAMED]
        kept = [text for effect, text in most if effect >= _MIN_EFFECT]
        result.append(", ".join(kept) or "like the average row")
    return result


def _effects(cells: np.ndarray, of_rows: np.ndarray) -> list[tuple[float, str]]:
    """For each region how far a column is from that of all rows, and in which way."""
    found, missing = [], missing_in(cells)
    n_regions = int(of_rows.max()) + 1
    if cells.dtype.kind == "O":
        levels, codes = np.unique(as_levels(cells).astype(str), return_inverse=True)
        shares = np.zeros((n_regions, len(levels)))
        np.add.at(shares, (of_rows, codes), 1.0)
        overall = shares.sum(0) / len(cells)
        shares /= np.maximum(shares.sum(1, keepdims=True), 1)
        for own in shares:
            most = int((own - overall).argmax())
            label = "missing" if levels[most] == "None" else str(levels[most])
            found.append((2 * float(own[most] - overall[most]), label))
        return found
    if cells.dtype.kind == "M":
        cells = cells.astype("datetime64[us]").astype(np.int64)
    numbers = np.where(missing, np.nan, cells.astype(np.float64))
    low, middle, high = np.nanquantile(numbers, [0.25, 0.5, 0.75])
    scale = (high - low) / 1.349 or np.nanstd(numbers) or 1.0
    scaled = np.arcsinh((numbers - middle) / scale)
    for region in range(n_regions):
        own = scaled[of_rows == region]
        if np.isnan(own).all():
            found.append((1.0 if len(own) else 0.0, "missing"))
            continue
        effect = float(np.nanmedian(own)) * (1 - np.isnan(own).mean())
        found.append((abs(effect), "high" if effect > 0 else "low"))
    return found
