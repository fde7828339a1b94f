"""Nearest neighbors for tables, with a learned distance.

>>> import modernnca
>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True, as_frame=True)
>>> model = modernnca.ModernNCAClassifier(max_epochs=5, random_state=0).fit(X, y)
>>> model.predict(X[:1])
array([0])
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from modernnca._version import __version__
from modernnca.errors import (
    BaselineWarning,
    FitWarning,
    MissingExtraError,
    ModelFileError,
    StoreError,
    TableError,
    TimeLimitWarning,
)

if TYPE_CHECKING:
    from modernnca.ensemble.baselines import ConstantMember, KNNMember
    from modernnca.ensemble.fit_report import FitReport
    from modernnca.ensemble.forest_member import ForestMember
    from modernnca.ensemble.member import Member
    from modernnca.ensemble.network_member import NetworkMember
    from modernnca.estimators.classifier import ModernNCAClassifier
    from modernnca.estimators.config import ModernNCAConfig
    from modernnca.estimators.family import (
        LNCAClassifier,
        LNCARegressor,
        NCAClassifier,
        TabConClassifier,
        TabConRegressor,
    )
    from modernnca.estimators.persistence import load
    from modernnca.estimators.presets import PRESETS
    from modernnca.estimators.regressor import ModernNCARegressor

# Where the other names live. They are imported on first use: torch takes seconds to
# import, and a shell's help, or a worker that only waits, does without.
_HOMES = {
    "ConstantMember": "ensemble.baselines",
    "FitReport": "ensemble.fit_report",
    "ForestMember": "ensemble.forest_member",
    "KNNMember": "ensemble.baselines",
    "LNCAClassifier": "estimators.family",
    "LNCARegressor": "estimators.family",
    "Member": "ensemble.member",
    "ModernNCAClassifier": "estimators.classifier",
    "ModernNCAConfig": "estimators.config",
    "ModernNCARegressor": "estimators.regressor",
    "NCAClassifier": "estimators.family",
    "NetworkMember": "ensemble.network_member",
    "PRESETS": "estimators.presets",
    "TabConClassifier": "estimators.family",
    "TabConRegressor": "estimators.family",
    "load": "estimators.persistence",
}

__all__ = [
    "PRESETS",
    "BaselineWarning",
    "ConstantMember",
    "FitReport",
    "FitWarning",
    "ForestMember",
    "KNNMember",
    "LNCAClassifier",
    "LNCARegressor",
    "Member",
    "MissingExtraError",
    "ModelFileError",
    "ModernNCAClassifier",
    "ModernNCAConfig",
    "ModernNCARegressor",
    "NCAClassifier",
    "NetworkMember",
    "StoreError",
    "TabConClassifier",
    "TabConRegressor",
    "TableError",
    "TimeLimitWarning",
    "__version__",
    "load",
]

# What a fit tells goes to the logger "modernnca"; who wants to see it adds a handler.
logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'modernnca' has no attribute {name!r}")
    part = getattr(import_module(f"modernnca.{_HOMES[name]}"), name)
    globals()[name] = part
    return part


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
