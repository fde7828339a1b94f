"""Does it help that the batch and the sampled rows pass BatchNorm together?

One block with BatchNorm, otherwise preset="paper"; "together" is what the library
does, "apart" what the public code does. Ten tables, three seeds; the ratio of the test
error (or RMSE) together / apart, as a geometric mean with a bootstrap interval over
tables.

    python benchmarks/batchnorm.py --data DIR [--out benchmarks/batchnorm.json]
"""

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from modernnca.core.learner import NeighborLearner
from torch import Tensor

from modernnca.estimators import learning
from paper_scores import score_once
from tables import read

TABLES = [
    "mfeat-zernike",
    "satimage",
    "phoneme",
    "spambase",
    "churn",
    "cpu_act",
    "kin8nm",
    "elevators",
    "pol_reg",
    "Bias_correction_r",
]


class Apart(NeighborLearner):
    """The public code's way: two passes, so two embeddings of one row."""

    def _embed(self, batch: Tensor, others: Tensor) -> Tensor:
        rows = self._fit.rows
        if len(others) < 2:
            return super()._embed(batch, others)
        parts = [self.module(rows.take(index)) for index in (batch, others)]
        return torch.cat(parts)


def run(job: tuple[str, str, int, str]) -> dict:
    """One fit; the error is 1 - accuracy, or RMSE."""
    folder, name, seed, way = job
    torch.set_num_threads(1)
    learning.NeighborLearner = Apart if way == "apart" else NeighborLearner
    table = read(Path(folder) / name)
    result = score_once(table, seed, {"preset": "paper", "n_blocks": 1})
    error = result["score"] if table.regression else 1 - result["score"]
    return {"table": name, "way": way, "error": error, **result}


def summarize(records: list[dict]) -> dict:
    """Ratios by table and their geometric mean."""
    names = sorted({record["table"] for record in records})
    logs = []
    for name in names:
        mean = {
            way: np.mean(
                [r["error"] for r in records if (r["table"], r["way"]) == (name, way)]
            )
            for way in ("together", "apart")
        }
        logs.append(np.log(mean["together"] / mean["apart"]))
        print(f"{name:20} apart {mean['apart']:.5g}  together {mean['together']:.5g}")
    rng = np.random.RandomState(0)
    draws = [np.mean(rng.choice(logs, len(logs))) for _ in range(10_000)]
    low, high = np.exp(np.percentile(draws, [2.5, 97.5]))
    summary = {
        "ratio": float(np.exp(np.mean(logs))),
        "interval_95": [float(low), float(high)],
        "better": int(sum(log < 0 for log in logs)),
        "tables": len(logs),
    }
    print(summary)
    return summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=os.environ.get("MODERNNCA_DATA"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    jobs = [
        (arguments.data, name, seed, way)
        for seed in range(arguments.seeds)
        for name in TABLES
        for way in ("together", "apart")
    ]
    records = []
    context = get_context("spawn")
    with ProcessPoolExecutor(arguments.workers, mp_context=context) as pool:
        for record in pool.map(run, jobs):
            records.append(record)
            print(record, flush=True)
    result = {"summary": summarize(records), "records": records}
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
