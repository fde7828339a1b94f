"""Records in a CSV file, as the benchmarks commit them: scores without predictions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from modernnca.errors import StoreError
from modernnca.lab.bench.job import KINDS, Job, Record

_SCORES = ("accuracy", "log-loss", "rmse", "mae", "purity", "trustworthiness")
_FACTS = ("fit_seconds", "peak_bytes")
_REQUIRED = ("dataset", "method", "seed", "status")


class RecordFile:
    """A CSV file with one line for each fit; it can be read where a store can.

    The columns are those of `Job` and of scores: dataset, method, seed and status, and
    optionally task, changes (the settings), trials, split, after, pruning, kind,
    accuracy, log-loss, rmse, purity, trustworthiness, fit_seconds, peak_bytes and
    machine.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self._lines = pd.read_csv(self.path, keep_default_na=True)
        except (OSError, ValueError) as error:
            raise StoreError(
                f"The records in {str(path)!r} cannot be read: {error}"
            ) from error
        missing = [name for name in _REQUIRED if name not in self._lines]
        if missing:
            raise StoreError(
                f"The records in {str(path)!r} have no column {', '.join(missing)}."
            )

    def records(
        self, *, arrays: bool = False, kinds: Sequence[str] = KINDS
    ) -> list[Record]:
        """Return the records, sorted by key as a store returns them."""
        every = [_record(line) for line in self._lines.to_dict("records")]
        found = [record for record in every if record.job.kind in kinds]
        return sorted(found, key=lambda record: record.job.key)

    def planned(self) -> list[Job]:
        """Return no jobs: a file holds what was run."""
        return []


def _record(line: dict[str, Any]) -> Record:
    known = {name: value for name, value in line.items() if not pd.isna(value)}
    scores = {name: float(known[name]) for name in _SCORES if name in known}
    job = Job(
        str(known["dataset"]),
        str(known["method"]),
        str(known.get("split", "given")),
        int(known["seed"]),
        int(known.get("trials", 0)),
        str(known.get("changes", "{}")),
        kind=str(known.get("kind", "fit")),
        after=str(known.get("after", "{}")),
        pruning=bool(known.get("pruning", True)),
    )
    task = "regression" if "rmse" in scores else "binclass" if scores else ""
    return Record(
        job,
        str(known["status"]),
        task=str(known.get("task", task)),
        scores=scores,
        facts={name: float(known[name]) for name in _FACTS if name in known},
        provenance={"gpu": known["machine"]} if "machine" in known else {},
        finished="",
    )
