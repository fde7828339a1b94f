"""The relatives of ModernNCA: NCA and the ladder to L-NCA, L-NCA, and TabCon.

They are the same estimators with other default presets. L-NCA is the last step of the
ladder, NCAv4, as in the paper: SGD, and all rows vote. (The preset "linear" trains the
same projection as M-NCA is trained: by AdamW, on sampled rows.)
"""

from modernnca.estimators.classifier import ModernNCAClassifier
from modernnca.estimators.regressor import ModernNCARegressor


class LNCAClassifier(ModernNCAClassifier):
    """L-NCA: a linear projection learned with the log loss and a soft vote.

    The arguments are those of `ModernNCAClassifier`; the default preset is "nca-v4".
    """

    _default_preset = "nca-v4"


class LNCARegressor(ModernNCARegressor):
    """L-NCA for regression: a linear projection learned with the squared error.

    The arguments are those of `ModernNCAClassifier`; the default preset is "nca-v4".
    """

    _default_preset = "nca-v4"


class NCAClassifier(ModernNCAClassifier):
    """Neighbourhood Components Analysis, from 2004 to L-NCA in five steps.

    The arguments are those of `ModernNCAClassifier`; the preset is the step, which
    changes one thing (the paper's table "L-NCA"): "nca-v0", L-BFGS, no more dimensions
    than columns, the sum of probabilities, k-NN prediction; "nca-v1", more dimensions;
    "nca-v2", SGD; "nca-v3", the log loss; "nca-v4", the default, the soft vote, which
    is L-NCA.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NCAClassifier(preset="nca-v0", random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    _default_preset = "nca-v4"


class TabConClassifier(ModernNCAClassifier):
    """TabCon: a supervised contrastive loss within the batch, then k-NN.

    The arguments are those of `ModernNCAClassifier`; the default preset is "tabcon".
    """

    _default_preset = "tabcon"


class TabConRegressor(ModernNCARegressor):
    """TabCon for regression: the loss sees bins of the target, k-NN the target.

    The arguments are those of `ModernNCAClassifier`; the default preset is "tabcon".
    """

    _default_preset = "tabcon"
