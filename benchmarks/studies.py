"""The paper's ablations on fifteen tables: its variants with defaults, a few tuned.

    python benchmarks/studies.py run --data DIR --store DIR --seeds 3
    python benchmarks/studies.py report --store DIR [--store DIR ...]
    modernnca study report DIR [DIR ...] -o report

The tables have the split of the published scores. Every variant of the ablation studies
in `src/modernnca/lab/studies` is fitted with its defaults; those of three studies are
also tuned, with ten trials, on the two smallest tables. `run` resumes where it was
interrupted. `report` writes studies.csv, one line for each fit; `modernnca study
report` writes the page that docs/findings.md is taken from.
"""

import argparse
from pathlib import Path

import pandas as pd

from fits import main, records_of
from modernnca.lab.bench.job import Job
from modernnca.lab.bench.study import read_study, study_names

HERE = Path(__file__).parent
TABLES = (
    *("credit-g", "healthcare_insurance_expenses", "pc3", "space_ga", "mfeat-fourier"),
    *("mfeat-zernike", "splice", "spambase", "wine-quality-white", "churn", "sylvine"),
    *("phoneme", "page-blocks", "satimage", "wine+quality"),
)
ABLATIONS = [n for n in study_names() if n not in ("main", "visualise", "beyond")]
TUNED = ("distance", "architecture", "loss")
N_TRIALS, N_TUNED_TABLES = 10, 2


def jobs(asked: argparse.Namespace) -> list[Job]:
    """All fits in order: with defaults, seed by seed, then tuned."""
    tables = asked.tables.split(",") if asked.tables else list(TABLES)

    def of(study: str, chosen: list[str], *, seeds: int, trials: int) -> list[Job]:
        known = read_study(study)
        return known.jobs(chosen, data=asked.data, seeds=seeds, trials=(trials,))

    plain = [
        job
        for study in ABLATIONS
        for job in of(study, tables, seeds=asked.seeds, trials=0)
    ]
    tuned = [
        job
        for study in TUNED
        for job in of(
            study, tables[:N_TUNED_TABLES], seeds=asked.seeds, trials=N_TRIALS
        )
    ]
    return [*sorted(plain, key=lambda job: job.seed), *tuned]


def report(asked: argparse.Namespace) -> None:
    """Write one line for each fit."""
    if not asked.store:
        raise SystemExit("studies.csv is made of stores: give --store DIR.")
    lines = pd.DataFrame(
        {
            "dataset": record.job.dataset,
            "task": record.task,
            "method": record.job.method,
            "changes": record.job.settings,
            "trials": record.job.trials,
            "seed": record.job.seed,
            "status": record.status,
            "accuracy": record.scores.get("accuracy"),
            "log-loss": record.scores.get("log-loss"),
            "rmse": record.scores.get("rmse"),
            "fit_seconds": record.facts.get("fit_seconds"),
            "machine": record.provenance.get("gpu") or "CPU",
        }
        for record in records_of(asked.store)
        if record.job.dataset in TABLES and record.job.kind == "fit"
    ).sort_values(["method", "changes", "trials", "dataset", "seed"])
    lines.to_csv(HERE / "studies.csv", index=False, float_format="%.6g")
    counted = lines.groupby(["method", "changes", "trials"])["dataset"]
    print(counted.agg(["nunique", "size"]).to_string())


if __name__ == "__main__":
    main(__doc__, jobs, report)
