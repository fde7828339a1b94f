"""Do the fast paths change the scores?

The defaults on five tables with their given splits, three seeds each: as they are
("fast": encodings interpolated between knots, the loss in one pass), "plain" (every
number encoded, all pairs kept), and "all" (fast, without a limit on sampled rows).

    python benchmarks/fast_scores.py --data DIR [--out FILE] [--workers 2]
"""

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch

from paper_scores import score_once
from tables import read

TABLES = ["adult", "houses", "cpu_act", "phoneme", "mfeat-factors"]  # slow ones first
WAYS: dict[str, dict] = {
    "fast": {},
    "plain": {"n_knots": 0, "fused": False},
    "all": {"max_sampled": float("inf")},
}


def run(job: tuple[str, str, int, str]) -> dict:
    folder, name, seed, way = job
    torch.set_num_threads(1)
    result = score_once(read(Path(folder) / name), seed, {"config": WAYS[way]})
    return {"table": name, "way": way, **result}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=os.environ.get("MODERNNCA_DATA"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    jobs = [
        (arguments.data, name, seed, way)
        for name in TABLES
        for seed in range(arguments.seeds)
        for way in WAYS
    ]
    context = get_context("spawn")
    with ProcessPoolExecutor(arguments.workers, mp_context=context) as pool:
        records = list(pool.map(run, jobs))
    for name in TABLES:
        cells = []
        for way in WAYS:
            scores = [
                r["score"] for r in records if (r["table"], r["way"]) == (name, way)
            ]
            cells.append(
                f"{way} {np.mean(scores):.5g} (sd {np.std(scores, ddof=1):.2g})"
            )
        print(f"{name}: " + ", ".join(cells))
    if arguments.out:
        arguments.out.write_text(json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    main()
