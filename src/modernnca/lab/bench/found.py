"""The records of a study, selected from stores and named by its variants."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import pandas as pd

from modernnca.lab.bench.job import KINDS, Job, Record
from modernnca.lab.bench.store import to_row
from modernnca.lab.bench.study import Study
from modernnca.lab.bench.study_parts import GROUPS, Variant

_EMBEDDING_SCORES = ("purity", "trustworthiness")


class Records(Protocol):
    """Where records are: a `Store`, or a `RecordFile`."""

    def records(
        self, *, arrays: bool = False, kinds: Sequence[str] = KINDS
    ) -> list[Record]:
        """Return the records of these kinds."""

    def planned(self) -> list[Job]:
        """Return the jobs that are planned."""


@dataclass(frozen=True)
class StudyRecords:
    """The records of a study as a frame, and its planned jobs.

    Attributes:
        frame: one row for each record; `method` is the variant's label.
        maps: the records of embeddings, with their arrays.
        planned: the keys of the study's jobs that any run has planned.
        earlier: the records under an earlier definition of the study, as a frame.
    """

    frame: pd.DataFrame
    maps: tuple[Record, ...]
    planned: frozenset[str]
    earlier: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.frame)


class _Setup(NamedTuple):
    """What must match for a record to be of a variant, besides the split."""

    method: str
    settings: str
    after: str
    tuned: bool
    pruning: bool
    group: str


def find(study: Study, stores: Sequence[Records]) -> StudyRecords:
    """Find the records of a study in stores.

    A record belongs to a study if one of its variants has the same settings, on any
    dataset. Studies thus share records with each other and with benchmarks.
    """
    present, earlier = _labels(study)
    arrays = study.kind == "embed"
    found: dict[str, tuple[Record, str]] = {}
    old: dict[str, tuple[Record, str]] = {}
    planned: set[str] = set()
    for store in stores:
        for record in store.records(arrays=arrays, kinds=(study.kind,)):
            if label := _label_of(study, record.job, record.task, present):
                found.setdefault(record.job.key, (record, label))
            elif label := _label_of(study, record.job, record.task, earlier):
                old.setdefault(record.job.key, (record, label))
        planned |= {
            job.key for job in store.planned() if _label_of(study, job, "", present)
        }
    return StudyRecords(
        _frame(found.values()),
        tuple(record for record, _ in found.values()) if arrays else (),
        frozenset(planned | found.keys()),
        _frame(old.values()),
    )


def _labels(study: Study) -> tuple[dict[_Setup, str], dict[_Setup, str]]:
    """Return the labels of the variants by their setups, present and earlier."""
    present: dict[_Setup, str] = {}
    earlier: dict[_Setup, str] = {}
    for variant in study.variants:
        for group in variant.tasks:
            for trials in (1,) if variant.only_tuned else (0, 1):
                job = study.job(variant, "", group, trials=trials)
                setup = _setup(job, group)
                present[setup] = variant.label
                for method, settings in map(_parse_same, variant.same):
                    same = setup._replace(method=method, settings=settings)
                    present[same] = variant.label
                for settings in _earlier_settings(variant, trials):
                    old = setup._replace(settings=settings, after="{}", pruning=True)
                    earlier.setdefault(old, variant.label)
    return present, earlier


def _parse_same(text: str) -> tuple[str, str]:
    """Split "method {settings}" into the method and its settings."""
    method, _, settings = text.partition(" ")
    return method, json.dumps(json.loads(settings or "{}"), sort_keys=True)


def _earlier_settings(variant: Variant, trials: int) -> list[str]:
    """Return the settings of earlier definitions, and those without a protocol."""
    given = [json.dumps(json.loads(text), sort_keys=True) for text in variant.earlier]
    if given:
        return given
    whole = json.loads(variant.overrides(trials)) | dict(variant.fixed)
    return [json.dumps(whole, sort_keys=True)]


def _setup(job: Job, group: str) -> _Setup:
    tuned = job.trials > 0
    pruning = job.pruning if tuned else True
    return _Setup(job.method, job.settings, job.after, tuned, pruning, group)


def _label_of(study: Study, job: Job, task: str, labels: dict[_Setup, str]) -> str:
    """Return the label of the variant that a job belongs to, or ""."""
    if job.kind != study.kind or job.split != study.split_of(job.dataset):
        return ""
    known = (GROUPS[task == "regression"],) if task else GROUPS
    found = (labels.get(_setup(job, group), "") for group in known)
    return next(filter(None, found), "")


def _frame(records: Iterable[tuple[Record, str]]) -> pd.DataFrame:
    rows = [
        {
            **dict.fromkeys((*_EMBEDDING_SCORES, "accuracy", "rmse")),
            **to_row(record),
            "method": label,
        }
        for record, label in records
    ]
    columns = [*_EMBEDDING_SCORES, *to_row(Record(Job("", ""), "")), "accuracy", "rmse"]
    return pd.DataFrame(rows, columns=None if rows else columns)
