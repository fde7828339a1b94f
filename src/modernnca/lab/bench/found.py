"""The records of a study, selected from stores and named by its variants."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from modernnca.lab.bench.job import Job, Record
from modernnca.lab.bench.store import Store, to_row
from modernnca.lab.bench.study import Study

_EMBEDDING_SCORES = ("purity", "trustworthiness")


@dataclass(frozen=True)
class StudyRecords:
    """The records of a study as a frame, and its planned jobs.

    Attributes:
        frame: one row for each record; `method` is the variant's label.
        maps: the records of embeddings, with their arrays.
        planned: the keys of the study's jobs that any run has planned.
    """

    frame: pd.DataFrame
    maps: tuple[Record, ...]
    planned: frozenset[str]

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.frame)


def find(study: Study, stores: Sequence[Store]) -> StudyRecords:
    """Find the records of a study in stores.

    A record belongs to a study if one of its variants has the same settings, on any
    dataset. Studies thus share records with each other and with benchmarks.
    """
    labels_by_setup: dict[tuple[str, str, str, bool] | None, str] = {
        (study.kind, variant.method, variant.overrides(n), n > 0): variant.label
        for variant in study.variants
        for n in (0, 1)
    }
    arrays = study.kind == "embed"
    records: dict[str, Record] = {}
    planned: set[str] = set()
    for store in stores:
        for record in store.records(arrays=arrays, kinds=(study.kind,)):
            if _setup(study, record.job) in labels_by_setup:
                records.setdefault(record.job.key, record)
        planned |= {
            job.key for job in store.planned() if _setup(study, job) in labels_by_setup
        }
    labels = {
        key: labels_by_setup[_setup(study, record.job)]
        for key, record in records.items()
    }
    return StudyRecords(
        _frame(records.values(), labels),
        tuple(records.values()) if arrays else (),
        frozenset(planned | records.keys()),
    )


def _setup(study: Study, job: Job) -> tuple[str, str, str, bool] | None:
    """Return what must match a variant; None if the split is not the study's."""
    if job.split != study.split_of(job.dataset):
        return None
    return job.kind, job.method, job.settings, job.trials > 0


def _frame(records: Iterable[Record], labels: dict[str, str]) -> pd.DataFrame:
    rows = [
        {
            **dict.fromkeys((*_EMBEDDING_SCORES, "accuracy", "rmse")),
            **to_row(record),
            "method": labels[record.job.key],
        }
        for record in records
    ]
    columns = [*_EMBEDDING_SCORES, *to_row(Record(Job("", ""), "")), "accuracy", "rmse"]
    return pd.DataFrame(rows, columns=None if rows else columns)
