"""ModernNCAClassifier."""

import numpy as np
from sklearn.base import ClassifierMixin

from modernnca.estimators.estimator import BaseModernNCA
from modernnca.evidence.conformal import check_coverage, prediction_sets
from modernnca.evidence.uncertainty import known


class ModernNCAClassifier(ClassifierMixin, BaseModernNCA):
    """Classify rows of a table by a vote of the training rows near them.

    The distance is learned. Raw tables are welcome: numbers, categories, dates, gaps.
    An argument left at None is chosen for you, mostly by the preset; `config_` shows
    what was chosen.

    Args:
        preset: "fast", "default", "best"; "paper", the defaults of the paper's public
            code; "linear", L-NCA; or another name of `modernnca.PRESETS`. None:
            "default".
        members: what votes: a list of `modernnca.ensemble.member.Member` objects, or of
            names of their kinds. None: networks, and a forest where rows are few.
        n_members: how many networks vote, if `members` is None.
        dim: size of the embedding.
        n_blocks, d_block, dropout: the blocks of the networks; without a block the
            embedding is linear in the encoded columns.
        learning_rate, weight_decay: of the optimizer.
        batch_size: rows in a step. Below 32,000 rows, members without a block take half
            of it.
        max_epochs: the most epochs of a network.
        patience: epochs without a better score before training stops; inf never stops.
        validation_fraction: the share of rows held out for validation; with 0 (and in
            tables of less than 10 rows) each row is validated by the votes of all
            others.
        refit: what happens to validation rows in the end: "remember" (the networks are
            fine-tuned on all rows, which join the memory), "full" (everything is
            retrained from scratch on all rows), "none" (they stay out).
        eval_metric: of early stopping: accuracy, balanced-accuracy, log-loss, auc;
            rmse, mae, r2; or a function of (y, probabilities or predictions), higher is
            better.
        calibrate: calibrate class probabilities on the validation rows.
        class_weight: None, "balanced", or a dict from class to weight.
        categorical_features: names or positions of columns to take as categories.
        keep: names or positions of columns to use even if they number or name the rows,
            as identifiers do, which are left out.
        time_column: name or position of the column, of dates or numbers, that tells
            when a row happened, in tables that drift in time.
        time_limit: seconds that `fit` may take, to within 5 % and a second. If it is
            short, fewer networks are trained, or on a sample of the rows;
            `fit_report_` tells what was left out.
        callbacks: functions called with each epoch's record; True ends the training.
        checkpoint_dir: a folder from which an interrupted `fit` resumes.
        device: cpu, cuda, cuda:1, mps; None: a GPU if there is one.
        random_state: a whole number gives the same model again, bit for bit, on the
            same machine with the same number of threads.
        verbose: True shows a progress bar, False does not; None: after some seconds, if
            this is a terminal or a notebook.
        config: a dict or a `ModernNCAConfig` of further options, such as
            `{"distance": "cosine"}`; searched as `config__distance`.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = ModernNCAClassifier(max_epochs=5, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:2]).shape, bool(model.score(X, y) > 0.9)
    ((2, 3), True)
    """

    _task = "classification"

    @property
    def classes_(self) -> np.ndarray:
        """The classes, in the order of the columns of `predict_proba`."""
        return self.preparation_.target.classes_  # type: ignore[union-attr]

    def predict(self, X, groups=None, abstain=None):
        """Predict the class of each row of `X`.

        With `groups`, rows of a query's own group do not vote; see `fit`. With
        `abstain`, a number between 0 and 1, the predictions are a numpy masked array:
        rows of an `ood_score` below it are masked.
        """
        votes = self._votes(X, groups)
        found = self.preparation_.target.decode(votes.argmax(1))
        return self._abstaining(found, X, abstain)

    def predict_proba(self, X, groups=None):
        """The probability of each class, in the order of `classes_`."""
        votes = self._votes(X, groups)
        return self.calibration_(votes)

    def predict_log_proba(self, X, groups=None):
        """The logarithm of the probability of each class; -inf of a zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, groups))

    def predict_set(self, X, coverage=0.9, by=None) -> np.ndarray:
        """Sets of classes (B, classes), of which the true one is with this probability.

        Split-conformal, as `predict_interval` of the regressor: a class is in the set
        if it is as probable as the true class of most held-out rows. Where no class is,
        the set is empty.

        Args:
            X: the rows.
            coverage: the probability.
            by: a column; each of its values with enough held-out rows is calibrated by
                itself.
        """
        self._check_fitted()
        check_coverage(coverage)
        held_out, parts = known(self.held_out_), self._parts(X, by)
        return prediction_sets(held_out, self.predict_proba(X), coverage, parts)
