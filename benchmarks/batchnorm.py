"""Does it help that the batch and the sampled rows pass BatchNorm together?

One block with BatchNorm, otherwise preset="paper": "together" is what the library does,
"apart" what the public code does. Ten tables, three seeds; the test error (or RMSE)
together over apart, as a geometric mean with a bootstrap interval over tables.

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
from torch import Tensor

from modernnca import Member, NetworkMember
from modernnca.core.network import Network
from modernnca.core.rows import Examples, Rows
from modernnca.ensemble.learner import NeighborLearner
from modernnca.ensemble.run import Run
from modernnca.train.loop import History, train
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


class ApartNetwork(Network):
    """In training, the first rows and the others pass one after the other."""

    n_first = 0

    def forward(self, rows: Rows) -> Tensor:
        """Embed N rows: (N, D)."""
        if not self.training or rows.n_rows < self.n_first + 2:
            return super().forward(rows)
        batch = super().forward(rows.take(slice(None, self.n_first)))
        return torch.cat([batch, super().forward(rows.take(slice(self.n_first, None)))])


class ApartLearner(NeighborLearner):
    """Tells the network which rows are the batch."""

    def loss(self, batch: Tensor) -> Tensor:
        """The mean loss of the rows numbered in `batch` (B,)."""
        self.module.n_first = len(batch)
        return super().loss(batch)


class ApartMember(NetworkMember):
    """A network trained as the public code does it: one row has two embeddings."""

    def fit(self, train_rows: Examples, valid: Examples | None, run: Run) -> History:
        """Train a network, stopping early by the validation rows."""
        config = self.configure(run.config)
        generators = run.generators()
        network = ApartNetwork(config, run.shape, generators.module).to(run.device)
        network.prepare(train_rows.rows.numbers)
        network.draw_dropout_from(generators.device)
        learner = ApartLearner(
            network,
            train_rows,
            valid,
            config=config,
            evaluate=run.evaluate,
            generators=generators,
        )
        self.network_, self.config_ = network, config
        self.history_ = train(learner, config, generators, budget=run.budget)
        network.draw_dropout_from(None)
        network.eval().requires_grad_(False)
        return self.history_


WAYS: dict[str, Member] = {"together": NetworkMember(), "apart": ApartMember()}


def run(job: tuple[str, str, int, str]) -> dict:
    """One fit; the error is 1 - accuracy, or RMSE."""
    folder, name, seed, way = job
    torch.set_num_threads(1)
    table = read(Path(folder) / name)
    settings = {"preset": "paper", "n_blocks": 1, "members": [WAYS[way]]}
    result = score_once(table, seed, settings)
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
            for way in WAYS
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
        for way in WAYS
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
