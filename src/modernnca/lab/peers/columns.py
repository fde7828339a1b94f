"""Raw tables as what foreign estimators take: a matrix, or a frame with categories."""

from typing import Any, Self

import numpy as np
from scipy import sparse

from modernnca.table.preprocessor import (
    EncodedTable,
    PreprocessingConfig,
    Preprocessor,
)
from modernnca.table.schema import read_table

_COLUMNS = PreprocessingConfig.defaults().updated({"max_plain_values": 0})
# One-hot columns beyond this many times the others are kept as a sparse matrix.
_MOST_DENSE = 500


class Matrix:
    """Standardized numbers beside one-hot categories, (N, P + levels)."""

    def fit(self, X: Any) -> Self:
        """Learn the columns."""
        self.encoder_ = Preprocessor(_COLUMNS).fit(read_table(X))
        return self

    def transform(self, X: Any) -> Any:
        """Return a dense matrix, or a sparse one where there are many levels."""
        encoded = self.encoder_.transform(read_table(X))
        numbers = np.hstack([encoded.numbers, encoded.plain]).astype(np.float64)
        n_levels = self.encoder_.n_levels
        if not n_levels:
            return numbers
        onehot = _onehot(encoded, n_levels)
        if n_levels > _MOST_DENSE:
            x = sparse.hstack([sparse.csr_array(numbers), onehot], format="csr")
            # Linear models and trees of scikit-learn take no wider places than these.
            x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
            return x
        return np.hstack([numbers, onehot.toarray()])


def _onehot(encoded: EncodedTable, n_levels: int) -> sparse.csr_array:
    n_rows, n_columns = encoded.codes.shape
    places = np.repeat(np.arange(n_rows), n_columns)
    codes = encoded.codes.ravel()
    known = codes < n_levels  # the others are none of the known
    ones = np.ones(known.sum())
    return sparse.csr_array(
        (ones, (places[known], codes[known])), shape=(n_rows, n_levels)
    )


class Frame:
    """Numbers as they are, gaps marked, beside categories of pandas."""

    def fit(self, X: Any) -> Self:
        """Learn the columns."""
        config = _COLUMNS.updated({"standardize": False})
        self.encoder_ = Preprocessor(config).fit(read_table(X))
        return self

    @property
    def categorical(self) -> list[str]:
        """The names of the columns of categories."""
        return [f"c{place}" for place in range(self.encoder_.n_codes)]

    def transform(self, X: Any) -> Any:
        """Return a pandas frame; an unseen level is missing."""
        import pandas as pd

        encoded = self.encoder_.transform(read_table(X))
        numbers = np.hstack([encoded.numbers, encoded.plain])
        columns: dict[str, Any] = {f"n{i}": cells for i, cells in enumerate(numbers.T)}
        levels = self.encoder_.categorical_
        start = 0
        for name, place, codes in zip(
            self.categorical, levels.kept_, encoded.codes.T, strict=True
        ):
            n_levels = len(levels.levels_[place])
            own = np.where(codes < levels.n_levels, codes - start, -1)
            columns[name] = pd.Categorical.from_codes(own, categories=range(n_levels))
            start += n_levels
        return pd.DataFrame(columns)
