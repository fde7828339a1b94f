"""What was found for a study: the records that are its own, under its labels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from modernnca.lab.bench.job import Job, Record
from modernnca.lab.bench.store import Store, to_row
from modernnca.lab.bench.study import Study

_SPACE = ("purity", "trustworthiness")  # of embeddings


@dataclass(frozen=True)
class Found:
    """The records of a study as a frame, and what was planned.

    Attributes:
        frame: one row for each record, `method` being the variant's label.
        maps: of embeddings, with their arrays.
        planned: the keys of the study's jobs that any run has asked for.
    """

    frame: pd.DataFrame
    maps: tuple[Record, ...]
    planned: frozenset[str]

    @property
    def n(self) -> int:
        """How many records there are."""
        return len(self.frame)


def find(study: Study, stores: Sequence[Store]) -> Found:
    """Look in stores for what belongs to a study, whoever asked for it.

    A record belongs to a study if a variant would have asked for it, on whatever table:
    so studies share what they have in common, and a benchmark's records serve too.
    """
    known: dict[tuple[str, str, str, bool] | None, str] = {
        (study.kind, variant.method, variant.asked(trials), trials > 0): variant.label
        for variant in study.variants
        for trials in (0, 1)
    }
    arrays = study.kind == "embed"
    records: dict[str, Record] = {}
    planned: set[str] = set()
    for store in stores:
        for record in store.records(arrays=arrays, kinds=(study.kind,)):
            if _asked(study, record.job) in known:
                records.setdefault(record.job.key, record)
        planned |= {job.key for job in store.planned() if _asked(study, job) in known}
    labels = {key: known[_asked(study, record.job)] for key, record in records.items()}
    return Found(
        _frame(records.values(), labels),
        tuple(records.values()) if arrays else (),
        frozenset(planned | records.keys()),
    )


def _asked(study: Study, job: Job) -> tuple[str, str, str, bool] | None:
    if job.split != study.split_of(job.dataset):
        return None
    return job.kind, job.method, job.settings, job.trials > 0


def _frame(records: Iterable[Record], labels: dict[str, str]) -> pd.DataFrame:
    rows = [
        {
            **dict.fromkeys((*_SPACE, "accuracy", "rmse")),
            **to_row(record),
            "method": labels[record.job.key],
        }
        for record in records
    ]
    columns = [*_SPACE, *to_row(Record(Job("", ""), "")), "accuracy", "rmse"]
    return pd.DataFrame(rows, columns=None if rows else columns)
