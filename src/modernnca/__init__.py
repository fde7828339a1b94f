"""Nearest neighbors for tables, with a learned distance.

>>> import modernnca
>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True, as_frame=True)
>>> model = modernnca.ModernNCAClassifier(max_epochs=5, random_state=0).fit(X, y)
>>> model.predict(X[:1])
array([0])
"""

from modernnca._version import __version__
from modernnca.errors import MissingExtraError, ModelFileError, TableError
from modernnca.estimators.classifier import ModernNCAClassifier
from modernnca.estimators.family import (
    LNCAClassifier,
    LNCARegressor,
    NCAClassifier,
    TabConClassifier,
    TabConRegressor,
)
from modernnca.estimators.persist import load
from modernnca.estimators.regressor import ModernNCARegressor
from modernnca.estimators.settings import PRESETS

__all__ = [
    "PRESETS",
    "LNCAClassifier",
    "LNCARegressor",
    "MissingExtraError",
    "ModelFileError",
    "ModernNCAClassifier",
    "ModernNCARegressor",
    "NCAClassifier",
    "TabConClassifier",
    "TabConRegressor",
    "TableError",
    "__version__",
    "load",
]
