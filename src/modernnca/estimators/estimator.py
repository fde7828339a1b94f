"""The base of the estimators: fit, and what a fitted model can do."""

import copyreg
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from modernnca._named import named
from modernnca.core.rows import Rows
from modernnca.ensemble.calibration import Calibration
from modernnca.ensemble.embedding_member import EmbeddingMember
from modernnca.ensemble.embedding_width import embedding_width, to_width
from modernnca.ensemble.ensemble import Ensemble
from modernnca.ensemble.feature_importance import feature_importances
from modernnca.ensemble.fit_report import FitReport
from modernnca.ensemble.fitting import (
    Combined,
    Trained,
    combine_members,
    finish,
    fit_members,
)
from modernnca.ensemble.held_out import HeldOut
from modernnca.ensemble.member import MEMBER_KINDS, Member
from modernnca.ensemble.mixture import default_members
from modernnca.ensemble.neighbors import Neighbors
from modernnca.ensemble.preparation import Part, Preparation, prepare
from modernnca.ensemble.progress import if_it_takes_long
from modernnca.ensemble.run import Run, draw_seeds, interruptible, random_state
from modernnca.ensemble.time_plan import within_time
from modernnca.estimators.config import ModernNCAConfig, as_options
from modernnca.estimators.device import choose_device
from modernnca.estimators.evidence_methods import EvidenceMixin
from modernnca.estimators.fit_warnings import tell
from modernnca.estimators.resolve import (
    check_arguments,
    import_ahead,
    known_arguments,
    resolve,
    warn_if_unencoded,
)
from modernnca.estimators.validation import as_eval_set, group_numbers, split
from modernnca.table.column_warnings import query_warnings
from modernnca.table.raw_examples import RawExamples, read_examples
from modernnca.table.schema import RawTable, conform, read_table
from modernnca.table.targets import Task
from modernnca.train.budget import Budget
from modernnca.train.loop import Epoch

_NESTED = "config__"
_FILE = "model_file"  # the state of a fitted model, for those who do not pickle


class BaseModernNCA(EvidenceMixin, TransformerMixin, BaseEstimator):
    """Everything but the target. See `ModernNCAClassifier` for the arguments."""

    _task: Task
    _default_preset = "default"

    ensemble_: Ensemble
    preparation_: Preparation
    calibration_: Calibration
    config_: ModernNCAConfig
    rows_: RawExamples
    history_: list[Epoch]
    fit_report_: FitReport
    held_out_: HeldOut | None  # validation rows, before anything was learned from them
    validation_score_: float | None  # by `eval_metric`; higher is better
    n_features_out_: int

    @known_arguments
    def __init__(
        self,
        *,
        preset=None,
        members=None,
        n_members=None,
        dim=None,
        n_blocks=None,
        d_block=None,
        dropout=None,
        learning_rate=None,
        weight_decay=None,
        batch_size=None,
        max_epochs=None,
        patience=None,
        validation_fraction=None,
        refit=None,
        eval_metric=None,
        calibrate=None,
        class_weight=None,
        categorical_features=None,
        keep=None,
        time_column=None,
        time_limit=None,
        callbacks=None,
        checkpoint_dir=None,
        device=None,
        random_state=None,
        verbose=None,
        config=None,
    ):
        self.preset = preset
        self.members = members
        self.n_members = n_members
        self.dim = dim
        self.n_blocks = n_blocks
        self.d_block = d_block
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.eval_metric = eval_metric
        self.calibrate = calibrate
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.keep = keep
        self.time_column = time_column
        self.time_limit = time_limit
        self.callbacks = callbacks
        self.checkpoint_dir = checkpoint_dir
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.config = config

    def get_params(self, deep=True):
        """The arguments; with `deep` also the options of `config`, as config__name."""
        params = super().get_params(deep=False)
        if deep:
            known = isinstance(self.config, Mapping | ModernNCAConfig)
            given = as_options(self.config) if known else {}  # `fit` refuses others
            names = ModernNCAConfig.names()
            params |= {f"{_NESTED}{name}": given.get(name) for name in names}
        return params

    def set_params(self, **params):
        """Set arguments, and options of `config` as config__name."""
        nested = {n: params.pop(n) for n in [*params] if n.startswith(_NESTED)}
        super().set_params(**params)
        if nested:
            changes = {name.removeprefix(_NESTED): v for name, v in nested.items()}
            self.config = as_options({**as_options(self.config), **changes})
        return self

    def fit(
        self,
        X,
        y,
        *,
        sample_weight=None,
        eval_set=None,
        X_val=None,
        y_val=None,
        groups=None,
    ):
        """Learn an embedding in which near rows have similar targets.

        Validation rows (`validation_fraction`, or `eval_set`) decide when to stop;
        while the networks learn, nothing else is learned from them. Afterwards, with
        refit="remember", the networks are fine-tuned on all rows, which all join the
        memory; with refit="full" everything is retrained from scratch on all rows.
        Ctrl-C ends the fit early, with the best model so far; pressed twice, it gives
        up.

        Args:
            X: a pandas, polars or pyarrow table, a 2-D array, or a list of rows.
            y: the target of each row.
            sample_weight: the weight of each row, in the loss and in the vote.
            eval_set: `(X, y)`, validation rows instead of a held-out part of `X`;
                `(X, y, groups)` if there are groups.
            X_val, y_val: the same as two arguments, as scikit-learn's pipelines need
                them (`Pipeline(..., transform_input=["X_val"])`).
            groups: the group of each row, such as its patient. Rows never vote on rows
                of their own group, and no group is torn apart for validation.
        """
        check_arguments(self)
        import_ahead(self)
        device, budget = choose_device(self.device), Budget(self.time_limit)
        eval_set = as_eval_set(eval_set, X_val, y_val)
        with interruptible(budget):
            data = read_examples(
                X, y, sample_weight, self.class_weight, self._task, groups
            )
            preset, config = resolve(self, len(data))
            rng = random_state(self.random_state)
            kept, held_out = split(
                data, eval_set, config, rng, self._task, self.class_weight
            )
            seeds = draw_seeds(rng)
            prep = prepare(kept, held_out, config, self._task, seeds[0])
            train, valid = prep.part(kept, device), prep.part(held_out, device)
            run = self._start(device, budget, config, prep, seeds, train, eval_set)
            members = self._unfitted_members(config, len(kept))
            members, train, valid, run = within_time(members, train, valid, run)
            trained = fit_members(members, train, valid, run)
            combined = combine_members(trained, train, valid, run)
            finished = finish(combined, train, valid, prep, run)
        self._set_columns(data.table)
        self.preset_, self.config_ = preset, config
        self.preparation_, self.ensemble_, self.rows_ = finished
        self.calibration_, self.baseline_ = combined.calibration, combined.baseline
        self._set_width(members)
        self._set_history(trained, combined, run, budget.begin)
        return self

    def _start(
        self,
        device: torch.device,
        budget: Budget,
        config: ModernNCAConfig,
        prep: Preparation,
        seeds: Sequence[int],
        validated: Part,
        eval_set: Any,
    ) -> Run:
        """What the members may know about this fit."""
        warn_if_unencoded(self, config, encoded=prep.shape.encode_numbers)
        for text in prep.preprocessor.warnings_:
            warnings.warn(text, DataConversionWarning, stacklevel=3)
        folder = self.checkpoint_dir
        return Run(
            device,
            budget,
            self._task,
            config,
            prep.shape,
            seeds,
            evaluate=prep.evaluator(validated.raw, config.eval_metric),
            drawn=eval_set is None and config.time_column is None,
            callbacks=tuple(self.callbacks or ()),
            checkpoint_dir=None if folder is None else Path(folder),
            verbose=if_it_takes_long() if self.verbose is None else bool(self.verbose),
        )

    def _unfitted_members(self, config: ModernNCAConfig, n_rows: int) -> list[Member]:
        """The members that were given, or the default ones."""
        if self.members is None:
            classification = self._task == "classification"
            return default_members(config, n_rows, classification=classification)
        listed = isinstance(self.members, Sequence) and len(self.members) > 0
        if not listed or not all(isinstance(m, Member | str) for m in self.members):
            raise ValueError(
                "members must be a list of Member objects or of names of kinds; "
                f"got {self.members!r}."
            )
        return [
            named("kind of member", member, MEMBER_KINDS)()
            if isinstance(member, str)
            else member
            for member in self.members
        ]

    def _set_columns(self, table: RawTable) -> None:
        self.n_features_in_ = len(table.columns)
        if table.named:
            self.feature_names_in_ = np.array(list(table.columns), dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _set_width(self, prototypes: list[Member]) -> None:
        """The number of features that `transform` gives, whatever votes."""
        fitted, shape = self._embedding_members(), self.preparation_.shape
        width = embedding_width(prototypes, fitted, self.config_, shape)
        self.n_features_out_ = width

    def _set_history(
        self, trained: list[Trained], combined: Combined, run: Run, began: float
    ) -> None:
        """Tell what happened, for each member that was trained and for all."""
        histories = [t.history for t in trained if not t.prototype.auxiliary]
        self.history_ = [
            epoch._replace(member=number)
            for number, history in enumerate(histories)
            for epoch in history.epochs
        ]
        self.best_epochs_ = [history.best_epoch for history in histories]
        self.ended_ = [history.ended for history in histories]
        self.validation_score_, self.held_out_ = combined.score, combined.held_out
        self.fit_report_ = FitReport(
            seconds=time.monotonic() - began,
            time_limit=self.time_limit,
            ended=self._how_it_ended(run),
            n_rows=len(self.rows_.index),
            n_members=len(self.members_),
            left_out=tuple(run.left_out),
            baseline=self.baseline_,
        )
        tell(self.fit_report_, trained=bool(self.ended_))

    def _how_it_ended(self, run: Run) -> str:
        if run.budget.interrupted:
            return "interrupted"
        cut = run.left_out or "time_limit" in self.ended_
        return "time_limit" if cut else "complete"

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
        groups=None,
    ):
        """Search for good options, take the best ones over, and fit with them.

        The present options are tried first, so the result is at least as good on the
        validation rows; a warning says if they got no score (their process was killed
        twice, say). Options that were given stay as they are; the others are
        searched. `best_params_` and `best_score_` (higher is better) are the result,
        and `tuning_` holds all trials. Ctrl-C ends the search, and the best so far is
        fitted.

        Args:
            X, y, sample_weight, eval_set, groups: as in `fit`; all trials are
                scored on the same validation rows.
            trials: how many trials.
            time_limit: seconds for the search and the last fit together.
            space: a dict from option to a domain of `modernnca.tune.space`; None: the
                paper's space.
            storage: a folder from which an interrupted search resumes.
            metric: the metric of the search, a name or a function as in `eval_metric`;
                None: accuracy, or rmse in regression.
            pruner: how hopeless trials are ended early: median, halving or none.
            executor: of `modernnca.execute`; runs several trials at once, if there is a
                storage.
        """
        from modernnca.estimators.tuning import Search, tune_model

        search = Search(
            trials=trials,
            time_limit=time_limit,
            space=space,
            storage=storage,
            metric=metric,
            pruner=pruner,
            executor=executor,
        )
        tune_model(self, X, y, sample_weight, eval_set, search, groups)
        return self

    # A fitted model.

    @property
    def members_(self) -> tuple[Member, ...]:
        """The fitted members."""
        return self.ensemble_.members

    @property
    def member_weights_(self) -> tuple[float, ...]:
        """The weight of each member, out of 1."""
        return self.ensemble_.combine.weights

    @property
    def columns_(self) -> list[dict[str, Any]]:
        """How each column was read and what becomes of it, one dict each."""
        return self.preparation_.preprocessor.describe()

    @property
    def feature_selection_(self) -> Any:
        """The feature selection of a wide table; None if the table is not wide."""
        return self.preparation_.preprocessor.selection_

    @property
    def feature_importances_(self) -> np.ndarray:
        """The importance of each column of the table, together 1.

        It is how much the vote on a row changes, on average, if its cell is replaced
        by that of another row. Computed when asked for, from some remembered rows.
        """
        self._check_fitted()
        if not self.rows_.table.columns:
            raise AttributeError(
                "feature_importances_ needs the raw rows, but the model was saved "
                "without them."
            )
        return feature_importances(self.rows_.table, self._encode, self.ensemble_)

    def transform(self, X):
        """Embed rows: phi(x), with the members' embeddings side by side.

        There are as many features whatever votes in the end: zeros stand for networks
        that there was no time to train. The embedding of a baseline, the standardized
        columns, is brought to the same width.
        """
        rows = self._read_queries(X)
        embedded = [member.embed(rows) for member in self._embedding_members()]
        whole = to_width(torch.cat(embedded, dim=1), self.n_features_out_)
        return whole.cpu().numpy()

    def _embedding_members(self) -> list[EmbeddingMember]:
        return [
            member
            for member in self.members_
            if isinstance(member, EmbeddingMember) and not member.auxiliary
        ]

    def kneighbors(self, X=None, n_neighbors=5, return_distance=True):
        """The nearest remembered rows, as in scikit-learn's `KNeighborsMixin`.

        Indices are row numbers of the table given to `fit` (rows of an `eval_set` come
        after these). With several members a distance is the mean over the members, by
        their weights. Rows later than a query come last, at an infinite distance.

        Args:
            X: the queries; None: each remembered row, without itself, in the order of
                the table given to `fit`.
            n_neighbors: how many.
            return_distance: if False, only the indices are returned.

        Returns `(distances, indices)`, each (B, n_neighbors), nearest first.
        """
        if X is None:
            found = self._neighbors_of_remembered(n_neighbors)
        else:
            found = self._neighbors(X, n_neighbors, by="distance")
        distances, indices = found.distances, self.rows_.index[found.rows]
        return (distances, indices) if return_distance else indices

    def _neighbors(self, X: Any, n_neighbors: int, *, by: str) -> Neighbors:
        queries = self._read_queries(X)
        self._check_n_neighbors(n_neighbors, len(self.rows_.index))
        return self.ensemble_.neighbors(queries, n_neighbors, by=by)

    def _neighbors_of_remembered(self, n_neighbors: int) -> Neighbors:
        """The neighbors of each remembered row but itself, in the order of `fit`."""
        self._check_fitted()
        if not self.rows_.table.columns:
            raise ValueError(
                "The model was saved without its rows; give the rows as X."
            )
        order = np.argsort(self.rows_.index, kind="stable")
        self._check_n_neighbors(n_neighbors, len(order) - 1)
        queries = self._encode(self.rows_.table.take(order))
        found = self.ensemble_.neighbors(queries, n_neighbors + 1, by="distance")
        # Drop the row itself; of equal rows, another may have taken its place.
        own = found.rows == order[:, None]
        own[~own.any(1), -1] = True
        kept = [part[~own].reshape(len(order), n_neighbors) for part in found[:3]]
        return Neighbors(kept[0], kept[1], kept[2], found.n_effective, found.votes)

    @staticmethod
    def _check_n_neighbors(n_neighbors: Any, most: int) -> None:
        whole = isinstance(n_neighbors, int | np.integer)
        if not whole or not 1 <= n_neighbors <= most:
            raise ValueError(
                f"n_neighbors must be between 1 and the number of remembered rows, "
                f"{most}; got {n_neighbors!r}."
            )

    def _votes(self, X: Any, groups: Any = None) -> np.ndarray:
        """The combined vote, (B, V)."""
        queries = self._read_queries(X, groups)
        return self.ensemble_.vote(queries)

    def _read_queries(self, X: Any, groups: Any = None) -> Rows:
        """Check and encode rows to predict, and their groups if they are given."""
        return self._encode_queries(self._read_table(X), groups)

    def _read_table(self, X: Any) -> RawTable:
        """Check rows to predict, and read them as the columns of `fit`."""
        self._check_fitted()
        names = getattr(self, "feature_names_in_", None)
        table = read_table(X, only=None if names is None else set(names))
        by_name = table.named and names is not None
        if len(table.columns) != self.n_features_in_ and not by_name:
            raise ValueError(
                f"X has {len(table.columns)} features, but {type(self).__name__} is "
                f"expecting {self.n_features_in_} features as input; give the same "
                "columns as in fit."
            )
        if self.preparation_.times is not None:
            self.preparation_.times.check(table)
        read = conform(table, self.preparation_.preprocessor.schema_)
        for text in query_warnings(table.ignored, read):
            warnings.warn(text, DataConversionWarning, stacklevel=5)
        return read

    def _encode_queries(self, read: RawTable, groups: Any) -> Rows:
        rows = self._encode(read)
        if groups is None:
            return rows
        remembered = self.ensemble_.remembered
        numbers = group_numbers(groups, len(read), self.rows_, remembered)
        return rows._replace(group=torch.from_numpy(numbers).to(rows.device))

    def _encode(self, table: RawTable) -> Rows:
        device = self.ensemble_.remembered.values.device
        return self.preparation_.rows(table, device)

    def _check_fitted(self) -> None:
        message = "This %(name)s is not fitted yet; call fit(X, y) first."
        check_is_fitted(self, "ensemble_", msg=message)

    def save(self, path, *, rows=True, key=None):
        """Write the fitted model to one file; `modernnca.load` reads it.

        The file holds safetensors and JSON: reading it never runs code. It is written
        whole or not at all. With rows=False the raw rows of the training table stay
        out; their embeddings and targets are needed to predict and stay in. With a
        `key`, a secret text or bytes, the file is signed (HMAC-SHA256), and
        `load(path, key=...)` refuses a file that was changed.
        """
        # The file names estimators, so persistence.py imports them, and so this file.
        from modernnca.estimators.persistence import save_model

        self._check_fitted()
        save_model(self, path, rows=rows, key=key)

    # Serialization: pickle copies everything; others (skops, and so mlflow) ask for
    # the state, which of a fitted model is its file, for they cannot store tensors.

    def __reduce_ex__(self, protocol):
        return copyreg.__newobj__, (type(self),), super().__getstate__()  # type: ignore[attr-defined]

    def __getstate__(self):
        from modernnca.estimators.persistence import to_bytes

        fitted = hasattr(self, "ensemble_")
        return {_FILE: to_bytes(self)} if fitted else super().__getstate__()

    def __setstate__(self, state):
        from modernnca.estimators.persistence import from_bytes

        if _FILE in state:
            state = vars(from_bytes(state[_FILE]))
        super().__setstate__(state)

    # scikit-learn's protocols.

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out_

    def get_feature_names_out(self, input_features=None):
        """Names of the features that `transform` gives."""
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
