"""Run jobs and store their records; jobs that have a record are skipped."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from modernnca.execute.executor import NO_LIMITS, ONE_CPU, Executor, Limits, Resources
from modernnca.lab.bench.job import Job, JobInput, Record, run_job
from modernnca.lab.bench.provenance import provenance
from modernnca.lab.bench.store import Store
from modernnca.lab.peers import peer

# Modules that every fresh process needs.
PRELOAD = ("modernnca.lab.bench.job", "modernnca.lab.peers.modernnca")


def plan(
    datasets: Iterable[str],
    methods: Iterable[str],
    *,
    splits: Sequence[str] = ("given",),
    seeds: int = 15,
    trials: Sequence[int] = (0,),
    regression_datasets: Collection[str] = (),
) -> list[Job]:
    """Return a job for every dataset, method, split, seed and number of trials.

    Methods that only classify are left out on the datasets in `regression_datasets`.

    >>> len(plan(["iris", "wine"], ["knn"], seeds=3, trials=(0, 20)))
    12
    """
    return [
        Job(dataset, method, split, seed, n_trials, pruning=not n_trials)
        for dataset, method, n_trials, split, seed in product(
            datasets, methods, trials, splits, range(seeds)
        )
        if dataset not in regression_datasets or "regression" in peer(method).tasks
    ]


@dataclass(frozen=True)
class Runner:
    """Runs jobs with an executor and stores their records.

    `limits` apply to one fit. A search may take `search_seconds` and the memory of a
    fit.
    """

    store: Store
    executor: Executor
    data: Path | None = None
    limits: Limits = NO_LIMITS
    resources: Resources = ONE_CPU
    search_seconds: float | None = None

    def run(
        self, jobs: Sequence[Job], on_record: Callable[[Record], None] = lambda _: None
    ) -> None:
        """Run the missing jobs: searches first, then fits with the tuned settings."""
        with self.store.write_lock():
            self.store.plan(jobs)
            tuned = [job for job in self.missing(jobs) if job.trials]
            searches = list(dict.fromkeys(job.search for job in tuned))
            search_limits = Limits(memory_bytes=self.limits.memory_bytes)
            self._map(searches, search_limits, on_record)
            self._map(jobs, self.limits, on_record)

    def missing(self, jobs: Sequence[Job]) -> list[Job]:
        """Return the jobs without a record."""
        done = self.store.keys()
        return [job for job in dict.fromkeys(jobs) if job.key not in done]

    def _map(
        self,
        jobs: Sequence[Job],
        limits: Limits,
        on_record: Callable[[Record], None],
    ) -> None:
        missing = self.missing(jobs)
        # The stored records, among them the searches.
        stored = {record.job.key: record for record in self.store.records() if missing}
        inputs = []
        for job in missing:
            search = stored.get(job.search.key) if job.trials else None
            if job.kind == "fit" and search is not None and search.status != "done":
                error = f"The search for its settings failed: {search.error}"
                self._append(Record(job, "failed", error), on_record)
                continue
            tuned = search.used if job.kind == "fit" and search else {}
            inputs.append(
                JobInput(job, self.data, tuned, self.store.trials, self.search_seconds)
            )
        outcomes = self.executor.map(
            run_job, inputs, resources=self.resources, limits=limits
        )
        for outcome in outcomes:
            record = outcome.value
            if outcome.kind != "done":
                job = inputs[outcome.index].job
                record = Record(
                    job, outcome.kind, outcome.error, provenance=provenance()
                )
            self._append(record, on_record)

    def _append(self, record: Record, on_record: Callable[[Record], None]) -> None:
        if self.store.append(record):
            on_record(record)
