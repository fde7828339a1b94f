"""Learning, for the classifier and the regressor alike: everything but the target."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight
from torch import Tensor

from modernnca.core.learner import Labeled, NeighborLearner
from modernnca.core.net import Net
from modernnca.estimators.answering import Answering
from modernnca.estimators.build import as_member, build_method
from modernnca.estimators.calibrate import Calibration
from modernnca.estimators.checkpoint import Checkpoint
from modernnca.estimators.device import choose_device
from modernnca.estimators.guard import fallbacks
from modernnca.estimators.parts import Part, join
from modernnca.estimators.progress import progress
from modernnca.estimators.settings import (
    Settings,
    Task,
    batch_size_for,
    check_value,
    resolve,
)
from modernnca.estimators.tuning import Given, tune_model
from modernnca.estimators.weigh import usual_reach, weigh
from modernnca.estimators.wide import narrow, plainly
from modernnca.table.clock import Clock, learn_clock
from modernnca.table.encoder import EncodedTable, TableEncoder
from modernnca.table.schema import read_table
from modernnca.table.screen import Screened
from modernnca.table.split import WAYS, hold_out, hold_out_late
from modernnca.table.targets import ClassTarget, NumberTarget, read_target
from modernnca.table.telling import telling_scales
from modernnca.train.loop import History, Plan, train
from modernnca.train.seeding import seeded

Judge = Callable[[Tensor], tuple[float, float]]
_CPU = torch.device("cpu")
# With more, four networks take a CPU ten minutes and longer.
_MOST_ROWS_ON_CPU = 20_000
_MOST_GUARDS = 2048  # so many held-out rows tell whether learning was in vain


class BaseModernNCA(Answering):
    """Everything but the target. See `ModernNCAClassifier` for the arguments."""

    # What the classifier, the regressor and their relatives say differently.

    _task: Task  # what is predicted
    _target_type: type[ClassTarget] | type[NumberTarget]
    target_: Any  # one of that type

    def _judge(self, part: Part) -> Judge:
        """A function from votes (B, V) for the rows of `part` to (score, loss)."""
        raise AssertionError("said by the classifier and the regressor")

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
        While the net learns, nothing else is learned from those rows; with
        refit="remember" they join the memory afterwards, and with refit="full"
        everything is learned anew from all rows.

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
        seeds = rng.randint(2**31 - 1, size=self.settings_.n_members).tolist()

        ends = began + (np.inf if self.time_limit is None else self.time_limit)
        full = self.settings_.refit == "full" and stop_part is not None
        halfway = began + (ends - began) / 2 if full else ends
        learned = self._learn(fit_part, stop_part, seeds, (began, halfway))
        self._note(histories := [history for _, history in learned])
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
        if stop_part is not None and self.settings_.refit is not None:
            n_fit, fit_part = len(fit_part), self._join(fit_part, stop_part)
            if full and not interrupted:
                n_epochs = self._n_epochs_on_all(histories, n_fit, len(fit_part))
                rest = (time.monotonic(), ends)
                learned = self._learn(fit_part, None, seeds, rest, n_epochs)
                nets = [net for net, _ in learned]
        self._remember(fit_part, nets, weights)
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
        self._remember(fit_part, nets)
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
                nets, weights = [net], None
        if learned.calibrate:
            self._calibrate(votes, judges)
        return nets, weights

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
        return resolve(
            self._default_preset(n_rows) if self.preset == "auto" else self.preset,
            self.get_params(deep=False),
            self._task,
            learns_from=self._learns_from,
        )

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

    def _judges(self, stop_part: Part, seed: int) -> Part:
        """The rows to stop by, or some of them."""
        most = self.settings_.max_judges
        if most is None or len(stop_part) <= most:
            return stop_part
        judges = np.random.RandomState(seed).permutation(len(stop_part))
        return stop_part.take(np.sort(judges[:most]))

    def _learn(
        self,
        fit_part: Part,
        stop_part: Part | None,
        seeds: list[int],
        time_frame: tuple[float, float],
        n_epochs: list[int] | None = None,
    ) -> list[tuple[Net, History]]:
        """Learn how to encode the table, then each network in turn.

        With `n_epochs` each network learns for so long, and nothing is judged.
        """
        settings = self.settings_
        self.table_ = TableEncoder(
            numbers=settings.numbers,
            categories=settings.categories,
            few_values=settings.few_values,
            indicators=settings.indicators,
            categorical_columns=self.categorical_columns,
            numerical_columns=self.numerical_columns,
            time_column=None if self.clock_ is None else self.clock_.column,
            time_features=settings.time_features,
        ).fit(fit_part.table)
        self.target_.fit(fit_part.y)
        self._narrow(fit_part, seeds[0])
        fit = self._labeled(fit_part)
        if not self._judged_by_the_past:
            fit = fit._replace(moments=None)
        if stop_part is not None:
            stop_part = self._judges(stop_part, seeds[0])
        stop = None if stop_part is None else self._labeled(stop_part)
        judge = self._judge(fit_part if stop_part is None else stop_part)
        begins, ends = time_frame
        scales = self._telling_scales(fit, seeds, begins + (ends - begins) / 10)
        learned: list[tuple[Net, History]] = []
        for i, seed in enumerate(seeds):
            # Every network gets an equal part of the time.
            deadline = begins + (ends - begins) * (i + 1) / len(seeds)
            plan = replace(self._plan(i, len(fit_part)), deadline=deadline)
            if n_epochs is not None:
                plan = replace(
                    plan, max_epochs=n_epochs[i], patience=None, judged=False
                )
            title = f"network {i + 1} of {len(seeds)}" if len(seeds) > 1 else "fit"
            learned.append(
                self._learn_one(fit, stop, judge, plan, seed, title, scales, number=i)
            )
            if learned[-1][1].ended == "interrupted":
                break
        return learned

    def _plan(self, number: int, n_rows: int) -> Plan:
        """How one of the networks learns from so many rows."""
        settings = as_member(self.settings_, number)
        return Plan(
            optimizer=settings.optimizer,
            learning_rate=settings.learning_rate,
            weight_decay=settings.weight_decay,
            batch_size=batch_size_for(settings, n_rows),
            max_epochs=settings.max_epochs,
            patience=settings.patience,
            ties=settings.ties,
            averaging=settings.averaging,
        )

    def _narrow(self, fit_part: Part, seed: int) -> None:
        """Screen the columns of a wide table, and settle what suits those left."""
        self.wide_: Screened | None = None
        if self.settings_.wide:
            values = self._values(fit_part.y).numpy()
            self.table_, self.wide_ = narrow(
                self.table_, fit_part.table, values, seed=seed
            )
        if self.wide_ is not None and self.encoding == "auto":
            self.settings_ = plainly(self.settings_, self.table_)

    def _telling_scales(
        self, fit: Labeled, seeds: list[int], deadline: float
    ) -> Tensor | None:
        """Where the scales of columns begin, if any network asks a forest for them."""
        members = [as_member(self.settings_, number) for number in range(len(seeds))]
        if all(member.scale_columns != "forest" for member in members):
            return None
        table = EncodedTable(*(part.cpu().numpy() for part in fit.rows))
        weights = None if fit.weights is None else fit.weights.cpu().numpy()
        values = fit.values.cpu().numpy()
        scales = telling_scales(
            table, values, weights=weights, seed=seeds[0], deadline=deadline
        )
        return torch.from_numpy(scales).to(fit.values)

    def _learn_one(
        self,
        fit: Labeled,
        stop: Labeled | None,
        judge: Judge,
        plan: Plan,
        seed: int,
        title: str,
        scales: Tensor | None,
        *,
        number: int,
    ) -> tuple[Net, History]:
        """Build one network and train it."""
        resume, keep = None, None
        if self.checkpoint_dir is not None:
            checkpoint = self._checkpoint(number, refit=not plan.judged)
            resume = checkpoint.read(seed, fit, self.settings_)
            keep = checkpoint.write
        with (
            seeded(seed, self._device) as generator,
            progress(title, plan.max_epochs, shown=self.verbose > 0) as bars,
        ):
            net = Net(self._net_shape(number)).to(self._device)
            net.prepare(fit.rows.numbers)
            asks = as_member(self.settings_, number).scale_columns == "forest"
            if scales is not None and asks:
                net.start_scales(scales, fit.rows.codes)
            history = train(
                NeighborLearner(
                    net,
                    fit,
                    stop,
                    method=build_method(self.settings_, self._learns_from),
                    judge=judge,
                    generator=generator,
                ),
                plan,
                generator,
                callbacks=[*bars, *self.callbacks],
                resume=resume,
                keep=keep,
            )
        return net.eval().requires_grad_(False), history

    def _checkpoint(self, number: int, *, refit: bool) -> Checkpoint:
        """Where the training of one network is kept."""
        if not isinstance(self.random_state, int | np.integer):
            raise ValueError(
                "checkpoint_dir needs random_state to be a whole number, or a resumed "
                f"fit could not go on as it began; got {self.random_state!r}."
            )
        return Checkpoint(
            self.checkpoint_dir, f"{'refit' if refit else 'fit'}-{number}"
        )

    def _join(self, fit_part: Part, stop_part: Part) -> Part:
        """The rows that were learned from, then those that judged."""
        return join(fit_part, stop_part, self.table_.schema_)

    def _note(self, histories: list[History]) -> None:
        """Say what happened in training."""
        self.history_ = [
            epoch._replace(member=i)
            for i, history in enumerate(histories)
            for epoch in history.epochs
        ]
        self.best_epochs_ = [history.best_epoch for history in histories]
        self.ended_ = [history.ended for history in histories]

    def _n_epochs_on_all(
        self, histories: list[History], n_fit: int, n_all: int
    ) -> list[int]:
        """The epochs over all rows that take as many steps as led to the best."""
        found = []
        for number, history in enumerate(histories):
            steps_fit = -(-n_fit // self._plan(number, n_fit).batch_size)
            steps_all = -(-n_all // self._plan(number, n_all).batch_size)
            found.append(max(1, round(history.best_epoch * steps_fit / steps_all)))
        return found
