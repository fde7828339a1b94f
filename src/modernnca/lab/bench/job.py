"""A job is what to run, a record what came out of it; `run_job` makes it so."""

import hashlib
import json
import pickle
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.embedding_map import RawColumns, look, some_rows
from modernnca.lab.bench.meter import Meter
from modernnca.lab.bench.provenance import now, provenance
from modernnca.lab.bench.readers import read_dataset
from modernnca.lab.bench.scores import LOWER_IS_BETTER, MAIN, score_all
from modernnca.lab.bench.splits import Parts, split_rows
from modernnca.lab.peers import peer
from modernnca.lab.peers.card import Model, Report
from modernnca.tune.search import SearchResult, search

KINDS = ("fit", "search", "embed")


@dataclass(frozen=True)
class Job:
    """What to run; two jobs that ask the same have the same key.

    Attributes:
        trials: 0 for the method's defaults, else the trials of the search whose
            settings are used.
        settings: overrides, as JSON text, so that a job can be hashed.
        label: what the method is called in tables, if not by its name.
        kind: "fit" gives a prediction; "search" gives settings; "embed" gives a map of
            the learned space.
    """

    dataset: str
    method: str
    split: str = "given"
    seed: int = 0
    trials: int = 0
    settings: str = "{}"
    label: str = ""
    kind: str = "fit"

    @property
    def key(self) -> str:
        """The same text for ever; the label does not count.

        >>> Job("iris", "knn").key == Job("iris", "knn", label="k-NN").key
        True
        """
        asked = {name: value for name, value in asdict(self).items() if name != "label"}
        text = json.dumps(asked, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def search(self) -> "Job":
        """The search that finds the settings of this job."""
        return Job(
            self.dataset,
            self.method,
            self.split,
            trials=self.trials,
            settings=self.settings,
            kind="search",
        )


@dataclass(frozen=True)
class Work:
    """A job with all that it needs where it runs."""

    job: Job
    data: Path | None = None
    found: Mapping[str, Any] = field(default_factory=dict)  # by the search
    storage: Path | None = None  # keeps the trials of a search
    search_seconds: float | None = None


@dataclass(frozen=True, eq=False)
class Record:
    """What came out of a job. Scores have their natural sign; see `metrics`."""

    job: Job
    status: str  # "done", or how it failed: see `execute.base.Kind`
    error: str | None = None
    task: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    used: dict[str, Any] = field(default_factory=dict)  # settings beside the defaults
    facts: dict[str, Any] = field(default_factory=dict)  # seconds, bytes, counts
    provenance: dict[str, Any] = field(default_factory=dict)
    finished: str = field(default_factory=now)
    classes: list[str] | None = None
    prediction: np.ndarray | None = None  # (B, V) probabilities or (B,) numbers
    truth: np.ndarray | None = None  # (B,) codes of classes (-1: unknown) or numbers


def run_job(work: Work) -> Record:
    """Run one job here."""
    dataset = read_dataset(work.job.dataset, data=work.data)
    parts = split_rows(dataset, work.job.split)
    way = {"fit": _fit, "search": _search, "embed": _embed}[work.job.kind]
    return way(work, dataset, parts)


def _fit(work: Work, dataset: Dataset, parts: Parts) -> Record:
    job = work.job
    used = {**json.loads(job.settings), **work.found}
    model = peer(job.method).build(dataset.task, seed=job.seed, settings=used)
    X, y = dataset.X, dataset.y
    with Meter() as fitting:
        fit(model, dataset, parts)
    with Meter() as asking:
        classes, prediction = predict(model, dataset, parts.test)
    truth = y[parts.test]
    scores = score_all(dataset.task, truth, prediction, classes)
    facts = {
        "fit_seconds": fitting.seconds,
        "predict_seconds": asking.seconds,
        "peak_bytes": max(fitting.peak_bytes, asking.peak_bytes),
        "model_bytes": _size(model),
        "n_train": len(parts.train),
        "n_test": len(parts.test),
        "n_columns": X.shape[1],
    }
    return Record(
        job,
        "done",
        task=dataset.task,
        scores=scores,
        used=used,
        facts=facts,
        provenance=provenance(),
        **_told(classes, truth),
        prediction=prediction.astype(np.float32 if prediction.ndim > 1 else np.float64),
    )


def _told(classes: np.ndarray | None, y: np.ndarray) -> dict[str, Any]:
    """What a record keeps of the truth: names of classes and codes, or numbers."""
    if classes is None:
        return {"truth": y}
    code = {label: code for code, label in enumerate(classes.tolist())}
    return {
        "classes": [str(label) for label in classes],
        "truth": np.array([code.get(label, -1) for label in y.tolist()]),
    }


def fit(model: Model, dataset: Dataset, parts: Parts) -> None:
    """Fit on train, stopping by val; rows of classes that train lacks are left out."""
    X, y = dataset.X, dataset.y
    train, val = parts.train, parts.val
    if dataset.task != "regression":
        val = val[np.isin(y[val], np.unique(y[train]))]
    stop = (X.iloc[val], y[val]) if len(val) else None
    model.fit(X.iloc[train], y[train], eval_set=stop)


def predict(
    model: Any, dataset: Dataset, rows: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray]:
    """Classes and probabilities (B, V), or None and numbers (B,)."""
    asked = dataset.X.iloc[rows]
    if dataset.task == "regression":
        return None, np.asarray(model.predict(asked), dtype=np.float64)
    return np.asarray(model.classes_), np.asarray(model.predict_proba(asked))


def _embed(work: Work, dataset: Dataset, parts: Parts) -> Record:
    job = work.job
    used = json.loads(job.settings)
    model: Any = RawColumns()
    if job.method != "raw":
        model = peer(job.method).build(dataset.task, seed=job.seed, settings=used)
    if not hasattr(model, "transform"):
        raise TypeError(f"The method {job.method!r} has no embedding to give.")
    with Meter() as fitting:
        fit(model, dataset, parts)
    rows = some_rows(parts.test, job.seed)
    y, classes = dataset.y[rows], dataset.classes
    with Meter() as looking:
        space = model.transform(dataset.X.iloc[rows])
        drawn, scores = look(space, y, classes=classes is not None, seed=job.seed)
    return Record(
        job,
        "done",
        task=dataset.task,
        scores=scores,
        used=used,
        facts={
            "fit_seconds": fitting.seconds,
            "predict_seconds": looking.seconds,
            "n_train": len(parts.train),
            "n_test": len(rows),
            "n_columns": dataset.X.shape[1],
            "d_space": space.shape[1],
        },
        provenance=provenance(),
        **_told(classes, y),
        prediction=drawn.astype(np.float32),
    )


def _search(work: Work, dataset: Dataset, parts: Parts) -> Record:
    job, card = work.job, peer(work.job.method)
    metric = MAIN[dataset.task]
    sign = -1 if metric in LOWER_IS_BETTER else 1
    fixed = json.loads(job.settings)

    def score(settings: dict[str, Any], report: Report) -> float:
        # PAPER: everyone is judged by the metric of the final table, on val.
        chosen = {**fixed, **settings, **card.searching}
        model = card.build(dataset.task, seed=0, settings=chosen, report=report)
        fit(model, dataset, parts)
        classes, prediction = predict(model, dataset, parts.val)
        truth = dataset.y[parts.val]
        return sign * score_all(dataset.task, truth, prediction, classes)[metric]

    space = {name: part for name, part in card.space.items() if name not in fixed}
    # The first trial is the defaults; where a card does not say all, none are named.
    start = {name: card.defaults[name] for name in space if name in card.defaults}
    with Meter() as meter:
        found: SearchResult = search(
            score,
            space,
            trials=job.trials,
            storage=work.storage,
            name=job.key,
            start=start if len(start) == len(space) else {},
            time_limit=work.search_seconds,
        )
    states = [trial.state for trial in found.trials]
    return Record(
        job,
        "done",
        task=dataset.task,
        scores={metric: sign * found.score},
        used=dict(found.settings),
        facts={
            "search_seconds": meter.seconds,
            "n_trials": len(states),
            "n_pruned": states.count("pruned"),
            "n_failed": states.count("failed"),
            "ended": found.ended,
        },
        provenance=provenance(),
    )


def _size(model: Any) -> int:
    """How many bytes the fitted model takes when it is put away."""
    try:
        return len(pickle.dumps(model))
    except Exception:  # what cannot be pickled has no size that we know
        return 0
