"""Run jobs and keep their records; what has a record is not run again."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from modernnca.execute.executor import NO_LIMITS, ONE_CPU, Executor, Limits, Resources
from modernnca.lab.bench.job import Job, Record, Work, run_job
from modernnca.lab.bench.provenance import provenance
from modernnca.lab.bench.store import Store
from modernnca.lab.peers import peer

# Modules that a fresh process should have at once.
PRELOAD = ("modernnca.lab.bench.job", "modernnca.lab.peers.modernnca")


def plan(
    datasets: Iterable[str],
    methods: Iterable[str],
    *,
    splits: Sequence[str] = ("given",),
    seeds: int = 15,
    trials: Sequence[int] = (0,),
    numbers: Collection[str] = (),
) -> list[Job]:
    """Every dataset with every method, split, seed, and number of trials.

    The targets of the datasets in `numbers` are numbers: a method that is for classes
    alone is not asked for them.

    >>> len(plan(["iris", "wine"], ["knn"], seeds=3, trials=(0, 20)))
    12
    """
    return [
        Job(dataset, method, split, seed, n_trials)
        for dataset, method, n_trials, split, seed in product(
            datasets, methods, trials, splits, range(seeds)
        )
        if dataset not in numbers or "regression" in peer(method).tasks
    ]


@dataclass(frozen=True)
class Runner:
    """How jobs are run: where, with what, and in what bounds.

    `limits` hold for one fit; a search may take `search_seconds`, and its memory is
    that of a fit.
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
        """Run what is missing: searches first, then fits with what they found."""
        with self.store.writing():
            self.store.plan(jobs)
            searches = list(dict.fromkeys(job.search for job in jobs if job.trials))
            patient = Limits(memory_bytes=self.limits.memory_bytes)
            self._map(searches, patient, on_record)
            self._map(jobs, self.limits, on_record)

    def missing(self, jobs: Sequence[Job]) -> list[Job]:
        """The jobs without a record."""
        done = self.store.keys()
        return [job for job in dict.fromkeys(jobs) if job.key not in done]

    def _map(
        self,
        jobs: Sequence[Job],
        limits: Limits,
        on_record: Callable[[Record], None],
    ) -> None:
        missing = self.missing(jobs)
        found = {
            record.job.key: record for record in self.store.records() if missing
        }  # searches among them
        works = []
        for job in missing:
            search = found.get(job.search.key) if job.trials else None
            if job.kind == "fit" and search is not None and search.status != "done":
                error = f"The search for its settings failed: {search.error}"
                self._keep(Record(job, "failed", error), on_record)
                continue
            settings = search.used if job.kind == "fit" and search else {}
            works.append(
                Work(job, self.data, settings, self.store.trials, self.search_seconds)
            )
        outcomes = self.executor.map(
            run_job, works, resources=self.resources, limits=limits
        )
        for outcome in outcomes:
            record = outcome.value
            if outcome.kind != "done":
                job = works[outcome.index].job
                record = Record(
                    job, outcome.kind, outcome.error, provenance=provenance()
                )
            self._keep(record, on_record)

    def _keep(self, record: Record, on_record: Callable[[Record], None]) -> None:
        if self.store.append(record):
            on_record(record)
