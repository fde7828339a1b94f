"""Fit a case to a reference table, and predict its queries."""

import numpy as np
from tests.reference.reference_cases import Case
from tests.reference.reference_tables import TABLES

import modernnca


def predict(case: Case, table: str, **changes) -> np.ndarray:
    """Probabilities, or predictions, of the queries."""
    ref = TABLES[table]()
    arguments = {"max_epochs": 6, **case.arguments, **changes}
    if case.estimator == "ModernNCA":
        arguments.setdefault("preset", "fast")
    # Rounding moves rows to other leaves, so leaves have cases of their own.
    config = {"leaf_size": 0, **case.config}
    kind = "Regressor" if ref.is_regression else "Classifier"
    model = getattr(modernnca, case.estimator + kind)(
        random_state=0,
        device="cpu",
        time_column=ref.time_column,
        config=config,
        **arguments,
    )
    X, y, extra = ref.X, ref.y, {}
    if case.eval_set:
        held = np.arange(len(y)) % 5 == 0
        extra["eval_set"] = (X[held], y[held])
        X, y = X[~held], y[~held]
    if case.sample_weight:
        extra["sample_weight"] = 0.5 + np.random.RandomState(9).rand(len(y))
    model.fit(X, y, **extra)
    answer = model.predict if ref.is_regression else model.predict_proba
    return answer(ref.queries)
