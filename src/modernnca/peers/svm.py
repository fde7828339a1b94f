"""SVM: a linear support vector machine."""

from typing import Any

from sklearn.svm import LinearSVC, LinearSVR

from modernnca.peers.base import Peer
from modernnca.peers.columns import Matrix
from modernnca.peers.wrapped import Wrapped
from modernnca.tune.space import LogFloat


def make(task: str, seed: int, *, report: Any = None, **settings: Any) -> Wrapped:
    """Build the estimator."""
    kind = LinearSVR if task == "regression" else LinearSVC
    model = kind(random_state=seed, dual="auto", **settings)
    return Wrapped(model, task=task, columns=Matrix())


PEER = Peer(
    name="svm",
    title="SVM",
    paper="Cortes and Vapnik, 1995",
    source="scikit-learn's LinearSVC and LinearSVR, as in the paper's benchmark",
    differs="probabilities are a softmax of the margins: they rank, uncalibrated",
    make=make,
    defaults={"C": 1.0, "max_iter": 2000},
    space={"C": LogFloat(1e-5, 1e5)},
)
