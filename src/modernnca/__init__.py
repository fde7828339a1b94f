"""Nearest neighbors for tables, with a learned distance.

>>> import modernnca
>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True, as_frame=True)
>>> model = modernnca.ModernNCAClassifier(max_epochs=5, random_state=0).fit(X, y)
>>> model.predict(X[:1])
array([0])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from modernnca._version import __version__
from modernnca.errors import MissingExtraError, ModelFileError, StoreError, TableError

if TYPE_CHECKING:
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

# Where the other names live. They are fetched when asked for: torch takes seconds to
# import, and a shell's help, or a worker that only waits, does without.
_HOMES = {
    "LNCAClassifier": "family",
    "LNCARegressor": "family",
    "ModernNCAClassifier": "classifier",
    "ModernNCARegressor": "regressor",
    "NCAClassifier": "family",
    "PRESETS": "settings",
    "TabConClassifier": "family",
    "TabConRegressor": "family",
    "load": "persist",
}

__all__ = [
    "PRESETS",
    "LNCAClassifier",
    "LNCARegressor",
    "MissingExtraError",
    "ModelFileError",
    "ModernNCAClassifier",
    "ModernNCARegressor",
    "NCAClassifier",
    "StoreError",
    "TabConClassifier",
    "TabConRegressor",
    "TableError",
    "__version__",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'modernnca' has no attribute {name!r}")
    part = getattr(import_module(f"modernnca.estimators.{_HOMES[name]}"), name)
    globals()[name] = part
    return part


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
