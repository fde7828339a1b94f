"""Maps of embeddings: raw features, TabR, M-NCA and TabCon on the paper's four tables.

    python benchmarks/portable.py --data DIR --out SMALL --max-train 2000
    python benchmarks/visualise.py run --data SMALL --store DIR
    python benchmarks/visualise.py report --store DIR

portable.py limits the training rows, for a CPU; the maps show 1,000 test rows. `report`
writes visualise.csv, one line for each embedding, and the picture of docs/findings.md.
"""

import argparse
import io
from pathlib import Path

import pandas as pd
from PIL import Image

from fits import main, records_of
from modernnca.lab.bench.found import find
from modernnca.lab.bench.job import Job
from modernnca.lab.bench.store import Store
from modernnca.lab.bench.study import read_study
from modernnca.lab.report.study_evidence import gather_evidence
from modernnca.lab.report.study_figures import draw_study

HERE = Path(__file__).parent
WIDTH = 900  # pixels of the picture
PICTURE = HERE.parent / "docs" / "images" / "embeddings.png"
STUDY = read_study("visualise")


def jobs(asked: argparse.Namespace) -> list[Job]:
    """An embedding of each table by each method."""
    tables = asked.tables.split(",") if asked.tables else STUDY.full.datasets
    return STUDY.jobs(tables, data=asked.data, seeds=asked.seeds)


def report(asked: argparse.Namespace) -> None:
    """Write one line for each embedding, and the picture of all."""
    if not asked.store:
        raise SystemExit("visualise.csv is made of stores: give --store DIR.")
    lines = pd.DataFrame(
        {
            "dataset": record.job.dataset,
            "task": record.task,
            "method": record.job.method,
            "kind": record.job.kind,
            "seed": record.job.seed,
            "status": record.status,
            **record.scores,
            "fit_seconds": record.facts.get("fit_seconds"),
            "n_train": record.facts.get("n_train"),
            "machine": record.provenance.get("gpu") or "CPU",
        }
        for record in records_of(asked.store)
        if record.job.kind == STUDY.kind
    ).sort_values(["dataset", "method", "seed"])
    lines.to_csv(HERE / "visualise.csv", index=False, float_format="%.6g")
    found = find(STUDY, [Store(path) for path in asked.store])
    [evidence] = gather_evidence(STUDY, found)
    [(figure, *_)] = draw_study(evidence, found)
    with Image.open(io.BytesIO(figure.png)) as picture:
        size = (WIDTH, round(picture.height * WIDTH / picture.width))
        small = (
            picture.convert("RGB").resize(size).quantize(64, dither=Image.Dither.NONE)
        )
    small.save(PICTURE, optimize=True)
    print(lines.to_string())


if __name__ == "__main__":
    main(__doc__, jobs, report)
