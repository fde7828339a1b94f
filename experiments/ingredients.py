"""What does each ingredient of the defaults give? One network each, many tables.

Every configuration is the base, one network without a block, with a few changes. Fits
are made on train, stopped by val; val is predicted from train alone, then joins the
memory, and test is predicted. Both predictions are kept, so that ensembles can be
judged afterwards (ingredients_judge.py).

    python experiments/ingredients.py --data DIR --out DIR [--configs a b] [--seeds 1]

Runs again only what is missing. Two thirds of the tables ("choose") are for choosing;
the others ("confirm") are looked at once, at the end.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from tables import read

_BLOCK = {"n_blocks": 1, "dropout": 0.1, "learning_rate": 0.002}
_ROBUST = {"numbers": "robust", "scale_columns": True}
BASE = {
    "preset": "fast",
    "max_sampled": 4096,
    "calibrate": False,
    "guard": False,
}
CONFIGS: dict[str, dict] = {
    "paper": {"preset": "paper"},
    "default": {"preset": "default"},
    "base": {},
    "scale": {"scale_columns": True},
    "robust": {"numbers": "robust"},
    "robust-scale": _ROBUST,
    "quantile": {"numbers": "quantile"},
    "quantile-scale": {"numbers": "quantile", "scale_columns": True},
    "block": _BLOCK,
    "robust-scale-block": {**_ROBUST, **_BLOCK},
    "quantile-scale-block": {"numbers": "quantile", "scale_columns": True, **_BLOCK},
    "pbld": {
        "encoding": "pbld",
        "n_frequencies": 16,
        "frequency_scale": 0.1,
        "d_encoding": 8,
    },
    "block-pbld": {
        "encoding": "pbld",
        "n_frequencies": 16,
        "frequency_scale": 0.1,
        "d_encoding": 8,
        **_BLOCK,
    },
    "block-2048": {**_BLOCK, "max_sampled": 2048},
    "block-1024": {**_BLOCK, "max_sampled": 1024},
    "block-256": {**_BLOCK, "d_block": 256},
    "mixed": {**_BLOCK, "n_members": 3, "variety": "mixed"},
    "cosine": {"distance": "cosine"},
    "smooth": {"label_smoothing": 0.1},
    "log-loss": {"stopping_metric": ("log-loss", "rmse")},
    "dim-64": {"dim": 64},
    "dim-256": {"dim": 256},
    "lr-0.001": {"learning_rate": 0.001},
    "lr-0.006": {"learning_rate": 0.006},
}


def third(name: str) -> str:
    """Which third a table is in: "choose" (two of three) or "confirm"."""
    number = int(hashlib.sha256(name.encode()).hexdigest(), 16)
    return "confirm" if number % 3 == 0 else "choose"


def run(data: Path, out: Path, job: tuple[str, str, int]) -> dict:
    """Fit one configuration on one table; the record, or what went wrong."""
    import torch

    from modernnca import ModernNCAClassifier, ModernNCARegressor

    torch.set_num_threads(1)
    name, config, seed = job
    table = read(data / name)
    settings = CONFIGS[config]
    if table.regression:
        settings = {k: v for k, v in settings.items() if k != "label_smoothing"}
    kind = ModernNCARegressor if table.regression else ModernNCAClassifier
    if "preset" not in settings:
        settings = {**BASE, **settings}
    model = kind(random_state=seed, **{"refit": None, **settings})
    began = time.perf_counter()
    record = {"table": name, "config": config, "seed": seed, "third": third(name)}
    try:
        model.fit(*table.train, eval_set=table.val)
        seconds = time.perf_counter() - began
        answer = model.predict if table.regression else model.predict_proba
        val = answer(table.val[0])
        if config != "paper":
            stop = model._read_eval_set(model.remembered_, table.val)
            joined = model._join(model.remembered_, stop)
            model._remember(joined, [member.net for member in model.members_])
        test = answer(table.test[0])
    except Exception as error:
        return {**record, "error": f"{type(error).__name__}: {error}"[:300]}
    score = {}
    for part, prediction, y in (
        ("val", val, table.val[1]),
        ("test", test, table.test[1]),
    ):
        if table.regression:
            score[f"{part}_error"] = float(np.sqrt(np.mean((prediction - y) ** 2)))
        else:
            codes = np.searchsorted(model.classes_, y)
            right = prediction.argmax(1) == codes
            given = prediction[np.arange(len(y)), codes].clip(1e-7, 1)
            score[f"{part}_error"] = float(1 - right.mean())
            score[f"{part}_log_loss"] = float(-np.log(given).mean())
    file = out / "predictions" / f"{name}+{config}+{seed}.npz"
    np.savez_compressed(file, val=val.astype(np.float32), test=test.astype(np.float32))
    return {
        **record,
        "regression": table.regression,
        "n_train": len(table.train[1]),
        **score,
        "seconds": round(seconds, 2),
        "epochs": len(model.history_),
    }


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--configs", nargs="*", default=list(CONFIGS))
    parser.add_argument(
        "--third", default="choose", choices=("choose", "confirm", "all")
    )
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--max-rows", type=int, default=30_000)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    arguments = parser.parse_args()
    (arguments.out / "predictions").mkdir(parents=True, exist_ok=True)
    file = arguments.out / "records.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    done = {(r["table"], r["config"], r["seed"]) for r in map(json.loads, lines)}
    sizes = {}
    for path in arguments.data.iterdir():
        info = json.loads((path / "info.json").read_text())
        wanted = arguments.third in ("all", third(path.name))
        if wanted and info["n_rows"] <= arguments.max_rows:
            sizes[path.name] = info["n_rows"] * (1 + info["n_num"])
    jobs = [
        job
        for seed in arguments.seeds
        for config in arguments.configs
        for table in sizes
        if (job := (table, config, seed)) not in done
    ]
    jobs.sort(key=lambda job: -sizes[job[0]])  # the longest first
    ends = time.monotonic() + arguments.seconds
    work = partial(run, arguments.data, arguments.out)
    with (
        file.open("a") as records,
        multiprocessing.get_context("spawn").Pool(arguments.processes) as pool,
    ):
        for i, record in enumerate(pool.imap_unordered(work, jobs), 1):
            records.write(json.dumps(record) + "\n")
            records.flush()
            if i % 20 == 0 or "error" in record:
                print(i, len(jobs), record, flush=True)
            if time.monotonic() > ends:
                print(f"time is up: {i} of {len(jobs)}", flush=True)
                pool.terminate()
                os._exit(0)


if __name__ == "__main__":
    main()
