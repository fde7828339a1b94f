"""Does preset="paper" reach the scores of the paper's public code?

Four tables with their given splits: the mean test score over seeds, the score that it
must reach, and that of the public model, fitted with the loop of its own code on the
same rows. A name that ends in @drawn takes a split of 64/16/20 drawn with seed 0
instead of the given one.

    python benchmarks/paper_scores.py --data DIR [--seeds 3] [--out FILE.json]

DIR: see tables.py. The public model needs the tabarena wheel (--no-deps is enough).
"""

import argparse
import json
import multiprocessing
import os
import time
from functools import partial
from pathlib import Path

import numpy as np

from tables import Table, read

# The worst mean score that passes: RMSE in regression, else accuracy.
ASKED = {
    "houses": 43500.0,
    "cpu_act": 2.42,
    "mfeat-factors": 0.960,
    "phoneme": 0.900,
    "phoneme@drawn": 0.900,
}
KINDS = ("fused", "plain", "public")  # two ways to our loss, and the public model


def score_once(table: Table, seed: int, settings: dict) -> dict:
    """Fit with one seed; the test score and the seconds of the fit."""
    from modernnca import ModernNCAClassifier, ModernNCARegressor

    estimator = ModernNCARegressor if table.regression else ModernNCAClassifier
    model = estimator(random_state=seed, **settings)
    began = time.perf_counter()
    model.fit(*table.train, eval_set=table.val)
    seconds = time.perf_counter() - began
    X, y = table.test
    score = model.score(X, y)
    if table.regression:
        score = float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))
    return {
        "seed": seed,
        "score": score,
        "seconds": round(seconds, 1),
        "epochs": len(model.history_),
        "best_epoch": model.best_epochs_[0],
    }


def _run(data: Path, job: tuple[str, str, int]) -> dict:
    import torch

    name, kind, seed = job
    folder, _, drawn = name.partition("@")
    table = read(data / folder, drawn=bool(drawn))
    if torch.cuda.is_available():
        torch.set_num_threads(1)
    began = time.perf_counter()
    if kind == "public":
        from public_fit import public_score

        result = {"seed": seed, "score": public_score(table, seed)}
    else:
        config = {"fused": kind == "fused"}
        result = score_once(table, seed, {"preset": "paper", "config": config})
    result["seconds"] = round(time.perf_counter() - began, 1)
    return {"table": name, "kind": kind, "regression": table.regression, **result}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=os.environ.get("MODERNNCA_DATA"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", nargs="*", default=list(ASKED), metavar="NAME")
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS)
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("the folder of tables is missing: --data DIR, or MODERNNCA_DATA")
    jobs = [
        (name, kind, seed)
        for name in arguments.tables
        for kind in arguments.kinds
        for seed in range(arguments.seeds)
    ]
    runs = []
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        for run in pool.imap_unordered(partial(_run, Path(arguments.data)), jobs):
            runs.append(run)
            print(run, flush=True)
    results = []
    for name in arguments.tables:
        for kind in arguments.kinds:
            mine = [run for run in runs if (run["table"], run["kind"]) == (name, kind)]
            mine.sort(key=lambda run: run["seed"])
            scores = [run["score"] for run in mine]
            mean, first = float(np.mean(scores)), float(np.mean(scores[:3]))
            passed = [
                value <= ASKED[name] if mine[0]["regression"] else value >= ASKED[name]
                for value in (first, mean)
            ]
            results.append(
                {
                    "table": name,
                    "kind": kind,
                    "asked": ASKED[name],
                    "mean_of_3": first,
                    "mean_of_3_passes": passed[0],
                    "mean": mean,
                    "mean_passes": passed[1],
                    "sd": float(np.std(scores, ddof=1)) if len(scores) > 1 else None,
                    "scores": scores,
                }
            )
            print(
                f"{name:15} {kind:7} asked {ASKED[name]:g}: 3 seeds {first:.6g} "
                f"{'ok' if passed[0] else 'NOT OK'}, {len(scores)} seeds {mean:.6g} "
                f"{'ok' if passed[1] else 'NOT OK'}"
            )
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
