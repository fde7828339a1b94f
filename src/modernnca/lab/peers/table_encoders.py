"""Raw tables as inputs of other libraries: a matrix, or a pandas frame."""

from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse

from modernnca.table.preprocessor import (
    EncodedTable,
    PreprocessingConfig,
    Preprocessor,
)
from modernnca.table.schema import read_table

_CONFIG = PreprocessingConfig.defaults().updated({"max_plain_values": 0})
_MAX_DENSE_LEVELS = 500  # with more levels, the matrix is sparse


class MatrixEncoder:
    """Standardized numbers and one-hot categories, (N, P + levels)."""

    def fit(self, X: Any) -> Self:
        """Learn the columns."""
        self.preprocessor_ = Preprocessor(_CONFIG).fit(read_table(X))
        return self

    @property
    def width(self) -> int:
        """The number of columns of the matrix."""
        table = self.preprocessor_
        return table.n_numbers + table.n_plain + table.n_levels

    def transform(self, X: Any) -> Any:
        """Return a dense matrix, or a sparse one if there are many levels."""
        encoded = self.preprocessor_.transform(read_table(X))
        numbers = np.hstack([encoded.numbers, encoded.plain]).astype(np.float64)
        n_levels = self.preprocessor_.n_levels
        if not n_levels:
            return numbers
        onehot = _onehot(encoded, n_levels)
        if n_levels > _MAX_DENSE_LEVELS:
            x = sparse.hstack([sparse.csr_array(numbers), onehot], format="csr")
            # scikit-learn's linear models and trees accept 32-bit indices only.
            x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
            return x
        return np.hstack([numbers, onehot.toarray()])


def _onehot(encoded: EncodedTable, n_levels: int) -> sparse.csr_array:
    n_rows, n_columns = encoded.codes.shape
    rows = np.repeat(np.arange(n_rows), n_columns)
    codes = encoded.codes.ravel()
    known = codes < n_levels  # an unknown level has no column
    ones = np.ones(known.sum())
    return sparse.csr_array(
        (ones, (rows[known], codes[known])), shape=(n_rows, n_levels)
    )


class FrameEncoder:
    """Numbers as they are, missing-value indicators, and pandas categories."""

    def fit(self, X: Any) -> Self:
        """Learn the columns."""
        config = _CONFIG.updated({"standardize": False})
        self.preprocessor_ = Preprocessor(config).fit(read_table(X))
        return self

    @property
    def categorical(self) -> list[str]:
        """The names of the categorical columns."""
        return [f"c{i}" for i in range(self.preprocessor_.n_codes)]

    def transform(self, X: Any) -> pd.DataFrame:
        """Return a pandas frame; an unknown level is missing."""
        encoded = self.preprocessor_.transform(read_table(X))
        numbers = np.hstack([encoded.numbers, encoded.plain])
        columns: dict[str, Any] = {f"n{i}": cells for i, cells in enumerate(numbers.T)}
        categorical = self.preprocessor_.categorical_
        start = 0
        for name, column, codes in zip(
            self.categorical, categorical.kept_, encoded.codes.T, strict=True
        ):
            n_levels = len(categorical.levels_[column])
            known = codes < categorical.n_levels
            codes = np.where(known, codes - start, -1)
            columns[name] = pd.Categorical.from_codes(codes, categories=range(n_levels))
            start += n_levels
        return pd.DataFrame(columns)
