"""SVM: a linear support vector machine."""

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.svm import LinearSVC, LinearSVR

from modernnca._declared import array
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.estimator_model import EstimatorModel, estimator_maker
from modernnca.lab.peers.table_encoders import MatrixEncoder
from modernnca.tune.space import LogFloat


class SVM(EstimatorModel):
    """scikit-learn's linear SVM, with a softmax of its margins as probabilities."""

    encoder: MatrixEncoder

    def make_estimator(self, **settings: Any) -> Any:
        """The estimator of scikit-learn."""
        estimator = LinearSVR if self.is_regression else LinearSVC
        return estimator(random_state=self.seed, dual="auto", **settings)

    def predict_encoded(self, x: Any) -> np.ndarray:
        """Probabilities (B, V), or standardized numbers (B,)."""
        if self.is_regression:
            return np.asarray(self.model.predict(x))
        margins = self.model.decision_function(x)
        if margins.ndim == 1:
            margins = np.stack([-margins / 2, margins / 2], axis=1)
        return np.asarray(softmax(margins, axis=1))

    def estimator_state(self) -> dict[str, Any]:
        """The coefficients of its hyperplanes."""
        return {"coef": self.model.coef_, "intercept": self.model.intercept_}

    def load_estimator_state(self, state: dict[str, Any]) -> None:
        """Restore the coefficients."""
        n_values, n_columns = self.target_.n_values, self.encoder.width
        n_planes = 1 if n_values <= 2 else n_values
        shape = (n_columns,) if self.is_regression else (n_planes, n_columns)
        self.model.coef_ = array(state["coef"], "coef", shape, ["float64"])
        planes = (n_planes,)
        intercept = array(state["intercept"], "intercept", planes, ["float64"])
        self.model.intercept_ = intercept
        if not self.is_regression:
            self.model.classes_ = np.arange(len(self.classes_))


PEER = Peer(
    name="svm",
    title="SVM",
    paper="Cortes and Vapnik, 1995",
    source="scikit-learn's LinearSVC and LinearSVR, as in the paper's benchmark",
    differs="probabilities are a softmax of the margins, which ranks but is not "
    "calibrated; a time limit cannot interrupt it",
    make=estimator_maker("svm", SVM),
    defaults={"C": 1.0, "max_iter": 2000},
    space={"C": LogFloat(1e-5, 1e5)},
)
