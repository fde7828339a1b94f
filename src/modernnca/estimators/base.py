"""Fit, for the classifier and the regressor alike: everything but the target."""

import time
from dataclasses import replace

import numpy as np
import torch
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight

from modernnca.core.net import Embedding, Net
from modernnca.estimators.calibrate import Calibration
from modernnca.estimators.device import choose_device
from modernnca.estimators.guard import fallbacks
from modernnca.estimators.learning import Learning
from modernnca.estimators.parts import Part, join
from modernnca.estimators.settings import (
    Settings,
    Task,
    check_value,
    for_machine,
    resolve,
)
from modernnca.estimators.tuning import Given, tune_model
from modernnca.estimators.weigh import usual_reach, weigh
from modernnca.table.clock import Clock, learn_clock
from modernnca.table.schema import read_table
from modernnca.table.split import WAYS, hold_out, hold_out_late
from modernnca.table.targets import ClassTarget, NumberTarget, read_target

_CPU = torch.device("cpu")
# With more, four networks take a CPU ten minutes and longer.
_MOST_ROWS_ON_CPU = 20_000
_MOST_GUARDS = 2048  # so many held-out rows tell whether learning was in vain


class BaseModernNCA(Learning):
    """Everything but the target. See `ModernNCAClassifier` for the arguments."""

    # What the classifier, the regressor and their relatives say differently.

    _task: Task  # what is predicted
    _target_type: type[ClassTarget] | type[NumberTarget]

    def _weights(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        """How much each row counts."""
        return weights

    def _default_preset(self, n_rows: int) -> str:
        """What preset="auto" means for so many rows."""
        in_haste = n_rows > _MOST_ROWS_ON_CPU and choose_device(self.device) == _CPU
        return "fast" if in_haste else "default"

    # Learning.

    def fit(self, X, y, *, sample_weight=None, eval_set=None):
        """Learn an embedding in which near rows have like targets.

        A part of the rows (`validation_fraction`, or `eval_set`) decides when to stop.
        While the net learns, nothing else is learned from those rows. Afterwards, with
        refit="remember", the net goes on learning from all rows for a while
        (`finishing`), and they all join the memory; with refit="full" everything is
        learned anew from all rows.

        Args:
            X: a pandas, polars or pyarrow table, a 2-D array, or a list of rows.
            y: the target of each row.
            sample_weight: how much each row counts, in the loss and in the vote.
            eval_set: `(X, y)` to stop by, instead of a held-out part of `X`.
        """
        began = time.monotonic()
        self._device = choose_device(self.device)
        # Without a seed, not numpy's global state either: it stays untouched.
        unseeded = self.random_state is None
        rng = (
            np.random.RandomState()
            if unseeded
            else check_random_state(self.random_state)
        )
        given = self._read(X, y, sample_weight)
        self.settings_ = self._resolve(len(given))
        fit_part, stop_part = self._hold_out(given, eval_set, rng)
        self.clock_ = self._learn_clock(fit_part, stop_part)
        n_members = self.settings_.n_members
        assert not isinstance(n_members, str)  # settings.for_machine
        seeds = rng.randint(2**31 - 1, size=n_members).tolist()

        ends = began + (np.inf if self.time_limit is None else self.time_limit)
        full = self.settings_.refit == "full" and stop_part is not None
        halfway = began + (ends - began) / 2 if full else ends
        learned = self._learn(fit_part, stop_part, seeds, (began, halfway))
        self._note([history for _, history in learned])
        nets = [net for net, _ in learned]
        weights: list[float] | None = None
        self.fallback_: str | None = None
        self.calibration_, self.reach_ = Calibration(), np.inf
        interrupted = "interrupted" in self.ended_
        settings = self.settings_
        asked = settings.guard or settings.calibrate or settings.weigh
        in_time = not interrupted and time.monotonic() < ends
        if stop_part is not None and asked and in_time:
            judges = self._judges(stop_part, seeds[0])
            nets, weights = self._settle(fit_part, judges, nets)
            full = full and self.fallback_ is None
        else:  # nobody can say how much a forest should count
            self._leaves = None
        if stop_part is not None and self.settings_.refit is not None:
            n_fit, fit_part = len(fit_part), self._join(fit_part, stop_part)
            rest = (time.monotonic(), ends)
            if full and not interrupted:
                n_epochs = self._n_epochs_on_all(n_fit, len(fit_part))
                learned = self._learn(fit_part, None, seeds, rest, n_epochs)
                nets = [net for net, _ in learned]
            elif settings.finishing and self.fallback_ is None and in_time:
                self._finish(fit_part, nets, seeds, rest)
        self._remember(fit_part, self._and_leaves(nets), weights)
        return self

    def _settle(
        self, fit_part: Part, judges: Part, nets: list[Net]
    ) -> tuple[list[Net], list[float] | None]:
        """With the held-out rows: the nets to keep, how much each counts, how sure.

        Where plain k-NN, or a constant, does better on these rows, it is kept instead,
        and `fallback_` says which.
        """
        learned, weights = self.settings_, None
        asking = self._asking_to_judge(judges.table)
        self._remember(fit_part, self._and_leaves(nets))
        of_each = self._votes_of_each(asking)  # (M, B, V)
        if learned.weigh:
            values = self._values(judges.y).numpy()
            weights = weigh(of_each, values, classes=self._task == "classes")
            self.member_weights_ = weights
            if self._task == "numbers":  # of classes nobody can be far off
                self.reach_ = usual_reach(of_each)
        votes = (of_each * self._counts(of_each)[..., None]).sum(0)
        if learned.guard:
            some = np.arange(0, len(judges), -(-len(judges) // _MOST_GUARDS))
            few = judges.take(some)
            other = self._better_unlearned(fit_part, few, votes[some])
            if other is not None:
                (net, votes), judges = other, few
                nets, weights, self._leaves = [net], None, None
        if learned.calibrate:
            self._calibrate(votes, judges)
        return nets, weights

    def _and_leaves(self, nets: list[Net]) -> list[Embedding]:
        """All that answers: the networks, and the forest where it is a member."""
        return [*nets] if self._leaves is None else [*nets, self._leaves]

    def _better_unlearned(
        self, fit_part: Part, judges: Part, votes: np.ndarray
    ) -> tuple[Net, np.ndarray] | None:
        """What has learned nothing and does better than `votes`: its net and votes."""
        asking, judge = self._asking_to_judge(judges.table), self._judge(judges)
        best, kept = judge(torch.from_numpy(votes)), None
        learned = settings = self.settings_
        for other in fallbacks(self.table_, len(fit_part)):
            self.settings_ = replace(learned, **other.settings)
            net = other.net.to(self._device)
            self._remember(fit_part, [net])
            votes = self._vote(asking)
            verdict = judge(torch.from_numpy(votes))
            if (verdict[0], -verdict[1]) > (best[0], -best[1]):
                best, kept = verdict, (net, votes)
                self.fallback_, settings = other.name, self.settings_
        self.settings_ = settings
        return kept

    def _calibrate(self, votes: np.ndarray, part: Part) -> None:
        """Learn how sure the votes for a held-out part may be; numbers need nothing."""

    def tune(
        self,
        X,
        y,
        *,
        trials=100,
        time_limit=None,
        sample_weight=None,
        eval_set=None,
        space=None,
        storage=None,
        metric=None,
        pruner="median",
        executor=None,
    ):
        """Search for good settings, take the best ones over, and fit with them.

        The settings as they are come first, so what is found is at least as good on the
        held-out rows. Arguments that were given stay as they are; those at "auto" are
        searched. `best_params_` and `best_score_` (higher is better) say what was
        found, and `tuning_` holds all trials. Ctrl-C ends the search, and the best so
        far is fitted.

        Args:
            X, y, sample_weight, eval_set: as in `fit`; the same held-out rows judge all
                trials.
            trials: how many settings are tried.
            time_limit: seconds for the search and the last fit together.
            space: a dict from argument to a domain of `modernnca.tune.space`; if not
                given, the paper's.
            storage: a folder from which an interrupted search goes on.
            metric: what is searched for: accuracy for classes and rmse for numbers,
                another of the names for `stopping_metric`, or a function.
            pruner: how hopeless trials are ended early: median, halving or none.
            executor: of `modernnca.execute`; runs several trials at once, if there is a
                storage.
        """
        tune_model(
            self,
            Given(X, y, sample_weight, eval_set),
            trials=trials,
            time_limit=time_limit,
            space=space,
            storage=storage,
            metric=metric,
            pruner=pruner,
            executor=executor,
        )
        return self

    def _resolve(self, n_rows: int = 0) -> Settings:
        """Turn the arguments into settings, checked for this task."""
        check_value("time_limit", self.time_limit)
        check_value("verbose", self.verbose)
        self._check_time()
        settings = resolve(
            self._default_preset(n_rows) if self.preset == "auto" else self.preset,
            self.get_params(deep=False),
            self._task,
            learns_from=self._learns_from,
        )
        on_gpu = choose_device(self.device).type == "cuda"
        return for_machine(settings, self._task, on_gpu=on_gpu)

    def _check_time(self) -> None:
        """What needs a time column does not go without one."""
        without = {
            "time_features": "column",
            "past_only": "never",
            "validation_rows": "random",
        }
        for name, free in without.items():
            value = getattr(self, name)
            if self.time_column is None and value not in ("auto", free):
                raise ValueError(
                    f"{name}={value!r} needs to know when rows happened; name the "
                    "time_column."
                )

    def _read(self, X, y, sample_weight) -> Part:
        """Check what was given to `fit`; rows of zero weight are left out."""
        table, y = read_table(X), read_target(y)
        check_consistent_length(range(len(table)), y)
        if len(table) < 2:
            raise ValueError(
                f"Found a table with n_samples={len(table)}, but a row needs a "
                "neighbor: give at least 2 rows."
            )
        self.n_features_in_ = len(table.columns)
        if table.named:
            self.feature_names_in_ = np.array(list(table.columns), dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(
                sample_weight, y, dtype=np.float64, ensure_non_negative=True
            )
        part = Part(table, y, weights, np.arange(len(table)))
        if weights is not None and not weights.all():
            part = part.take(np.flatnonzero(weights))
        self.target_ = self._target_type().fit(part.y)
        return replace(part, weights=self._weights(part.y, part.weights))

    def _hold_out(self, given: Part, eval_set, rng) -> tuple[Part, Part | None]:
        """Rows to learn from, and rows to stop by (None: each judged by the others)."""
        if eval_set is not None:
            return given, self._read_eval_set(given, eval_set)
        settings = self.settings_
        way, fraction = settings.validation_rows, settings.validation_fraction
        classes = self.target_.encode(given.y) if self._task == "classes" else None
        if self.time_column is None or way == "random":
            parts = hold_out(len(given), fraction=fraction, rng=rng, classes=classes)
        else:
            times = learn_clock([given.table], self.time_column).read(given.table)
            parts = hold_out_late(
                times, fraction=fraction, n_stretches=WAYS[way], classes=classes
            )
        fit_rows, stop_rows = parts
        stop = given.take(stop_rows) if len(stop_rows) else None
        return given.take(fit_rows), stop

    def _learn_clock(self, fit_part: Part, stop_part: Part | None) -> Clock | None:
        """Learn the moments of all rows, where there is a time column."""
        if self.time_column is None:
            return None
        parts = [fit_part] if stop_part is None else [fit_part, stop_part]
        return learn_clock([part.table for part in parts], self.time_column)

    def _read_eval_set(self, given: Part, eval_set) -> Part:
        """Check what was given to stop by."""
        if not (isinstance(eval_set, tuple | list) and len(eval_set) == 2):
            raise ValueError(
                "eval_set must be a pair (X, y) of rows to stop by; "
                f"got {type(eval_set).__name__}."
            )
        table, y = read_table(eval_set[0]), read_target(eval_set[1])
        check_consistent_length(range(len(table)), y)
        self._check_width(table)
        self.target_.encode(y)  # a class that is not in `y` is said here
        weights = None if given.weights is None else np.ones(len(y))
        # Rows that were not in X get numbers behind those that were.
        origin = given.origin.max() + 1 + np.arange(len(y))
        return Part(table, y, self._weights(y, weights), origin)

    def _join(self, fit_part: Part, stop_part: Part) -> Part:
        """The rows that were learned from, then those that judged."""
        return join(fit_part, stop_part, self.table_.schema_)
