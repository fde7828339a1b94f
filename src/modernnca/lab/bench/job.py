"""Jobs and their records: `run_job` runs a job and returns its record."""

import hashlib
import json
import pickle
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from modernnca._named import named
from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.embedding_map import RawColumns, map_embedding, sample_rows
from modernnca.lab.bench.provenance import now, provenance
from modernnca.lab.bench.readers import read_dataset
from modernnca.lab.bench.resource_usage import ResourceUsage
from modernnca.lab.bench.scores import LOWER_IS_BETTER, MAIN, score_all
from modernnca.lab.bench.splits import Parts, split_rows
from modernnca.lab.peers import peer
from modernnca.lab.peers.card import Model, Report
from modernnca.tune.search import SearchResult, search

KINDS = ("fit", "search", "embed")
SEARCHED = "search"  # the value of a setting that is searched as well


@dataclass(frozen=True)
class Job:
    """One run of a method on a dataset, identified by its key.

    Attributes:
        trials: 0 to use the method's defaults, otherwise the number of trials of the
            search whose settings are used.
        settings: overrides of the defaults, as JSON text, so that a job is hashable.
        label: display name of the method, if not its name.
        after: overrides of the settings that the search found, as JSON text.
        pruning: whether hopeless trials of the search were ended early.
        kind: "fit" predicts the test rows; "search" finds settings; "embed" maps the
            learned embedding.
    """

    dataset: str
    method: str
    split: str = "given"
    seed: int = 0
    trials: int = 0
    settings: str = "{}"
    label: str = ""
    kind: str = "fit"
    after: str = "{}"
    pruning: bool = True

    @property
    def key(self) -> str:
        """A stable hash of all fields but the label.

        >>> Job("iris", "knn").key == Job("iris", "knn", label="k-NN").key
        True
        """
        fields = asdict(self)
        del fields["label"]
        # These came later: at their defaults, keys are what they were.
        if self.after == "{}":
            del fields["after"]
        if self.pruning:
            del fields["pruning"]
        text = json.dumps(fields, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def search(self) -> "Job":
        """The search job that finds the settings of this job."""
        return Job(
            self.dataset,
            self.method,
            self.split,
            trials=self.trials,
            settings=self.settings,
            kind="search",
            pruning=self.pruning,
        )


@dataclass(frozen=True)
class JobInput:
    """A job with everything it needs to run in another process."""

    job: Job
    data: Path | None = None
    tuned: Mapping[str, Any] = field(default_factory=dict)  # settings of the search
    storage: Path | None = None  # folder for the trials of a search
    search_seconds: float | None = None


@dataclass(frozen=True, eq=False)
class Record:
    """The result of a job. Scores have their natural sign; see `scores`."""

    job: Job
    status: str  # "done", or how it failed: see `execute.executor.Kind`
    error: str | None = None
    task: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    used: dict[str, Any] = field(default_factory=dict)  # overrides of the defaults
    facts: dict[str, Any] = field(default_factory=dict)  # seconds, bytes, counts
    provenance: dict[str, Any] = field(default_factory=dict)
    finished: str = field(default_factory=now)
    classes: list[str] | None = None
    prediction: np.ndarray | None = None  # (B, V) probabilities or (B,) values
    truth: np.ndarray | None = None  # (B,) class codes (-1: unknown) or values


def run_job(job_input: JobInput) -> Record:
    """Run one job in this process."""
    job = job_input.job
    dataset = read_dataset(job.dataset, data=job_input.data)
    parts = split_rows(dataset, job.split)
    run = {"fit": _fit, "search": _search, "embed": _embed}[job.kind]
    return run(job_input, dataset, parts)


def _fit(job_input: JobInput, dataset: Dataset, parts: Parts) -> Record:
    job = job_input.job
    used = {**json.loads(job.settings), **job_input.tuned, **json.loads(job.after)}
    model = peer(job.method).build(dataset.task, seed=job.seed, settings=used)
    with ResourceUsage() as fitting:
        fit(model, dataset, parts)
    with ResourceUsage() as predicting:
        classes, prediction = predict(model, dataset, parts.test)
    truth = dataset.y[parts.test]
    scores = score_all(dataset.task, truth, prediction, classes)
    facts = {
        "fit_seconds": fitting.seconds,
        "predict_seconds": predicting.seconds,
        "peak_bytes": max(fitting.peak_bytes, predicting.peak_bytes),
        "model_bytes": _pickled_bytes(model),
        "n_train": len(parts.train),
        "n_test": len(parts.test),
        "n_columns": dataset.X.shape[1],
    }
    return Record(
        job,
        "done",
        task=dataset.task,
        scores=scores,
        used=used,
        facts=facts,
        provenance=provenance(),
        **_truth_fields(classes, truth),
        prediction=prediction.astype(np.float32 if prediction.ndim > 1 else np.float64),
    )


def _truth_fields(classes: np.ndarray | None, y: np.ndarray) -> dict[str, Any]:
    """Return the fields of a record that hold the true targets."""
    if classes is None:
        return {"truth": y}
    code = {label: code for code, label in enumerate(classes.tolist())}
    return {
        "classes": [str(label) for label in classes],
        "truth": np.array([code.get(label, -1) for label in y.tolist()]),
    }


def fit(model: Model, dataset: Dataset, parts: Parts) -> None:
    """Fit on train and stop early on val, without rows of classes that train lacks."""
    X, y = dataset.X, dataset.y
    train, val = parts.train, parts.val
    if dataset.task != "regression":
        val = val[np.isin(y[val], np.unique(y[train]))]
    eval_set = (X.iloc[val], y[val]) if len(val) else None
    model.fit(X.iloc[train], y[train], eval_set=eval_set)


def predict(
    model: Any, dataset: Dataset, rows: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray]:
    """Return classes and probabilities (B, V), or None and values (B,)."""
    X = dataset.X.iloc[rows]
    if dataset.task == "regression":
        return None, np.asarray(model.predict(X), dtype=np.float64)
    return np.asarray(model.classes_), np.asarray(model.predict_proba(X))


def _embed(job_input: JobInput, dataset: Dataset, parts: Parts) -> Record:
    job = job_input.job
    used = json.loads(job.settings)
    model: Any = RawColumns()
    if job.method != "raw":
        model = peer(job.method).build(dataset.task, seed=job.seed, settings=used)
    if not hasattr(model, "transform"):
        raise TypeError(f"The method {job.method!r} has no embedding.")
    with ResourceUsage() as fitting:
        fit(model, dataset, parts)
    rows = sample_rows(parts.test, job.seed)
    y, classes = dataset.y[rows], dataset.classes
    with ResourceUsage() as mapping:
        embedding = model.transform(dataset.X.iloc[rows])
        points, scores = map_embedding(
            embedding, y, classification=classes is not None, seed=job.seed
        )
    return Record(
        job,
        "done",
        task=dataset.task,
        scores=scores,
        used=used,
        facts={
            "fit_seconds": fitting.seconds,
            "predict_seconds": mapping.seconds,
            "n_train": len(parts.train),
            "n_test": len(rows),
            "n_columns": dataset.X.shape[1],
            "d_space": embedding.shape[1],
        },
        provenance=provenance(),
        **_truth_fields(classes, y),
        prediction=points.astype(np.float32),
    )


def _search(job_input: JobInput, dataset: Dataset, parts: Parts) -> Record:
    job, card = job_input.job, peer(job_input.job.method)
    metric = MAIN[dataset.task]
    sign = -1 if metric in LOWER_IS_BETTER else 1
    given = json.loads(job.settings)
    fixed = {name: value for name, value in given.items() if value != SEARCHED}

    def objective(settings: dict[str, Any], report: Report) -> float:
        # PAPER: every method is tuned for the metric of the final table, on val.
        overrides = {**fixed, **settings, **card.tuning_settings}
        model = card.build(dataset.task, seed=0, settings=overrides, report=report)
        fit(model, dataset, parts)
        classes, prediction = predict(model, dataset, parts.val)
        truth = dataset.y[parts.val]
        return sign * score_all(dataset.task, truth, prediction, classes)[metric]

    space = {name: domain for name, domain in card.space.items() if name not in fixed}
    for name in given.keys() - fixed.keys():
        space[name] = named("setting to search", name, card.more_space)
    # The first trial uses the defaults, if the card has one for every setting.
    start = {name: card.defaults[name] for name in space if name in card.defaults}
    with ResourceUsage() as searching:
        result: SearchResult = search(
            objective,
            space,
            trials=job.trials,
            storage=job_input.storage,
            name=job.key,
            start=start if len(start) == len(space) else {},
            time_limit=job_input.search_seconds,
            pruner="median" if job.pruning else "none",
        )
    states = [trial.state for trial in result.trials]
    return Record(
        job,
        "done",
        task=dataset.task,
        scores={metric: sign * result.score},
        used=dict(result.settings),
        facts={
            "search_seconds": searching.seconds,
            "n_trials": len(states),
            "n_pruned": states.count("pruned"),
            "n_failed": states.count("failed"),
            "ended": result.ended,
        },
        provenance=provenance(),
    )


def _pickled_bytes(model: Any) -> int:
    """Return the size of the pickled model; 0 if it cannot be pickled."""
    try:
        return len(pickle.dumps(model))
    except Exception:
        return 0
