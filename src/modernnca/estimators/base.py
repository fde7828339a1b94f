"""What the classifier and the regressor share: everything but the target."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.base import TransformerMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted
from torch import Tensor

from modernnca.core.learner import Labeled, NeighborLearner
from modernnca.core.net import Net, NetShape, embed_all
from modernnca.core.rows import Rows
from modernnca.core.softnn import chunks
from modernnca.estimators.arguments import Arguments
from modernnca.estimators.build import as_member, build_method, build_shape
from modernnca.estimators.calibrate import Calibration
from modernnca.estimators.checkpoint import Checkpoint
from modernnca.estimators.device import choose_device
from modernnca.estimators.guard import fallbacks
from modernnca.estimators.parts import Part, join
from modernnca.estimators.progress import progress
from modernnca.estimators.settings import (
    PAST_ONLY,
    Settings,
    Task,
    batch_size_for,
    check_value,
    resolve,
)
from modernnca.estimators.tuning import Given, tune_model
from modernnca.estimators.wide import narrow, plainly
from modernnca.memory.exact import ExactMemory
from modernnca.table.clock import Clock, learn_clock
from modernnca.table.encoder import TableEncoder
from modernnca.table.schema import RawTable, read_table
from modernnca.table.screen import Screened
from modernnca.table.split import WAYS, hold_out, hold_out_late
from modernnca.table.targets import ClassTarget, NumberTarget, read_target
from modernnca.train.loop import History, Plan, train
from modernnca.train.seeding import seeded

Judge = Callable[[Tensor], tuple[float, float]]


class Neighbors(NamedTuple):
    """Remembered rows behind predictions; one line for each asking row."""

    distances: np.ndarray  # (B, K) in the embedding
    indices: np.ndarray  # (B, K) row numbers of the table given to `fit`
    shares: np.ndarray  # (B, K) parts of the vote, out of 1 over all remembered rows


@dataclass(frozen=True)
class Member:
    """One trained network, and the memory that answers in its space."""

    net: Net
    memory: ExactMemory


class Asking(NamedTuple):
    """Encoded rows that ask, and when they do."""

    rows: Rows
    moments: Tensor | None  # (B,) None: whenever


class BaseModernNCA(TransformerMixin, Arguments):
    """Everything but the target. See `ModernNCAClassifier` for the arguments."""

    # What the classifier, the regressor and their relatives say differently.

    _task: Task  # what is predicted
    _learns_from: Task  # what the loss compares
    _target_type: type[ClassTarget] | type[NumberTarget]
    target_: Any  # one of that type

    def _values(self, y: np.ndarray) -> Tensor:
        """What rows vote for, (N, V)."""
        raise AssertionError("said by the classifier and the regressor")

    def _labels(self, y: np.ndarray) -> Tensor:
        """What the loss compares, (N, L)."""
        return self._values(y)

    def _judge(self, part: Part) -> Judge:
        """A function from votes (B, V) for the rows of `part` to (score, loss)."""
        raise AssertionError("said by the classifier and the regressor")

    def _weights(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        """How much each row counts."""
        return weights

    def _default_preset(self) -> str:
        """What preset="auto" means."""
        return "default"

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
        self.settings_ = self._resolve()
        self._device = choose_device(self.device)
        # Without a seed, not numpy's global state either: it stays untouched.
        unseeded = self.random_state is None
        rng = (
            np.random.RandomState()
            if unseeded
            else check_random_state(self.random_state)
        )
        given = self._read(X, y, sample_weight)
        fit_part, stop_part = self._hold_out(given, eval_set, rng)
        self.clock_ = self._learn_clock(fit_part, stop_part)
        seeds = rng.randint(2**31 - 1, size=self.settings_.n_members).tolist()

        ends = began + (np.inf if self.time_limit is None else self.time_limit)
        full = self.settings_.refit == "full" and stop_part is not None
        halfway = began + (ends - began) / 2 if full else ends
        learned = self._learn(fit_part, stop_part, seeds, (began, halfway))
        self._note(histories := [history for _, history in learned])
        nets = [net for net, _ in learned]
        self.fallback_: str | None = None
        self.calibration_ = Calibration()
        interrupted = "interrupted" in self.ended_
        asked = self.settings_.guard or self.settings_.calibrate
        in_time = not interrupted and time.monotonic() < ends
        if stop_part is not None and asked and in_time:
            nets = self._settle(fit_part, self._judges(stop_part, seeds[0]), nets)
            full = full and self.fallback_ is None
        if stop_part is not None and self.settings_.refit is not None:
            n_fit, fit_part = len(fit_part), self._join(fit_part, stop_part)
            if full and not interrupted:
                n_epochs = self._n_epochs_on_all(histories, n_fit, len(fit_part))
                rest = (time.monotonic(), ends)
                learned = self._learn(fit_part, None, seeds, rest, n_epochs)
                nets = [net for net, _ in learned]
        self._remember(fit_part, nets)
        return self

    def _settle(self, fit_part: Part, judges: Part, nets: list[Net]) -> list[Net]:
        """With the held-out rows: learned or not, and how sure; the nets to keep.

        Where plain k-NN, or a constant, does better on these rows, it is kept instead,
        and `fallback_` says which.
        """
        asking = self._asking_to_judge(judges.table)
        judge, learned = self._judge(judges), self.settings_
        self._remember(fit_part, nets)
        votes = self._vote(asking)
        best, kept = judge(torch.from_numpy(votes)), (learned, nets, votes)
        for other in fallbacks(self.table_, len(fit_part)) if learned.guard else []:
            self.settings_ = replace(learned, **other.settings)
            net = other.net.to(self._device)
            self._remember(fit_part, [net])
            votes = self._vote(asking)
            verdict = judge(torch.from_numpy(votes))
            if (verdict[0], -verdict[1]) > (best[0], -best[1]):
                best, kept = verdict, (self.settings_, [net], votes)
                self.fallback_ = other.name
        self.settings_, nets, votes = kept
        if learned.calibrate:
            self._calibrate(votes, judges)
        return nets

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

    def _resolve(self) -> Settings:
        """Turn the arguments into settings, checked for this task."""
        check_value("time_limit", self.time_limit)
        check_value("verbose", self.verbose)
        self._check_time()
        return resolve(
            self._default_preset() if self.preset == "auto" else self.preset,
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
        settings = self._narrow(fit_part, seeds[0])
        fit = self._labeled(fit_part)
        if not self._judged_by_the_past:
            fit = fit._replace(moments=None)
        if stop_part is not None:
            stop_part = self._judges(stop_part, seeds[0])
        stop = None if stop_part is None else self._labeled(stop_part)
        judge = self._judge(fit_part if stop_part is None else stop_part)
        plan = Plan(
            optimizer=settings.optimizer,
            learning_rate=settings.learning_rate,
            weight_decay=settings.weight_decay,
            batch_size=batch_size_for(settings, len(fit_part)),
            max_epochs=settings.max_epochs,
            patience=settings.patience,
            ties=settings.ties,
        )
        begins, ends = time_frame
        learned: list[tuple[Net, History]] = []
        for i, seed in enumerate(seeds):
            # Every network gets an equal part of the time.
            deadline = begins + (ends - begins) * (i + 1) / len(seeds)
            own_plan = replace(plan, deadline=deadline)
            if n_epochs is not None:
                own_plan = replace(
                    own_plan, max_epochs=n_epochs[i], patience=None, judged=False
                )
            title = f"network {i + 1} of {len(seeds)}" if len(seeds) > 1 else "fit"
            learned.append(
                self._learn_one(fit, stop, judge, own_plan, seed, title, number=i)
            )
            if learned[-1][1].ended == "interrupted":
                break
        return learned

    def _narrow(self, fit_part: Part, seed: int) -> Settings:
        """Screen the columns of a wide table; the settings that suit what is left."""
        self.wide_: Screened | None = None
        if self.settings_.wide:
            values = self._values(fit_part.y).numpy()
            self.table_, self.wide_ = narrow(
                self.table_, fit_part.table, values, seed=seed
            )
        if self.wide_ is not None and self.encoding == "auto":
            self.settings_ = plainly(self.settings_, self.table_)
        return self.settings_

    def _learn_one(
        self,
        fit: Labeled,
        stop: Labeled | None,
        judge: Judge,
        plan: Plan,
        seed: int,
        title: str,
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
            shape = as_member(self._net_shape(), self.settings_.variety, number)
            net = Net(shape).to(self._device)
            net.prepare(fit.rows.numbers)
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
        steps_fit = -(-n_fit // batch_size_for(self.settings_, n_fit))
        steps_all = -(-n_all // batch_size_for(self.settings_, n_all))
        return [max(1, round(h.best_epoch * steps_fit / steps_all)) for h in histories]

    def _rows(self, table: RawTable) -> Rows:
        """Encode a table as tensors."""
        return Rows(*map(torch.from_numpy, self.table_.transform(table)))

    def _moments(self, table: RawTable) -> Tensor | None:
        """When rows happened, where it matters."""
        if self.clock_ is None or self.settings_.past_only == "never":
            return None
        return torch.from_numpy(self.clock_.tell(table))

    def _asking(self, table: RawTable) -> Asking:
        """Encode rows that ask, on the device."""
        moments = self._moments(table)
        if moments is not None:
            moments = moments.to(self._device)
        return Asking(self._rows(table).to(self._device), moments)

    @property
    def _judged_by_the_past(self) -> bool:
        return PAST_ONLY[self.settings_.past_only] >= PAST_ONLY["judging"]

    def _asking_to_judge(self, table: RawTable) -> Asking:
        """Encode held-out rows that ask in order to judge the answers."""
        asking = self._asking(table)
        return asking if self._judged_by_the_past else asking._replace(moments=None)

    def _labeled(self, part: Part) -> Labeled:
        """Encode a part: rows, values, labels, weights, moments; on the device."""
        weights = part.weights
        return Labeled(
            self._rows(part.table),
            self._values(part.y),
            self._labels(part.y),
            None if weights is None else torch.from_numpy(weights).float(),
            self._moments(part.table),
        ).to(self._device)

    def _net_shape(self) -> NetShape:
        """The net that fits the encoded table."""
        return build_shape(self.settings_, self.table_)

    def _remember(self, part: Part, nets: list[Net]) -> None:
        """Embed the rows that will answer, once and for all."""
        labeled = self._labeled(part)
        self.remembered_ = part
        self.members_ = [
            self._member(net, embed_all(net, labeled.rows), labeled) for net in nets
        ]

    def _member(self, net: Net, keys: Tensor, labeled: Labeled) -> Member:
        rule = build_method(self.settings_, self._learns_from).answering_rule(net)
        memory = ExactMemory(
            keys,
            labeled.values,
            rule,
            log_weights=labeled.log_weights,
            moments=labeled.moments,
        )
        return Member(net, memory)

    # Answering.

    def transform(self, X):
        """Embed rows: phi(x), with the members' embeddings side by side."""
        queries = self._queries(self._read_asking(X))
        return torch.cat(queries, dim=1).cpu().numpy()

    def kneighbors(self, X, n_neighbors=5):
        """The remembered rows that matter most to each row of `X`.

        Returns `(distances, indices, shares)`, each (B, n_neighbors). Indices count the
        rows of the table given to `fit` (rows of an `eval_set` come after these);
        shares are parts of the vote that made the prediction. With one member the
        nearest row is first; with several, the one with the largest mean share is, and
        distances are means over the members. Rows that may not answer, since they are
        later, come last: at an infinite distance, with no share.
        """
        asking = self._read_asking(X)
        queries, asked = self._queries(asking), asking.moments
        n_rows = len(self.remembered_.origin)
        if not 1 <= n_neighbors <= n_rows:
            raise ValueError(
                f"n_neighbors must be between 1 and the number of remembered rows, "
                f"{n_rows}; got {n_neighbors!r}."
            )
        with torch.inference_mode():
            if len(self.members_) == 1:
                memory = self.members_[0].memory
                found = memory.nearest(queries[0], n_neighbors, asked)
            else:
                found = self._nearest_of_all(queries, n_neighbors, asked)
        distances, rows, shares = (part.cpu().numpy() for part in found)
        return Neighbors(distances, self.remembered_.origin[rows], shares)

    def _nearest_of_all(
        self, queries: list[Tensor], n_neighbors: int, moments: Tensor | None
    ) -> Any:
        """Rows with the largest mean share over all members."""
        memories = [member.memory for member in self.members_]
        parts = []
        for chunk in chunks(len(queries[0]), len(memories[0]), memories[0].n_pairs):
            asked = [(m, q[chunk]) for m, q in zip(memories, queries, strict=True)]
            when = None if moments is None else moments[chunk]
            shares = torch.stack([m.shares(q, when) for m, q in asked]).mean(0)
            top = shares.topk(n_neighbors)
            distances = torch.stack([m.distances(q, top.indices) for m, q in asked])
            parts.append((distances.mean(0), top.indices, top.values))
        return [torch.cat(part) for part in zip(*parts, strict=True)]

    def _votes(self, X) -> np.ndarray:
        """The mean vote of the members, (B, V)."""
        return self._vote(self._read_asking(X))

    def _vote(self, asking: Asking) -> np.ndarray:
        """The mean vote of the members for encoded rows, (B, V)."""
        queries = self._queries(asking)
        with torch.inference_mode():
            means = [
                member.memory.vote(query, asking.moments).mean.double()
                for member, query in zip(self.members_, queries, strict=True)
            ]
        return torch.stack(means).mean(0).cpu().numpy()

    def _queries(self, asking: Asking) -> list[Tensor]:
        """Embed rows with each member: (B, D)."""
        return [embed_all(member.net, asking.rows) for member in self.members_]

    def _read_asking(self, X) -> Asking:
        """Check and encode what was given to predict."""
        self._check_fitted()
        table = read_table(X)
        self._check_width(table)
        return self._asking(table)

    def _check_fitted(self) -> None:
        message = "This %(name)s is not fitted yet; call fit(X, y) first."
        check_is_fitted(self, "members_", msg=message)

    def _check_width(self, table: RawTable) -> None:
        """Columns without names are known by their number."""
        by_name = table.named and hasattr(self, "feature_names_in_")
        if len(table.columns) != self.n_features_in_ and not by_name:
            raise ValueError(
                f"X has {len(table.columns)} features, but {type(self).__name__} is "
                f"expecting {self.n_features_in_} features as input; give the same "
                "columns as in fit."
            )

    # Files.

    def save(self, path, *, rows=True):
        """Write the fitted model to one file; `modernnca.load` reads it.

        The file holds safetensors and JSON: reading it never runs code. It is written
        whole or not at all. With rows=False the raw rows of the training table stay
        out; their embeddings and targets are needed to predict and stay in.
        """
        # The file names estimators, so persist.py imports them, and so this file.
        from modernnca.estimators.persist import save_model

        self._check_fitted()
        save_model(self, path, rows=rows)

    # scikit-learn's questions.

    @property
    def _n_features_out(self) -> int:
        return sum(member.net.shape.dim for member in self.members_)

    def get_feature_names_out(self, input_features=None):
        """Names of the numbers that `transform` gives."""
        self._check_fitted()
        prefix = type(self).__name__.lower()
        names = [f"{prefix}{i}" for i in range(self._n_features_out)]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags
