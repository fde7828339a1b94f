"""SVM: a linear support vector machine."""

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.svm import LinearSVC, LinearSVR

from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.wrapped import Wrapped, wrapped_maker
from modernnca.tune.space import LogFloat


class SVM(Wrapped):
    """Margins of the classes become numbers that rank alike and sum to one."""

    def estimator(self, **settings: Any) -> Any:
        """Of scikit-learn."""
        kind = LinearSVR if self.regression else LinearSVC
        return kind(random_state=self.seed, dual="auto", **settings)

    def answer(self, x: Any) -> np.ndarray:
        """Probabilities (B, V), or standardized numbers (B,)."""
        if self.regression:
            return np.asarray(self.model.predict(x))
        margins = self.model.decision_function(x)
        if margins.ndim == 1:
            margins = np.stack([-margins / 2, margins / 2], axis=1)
        return np.asarray(softmax(margins, axis=1))

    def put_away(self) -> dict[str, Any]:
        """Its planes."""
        return {"coef": self.model.coef_, "intercept": self.model.intercept_}

    def bring_back(self, state: dict[str, Any]) -> None:
        """The same planes."""
        self.model.coef_, self.model.intercept_ = state["coef"], state["intercept"]
        if not self.regression:
            self.model.classes_ = np.arange(len(self.classes_))


PEER = Peer(
    name="svm",
    title="SVM",
    paper="Cortes and Vapnik, 1995",
    source="scikit-learn's LinearSVC and LinearSVR, as in the paper's benchmark",
    differs="probabilities are a softmax of the margins: they rank, uncalibrated; "
    "a limit of time cannot interrupt it",
    make=wrapped_maker("svm", SVM),
    defaults={"C": 1.0, "max_iter": 2000},
    space={"C": LogFloat(1e-5, 1e5)},
)
