"""The class target and predict_proba."""

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from torch import Tensor
from torch.nn.functional import one_hot

from modernnca.estimators.base import BaseModernNCA
from modernnca.estimators.calibrate import calibrate
from modernnca.estimators.learning import Judge
from modernnca.estimators.parts import Part
from modernnca.table.metrics import METRICS, log_loss
from modernnca.table.targets import ClassTarget


class ModernNCAClassifier(ClassifierMixin, BaseModernNCA):
    """Classify rows of a table by a vote of the training rows near them.

    The distance is learned. Raw columns of any kind may be given. An argument left at
    "auto" is as the preset says (`settings_` shows all of them after `fit`).

    Args:
        preset: "default"; "paper", the defaults of the paper's public code; "linear",
            L-NCA; or another name of `modernnca.PRESETS`.
        numbers: treatment of numbers: standard, quantile, robust, none.
        categories: treatment of categories: grouped (rare levels together), onehot.
        categorical_columns: names or positions of columns to take as categories.
        numerical_columns: names or positions of columns to take as numbers.
        time_column: name or position of the column, of dates or numbers, that says when
            a row happened, in tables that drift in time; a missing time counts as the
            latest of `fit`. The next two, and `validation_rows`, say what is done.
        time_features: the time column becomes "seasons" (waves of year, week and day;
            of numbers, of parts of their span), "fourier" (these and a trend), what any
            "column" does, "both", or "none".
        past_only: a row is answered by rows not later than itself: "never", in
            "prediction", when it is held out and "judging" too, or "always", in
            training as well.
        indicators: add a column that tells where a number was missing.
        few_values: numbers with at most so many values skip the encoding.
        clip: numbers beyond those seen in `fit` count as the nearest seen.
        scale_columns: "learned" learns a scale for each column, and each level of a
            category; "forest" begins with how telling a forest finds each column;
            "none" does neither.
        wide: where a table has many columns for its rows, keep the most telling ones
            only; `wide_` says what was tried and kept (None: the table is not wide).
        encoding: of numbers: plr-lite, plr, periodic, pbld, ple, none.
        n_frequencies, frequency_scale, d_encoding, n_bins: sizes of the encoding.
        n_knots: in training, encode numbers between so many knots of their column,
            which is faster and, for columns with fewer values, exact; None encodes
            every number. Predictions always do.
        embedding: phi: mlp, layernorm, residual, linear.
        dim: size of the embedding.
        n_blocks, d_block, dropout: the blocks of phi; 0 blocks make it linear, and
            d_block="by-machine" is 512 for classes on a GPU, else 256.
        distance: euclidean, squared-euclidean, manhattan, cosine, dot.
        temperature: what distances are divided by: a number, or "learned".
        loss: log, sum (original NCA), mcml, t-distribution; regression: log (the
            squared error), t-distribution.
        head: how the loss is counted: fused (in one pass, where known) or plain.
        label_smoothing: the part of each label given to all classes.
        sampler: who answers in training: random, class-wise, distance, all, batch.
        sample_rate, max_sampled: how many rows answer in training, as a share of all
            and at most ("by-machine": 12,288 for classes on a GPU, else 4,096; None: no
            limit); `sample_exponent` is the tau of the sampler "distance".
        prediction: soft (all rows vote) or knn (the `n_neighbors` nearest do).
        optimizer: adamw, adamw-95, sgd, lbfgs; with `learning_rate` and `weight_decay`.
        batch_size: rows in a step, or "by-size" of the table.
        max_epochs, patience: the most epochs, and how many may pass without a better
            score before the next such one ends it; patience=None never gives up.
        averaging: judge and keep the mean of the weights over the steps of about so
            many epochs; 0 takes them as they are.
        stopping_metric: accuracy, balanced-accuracy, log-loss, auc; rmse, mae, r2; or a
            function of (y, probabilities or predictions), higher is better.
        ties: of equal scores, the one with the lower "loss" is better, or the "later".
        max_judges: of the rows to stop by, look at so many at most.
        validation_fraction: the share of rows held out to stop by; with 0 (and in
            tables of less than 10 rows) each row is judged by all others.
        validation_rows: which ones: "random", or by the time column the "last", or
            "blocks", the last ones of each of ten stretches of time.
        time_limit: seconds that `fit` may take; kept to within one step.
        n_members: how many networks ("by-machine": 8 for classes on a GPU, else 4);
            their votes are averaged.
        variety: the members are "alike" but for the seed, or "mixed": each sees the
            numbers in another way (as they are, bent, ranked).
        forest_member: where fewer than 3,000 rows are learned from, and there are
            several networks, one more member: rows are near that end in the same leaves
            of a forest's trees (for classes, with `weigh`).
        weigh: members that err less on the held-out rows count for more; one whose
            number is unusually far from the others' counts for less.
        refit: what happens to the held-out rows: "remember" adds them to the memory,
            "full" learns everything anew from all rows, None leaves them out.
        finishing: before held-out rows are remembered, the networks go on learning from
            all rows, at three tenths of the rate, for this share of the epochs that led
            to their best (with fewer than 3,000 rows for less, down to a third of it);
            0 does not.
        calibrate: fit the probabilities of classes to the held-out rows.
        guard: where plain k-NN, or a constant, is better on the held-out rows, predict
            by it instead; `fallback_` says which.
        class_weight: None, "balanced", or a dict from class to weight.
        callbacks: functions called with each epoch's record; True ends the training.
        checkpoint_dir: a folder from which an interrupted `fit` goes on.
        device: auto, cpu, cuda, cuda:1, mps.
        random_state: the same number gives the same model, bit for bit.
        verbose: 1 shows a progress bar.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = ModernNCAClassifier(max_epochs=5, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:2]).shape, bool(model.score(X, y) > 0.9)
    ((2, 3), True)
    """

    _task = "classes"
    _learns_from = "classes"
    _target_type = ClassTarget

    @property
    def classes_(self) -> np.ndarray:
        """The classes, in the order of the columns of `predict_proba`."""
        return self.target_.classes_

    def predict(self, X):
        """Predict the class of each row of `X`."""
        votes = self._votes(X)
        return self.target_.decode(votes.argmax(1))

    def predict_proba(self, X):
        """The probability of each class, in the order of `classes_`."""
        votes = self._votes(X)
        return self.calibration_(votes)

    def _values(self, y: np.ndarray) -> Tensor:
        codes = torch.from_numpy(self.target_.encode(y))
        return one_hot(codes, self.target_.n_values).float()

    def _weights(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        if self.class_weight is None:
            return weights
        by_class = compute_sample_weight(self.class_weight, y)
        return by_class if weights is None else weights * by_class

    def _calibrate(self, votes: np.ndarray, part: Part) -> None:
        codes = self.target_.encode(part.y)
        self.calibration_ = calibrate(votes, codes, part.weights)

    def _judge(self, part: Part) -> Judge:
        codes, metric = self.target_.encode(part.y), self.settings_.stopping_metric

        def judge(votes: Tensor) -> tuple[float, float]:
            probabilities = votes.double().cpu().numpy()
            if callable(metric):
                score = float(metric(part.y, probabilities))
            else:
                score = METRICS[str(metric)].score(codes, probabilities, part.weights)
            return score, -log_loss(codes, probabilities, part.weights)

        return judge
