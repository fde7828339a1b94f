"""The relatives of ModernNCA: NCA and its ladder, L-NCA, and TabCon."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from modernnca._named import named
from modernnca.core.net import NetShape
from modernnca.estimators.classifier import ModernNCAClassifier
from modernnca.estimators.regressor import ModernNCARegressor
from modernnca.table.targets import bin_numbers

VERSIONS = {version: f"nca-{version}" for version in ("v0", "v1", "v2", "v3", "v4")}


class LNCAClassifier(ModernNCAClassifier):
    """L-NCA: a linear projection learned with the log loss and a soft vote.

    The arguments are those of `ModernNCAClassifier`; "auto" means the preset "linear".
    """

    def _default_preset(self, n_rows: int) -> str:
        return "linear"


class LNCARegressor(ModernNCARegressor):
    """L-NCA for numbers: a linear projection learned with the squared error.

    The arguments are those of `ModernNCAClassifier`; "auto" means the preset "linear".
    """

    def _default_preset(self, n_rows: int) -> str:
        return "linear"


class NCAClassifier(ModernNCAClassifier):
    """Neighbourhood Components Analysis, from 2004 to L-NCA in five steps.

    Args:
        version: what is changed, one thing at a time (the paper's table "L-NCA"):
            "v0", L-BFGS, no more dimensions than columns, the sum of probabilities,
            k-NN prediction; "v1", more dimensions; "v2", SGD; "v3", the log loss;
            "v4", the soft vote, which is L-NCA.
        dim: dimensions of the projection; "v0" takes at most the number of columns.

    The other arguments are those of `ModernNCAClassifier`.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(NCAClassifier(version="v0", random_state=0).fit(X, y).score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        version="v4",
        numbers="auto",
        categories="auto",
        categorical_columns=None,
        numerical_columns=None,
        dim="auto",
        n_neighbors="auto",
        learning_rate="auto",
        weight_decay="auto",
        batch_size="auto",
        max_epochs="auto",
        patience="auto",
        stopping_metric="auto",
        validation_fraction="auto",
        time_limit=None,
        refit="auto",
        class_weight=None,
        device="auto",
        random_state=None,
        verbose=0,
        callbacks=(),
    ):
        super().__init__(
            numbers=numbers,
            categories=categories,
            categorical_columns=categorical_columns,
            numerical_columns=numerical_columns,
            dim=dim,
            n_neighbors=n_neighbors,
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            batch_size=batch_size,
            max_epochs=max_epochs,
            patience=patience,
            stopping_metric=stopping_metric,
            validation_fraction=validation_fraction,
            time_limit=time_limit,
            refit=refit,
            class_weight=class_weight,
            device=device,
            random_state=random_state,
            verbose=verbose,
            callbacks=callbacks,
        )
        self.version = version

    def _default_preset(self, n_rows: int) -> str:
        return named("version", self.version, VERSIONS)

    def _net_shape(self, number: int) -> NetShape:
        shape = super()._net_shape(number)
        if self.version != "v0":
            return shape
        n_columns = shape.n_numbers + shape.n_plain + shape.n_levels
        return replace(shape, dim=min(shape.dim, n_columns))


class TabConClassifier(ModernNCAClassifier):
    """TabCon: a supervised contrastive loss within the batch, then k-NN.

    The arguments are those of `ModernNCAClassifier`; "auto" means the preset "tabcon".
    """

    def _default_preset(self, n_rows: int) -> str:
        return "tabcon"


class TabConRegressor(ModernNCARegressor):
    """TabCon for numbers: the loss sees bins of the target, the k-NN the target.

    The arguments are those of `ModernNCAClassifier`; "auto" means the preset "tabcon".
    """

    _learns_from = "classes"

    # PAPER: "label values are discretized", without a number; ten quantile bins.
    _n_bins = 10

    def _default_preset(self, n_rows: int) -> str:
        return "tabcon"

    def _labels(self, y: np.ndarray) -> Tensor:
        # Only rows that are learned from are ever compared, so each part may have bins
        # of its own.
        codes, _ = bin_numbers(self.target_.encode(y), self._n_bins)
        return one_hot(torch.from_numpy(codes), self._n_bins).float()
