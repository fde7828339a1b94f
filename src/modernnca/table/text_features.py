"""Free text as numbers: what texts share, by their character n-grams.

N-grams of two to four characters, within words, are hashed and counted; a truncated SVD
of the distinct training texts (latent semantic analysis) turns the counts into a few
numbers. No target is used, so nothing leaks.
Shapes: N cells, H hash values, K features.
"""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.utils.extmath import randomized_svd

_N_HASHES = 2**12  # H
_MAX_TEXTS = 10_000  # distinct ones that are learned from
_MAX_LENGTH = 500  # characters of a text that are read


class TextFeatures:
    """Texts to K numbers; a missing text to NaN.

    >>> texts = [f"{size} {what}" for size in ("big", "small") for what in "abcdefgh"]
    >>> features = TextFeatures(2).fit(np.array(texts, dtype=object))
    >>> features.transform(np.array(["big x", None], dtype=object)).shape
    (2, 2)
    """

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features

    def fit(self, cells: np.ndarray) -> Self:
        """Learn from a column of texts."""
        texts = sorted({cell for cell in cells if cell is not None})
        counts = _count(texts[:: 1 + len(texts) // _MAX_TEXTS])  # (N, H)
        n_texts = counts.shape[0]
        n_with = np.bincount(counts.indices, minlength=_N_HASHES)  # (H,)
        idf = np.log((1 + n_texts) / (1 + n_with)) + 1
        most = max(1, min(self.n_features, n_texts - 1))
        weighted = counts @ sparse.diags_array(idf)
        _, _, axes = randomized_svd(weighted, most, n_iter=3, random_state=0)  # (K, H)
        self.projection_ = (axes.T * idf[:, None]).astype(np.float32)  # (H, K)
        return self

    def transform(self, cells: np.ndarray) -> np.ndarray:
        """Return the features of a column of texts, float64 (N, K)."""
        texts = list(dict.fromkeys(cells))
        places = {text: place for place, text in enumerate(texts)}
        known = [text for text in texts if text is not None]
        found = np.full((len(texts), self.projection_.shape[1]), np.nan)
        rows = [places[text] for text in known]
        found[rows] = _count(known) @ self.projection_.astype(np.float64)
        return found[[places[cell] for cell in cells]]

    def state(self) -> dict[str, Any]:
        """Return what was learned."""
        return {"projection": self.projection_}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the features from what was learned."""
        projection = np.asarray(state["projection"], dtype=np.float32)
        if projection.ndim != 2 or len(projection) != _N_HASHES:
            raise ValueError(f"a text projection has the shape {projection.shape}")
        new = cls(projection.shape[1])
        new.projection_ = projection
        return new


def _count(texts: list[str]) -> sparse.csr_array:
    """Counts of hashed n-grams, each text of length one, (N, H)."""
    hashing = HashingVectorizer(
        analyzer="char_wb",
        ngram_range=(2, 4),
        n_features=_N_HASHES,
        alternate_sign=False,
    )
    shortened = [text[:_MAX_LENGTH] for text in texts]
    if not shortened:
        return sparse.csr_array((0, _N_HASHES))
    return sparse.csr_array(hashing.transform(shortened))
