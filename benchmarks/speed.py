"""How fast is it, and how much memory does it take, compared with the public code?

    python benchmarks/speed.py --data DIR [--device cuda] [--out FILE] [--only step ...]
    python benchmarks/speed.py --quick

Parts: `step` (a training step: ours, ours without knots, the public model, deeptab's;
the same table, shape and number of sampled rows), `predict` (10,000 rows against
100,000 remembered), `one` (one row through the estimator), `memory` (peak of training,
each model in a process of its own), `epoch` (one epoch of the preset "fast" by table
size), `adult` (a whole default fit, and CatBoost's). Opponents take turns in one
process; medians are shown. deeptab and catboost are used where they are installed
(README.md). `--quick` runs all parts but the last on small tables.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import torch

import modernnca
from modernnca import ModernNCAClassifier
from opponents import deeptab, make_table, ours, public
from tables import read


class Sizes(NamedTuple):
    """The rows of the tables."""

    steps: dict[str, list[tuple[int, int]]]  # by device: rows, columns
    remembered: int = 100_000  # in `predict` and `one`
    queries: int = 10_000
    memory: tuple[int, int] = (100_000, 1_000_000)
    epochs: tuple[int, ...] = (10_000, 30_000, 100_000, 300_000, 1_000_000)


FULL = Sizes(
    {
        "cpu": [(5_242, 21), (28_934, 16), (100_000, 20)],
        "cuda": [(28_934, 16), (100_000, 20), (500_000, 20), (1_000_000, 20)],
    }
)
QUICK = Sizes(
    {device: [(2_000, 5)] for device in ("cpu", "cuda")},
    *(2_000, 500, (2_000, 4_000), (2_000,)),
)
MAKERS = {
    "ours": lambda x, y: ours(x, y, n_knots=256),
    "ours, exact encoding": lambda x, y: ours(x, y, name="exact", n_knots=0),
    "public": public,
    "deeptab": deeptab,
}


def clock(function, device: str) -> float:
    """Seconds of one call, with all of the device's work done."""
    began = time.perf_counter()
    function()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


def alternate(functions: dict, device: str, *, n: int) -> dict[str, float]:
    """Median seconds of each function; they take turns, after one round to warm up."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(n + 1):
        for name, function in functions.items():
            seconds = clock(function, device)
            if turn:
                times[name].append(seconds)
    return {name: median(values) for name, values in times.items()}


def opponents(n_rows: int, n_columns: int, device: str, names=tuple(MAKERS)) -> dict:
    x, y = make_table(n_rows, n_columns, device)
    made = {name: MAKERS[name](x, y) for name in names}
    return {name: one for name, one in made.items() if one is not None}


def ratios(times: dict[str, float]) -> dict[str, float]:
    """How many times slower than ours."""
    return {name: seconds / times["ours"] for name, seconds in times.items()}


def show(title: str, times: dict[str, float]) -> None:
    cells = [
        f"{name} {seconds * 1e3:.4g} ms (x{ratio:.1f})"
        for (name, seconds), ratio in zip(
            times.items(), ratios(times).values(), strict=True
        )
    ]
    print(f"{title}: " + ", ".join(cells), flush=True)


def part_step(arguments) -> dict:
    result = {}
    for n_rows, n_columns in arguments.sizes.steps[arguments.device]:
        made = opponents(n_rows, n_columns, arguments.device)
        steps = {name: one.step for name, one in made.items()}
        times = alternate(steps, arguments.device, n=arguments.n)
        show(f"step {n_rows:,} x {n_columns}", times)
        result[f"{n_rows} x {n_columns}"] = {"seconds": times, "ratio": ratios(times)}
    return result


def part_predict(arguments) -> dict:
    names, sizes = ("ours", "public", "deeptab"), arguments.sizes
    made = opponents(sizes.remembered, 20, arguments.device, names)
    query, _ = make_table(sizes.queries, 20, arguments.device, seed=1)
    calls = {name: (lambda one=one: one.predict(query)) for name, one in made.items()}
    times = alternate(calls, arguments.device, n=3)
    show(f"predict {sizes.queries:,} against {sizes.remembered:,}", times)
    return {"seconds": times, "ratio": ratios(times)}


def part_one(arguments) -> dict:
    """One row at a time through the estimator's own predict."""
    import pandas as pd

    x, y = make_table(arguments.sizes.remembered * 5 // 4, 20, "cpu")
    frame = pd.DataFrame(x.numpy(), columns=[f"x{j}" for j in range(20)])
    model = ModernNCAClassifier(
        time_limit=20,
        max_epochs=1,
        random_state=0,
        device=arguments.device,
        refit="none",
    ).fit(frame, y.numpy())
    n_rows = len(model.rows_.index)
    times = {}
    for kind, row in (("frame", frame.iloc[:1]), ("array", x[:1].numpy())):
        seconds = [
            clock(lambda row=row: model.predict(row), arguments.device)
            for _ in range(50)
        ]
        times[kind] = median(seconds[5:])
        print(f"one row ({kind}) against {n_rows:,}: {times[kind] * 1e3:.2f} ms")
    return {"remembered": n_rows, "seconds": times}


def part_memory(arguments) -> dict:
    """Peak memory of three training steps, above what the table itself takes."""
    result = {}
    few, many = arguments.sizes.memory
    jobs = [(few, name) for name in MAKERS] + [(many, "ours")]
    if arguments.device == "cuda":
        jobs += [(many, "public")]
    for n_rows, name in jobs:
        output = subprocess.run(
            [
                *(sys.executable, __file__, "--peak", name),
                *("--rows", str(n_rows), "--device", arguments.device),
            ],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        if output.strip():
            result[f"{name}, {n_rows}"] = json.loads(output.splitlines()[-1])
            print(f"memory {n_rows:,} rows, {name}: {output.strip()}", flush=True)
    return result


def peak(name: str, n_rows: int, device: str) -> None:
    """Print the peak memory of this process's training, in MiB."""
    x, y = make_table(n_rows, 20, device)
    one = MAKERS[name](x, y)
    if one is None:
        return
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = 0.0
    else:
        before = _memory("VmRSS")
    for _ in range(3):
        one.step()
    if device == "cuda":
        whole = torch.cuda.max_memory_allocated() / 2**20
    else:
        whole = _memory("VmHWM")
    print(json.dumps({"peak_mib": round(whole), "training_mib": round(whole - before)}))


def _memory(what: str) -> float:
    """The memory of this process in MiB: VmRSS now, VmHWM at its peak.

    Not by getrusage, whose peak of a child process begins with that of its parent.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(what)]
    return int(line.split()[1]) / 1024


def part_epoch(arguments) -> dict:
    """One epoch of one network, by table size."""
    result = {}
    for n_rows in arguments.sizes.epochs:
        x, y = make_table(n_rows, 20, "cpu")
        model = ModernNCAClassifier(
            preset="fast", max_epochs=2, random_state=0, device=arguments.device
        )
        model.fit(x.numpy(), y.numpy())
        first, second = (epoch.seconds for epoch in model.history_)
        seconds = second - first
        peak = _memory("VmHWM") / 1024
        result[n_rows] = {
            "seconds": seconds,
            "per_million_rows": seconds * 1e6 / n_rows,
        }
        print(
            f"epoch {n_rows:,}: {seconds:.2f} s, {seconds * 1e6 / n_rows:.1f} s per "
            f"million rows; peak {peak:.2f} GiB so far",
            flush=True,
        )
    return result


def part_adult(arguments) -> dict:
    """A whole default fit on adult, and CatBoost's, in turns."""
    from catboost import CatBoostClassifier

    table = read(Path(arguments.data) / "adult")
    (X, y), (X_val, y_val), (X_test, y_test) = table.train, table.val, table.test
    texts = [name for name in X if X[name].dtype.kind not in "fiu"]

    def as_text(frame):
        filled = {c: frame[c].astype(object).fillna("missing") for c in texts}
        return frame.assign(**{c: cells.astype(str) for c, cells in filled.items()})

    scores = {}

    def fit_ours():
        model = ModernNCAClassifier(random_state=0, device=arguments.device)
        model.fit(X, y, eval_set=(X_val, y_val))
        scores["ours"] = float(model.score(X_test, y_test))
        scores["epochs"] = len(model.history_)

    def fit_catboost():
        model = CatBoostClassifier(
            cat_features=texts, verbose=0, thread_count=torch.get_num_threads()
        )
        model.fit(as_text(X), y)
        prediction = model.predict(as_text(X_test)).ravel()
        scores["catboost"] = float(
            np.mean(prediction.astype(str) == y_test.astype(str))
        )

    times = {name: [] for name in ("ours", "catboost")}
    for _ in range(arguments.rounds):
        times["ours"].append(clock(fit_ours, arguments.device))
        times["catboost"].append(clock(fit_catboost, "cpu"))
    times = {name: median(values) for name, values in times.items()}
    ratio = times["ours"] / times["catboost"]
    print(f"adult: {times}, ours / CatBoost {ratio:.2f}, {scores}", flush=True)
    return {"seconds": times, "ratio": ratio, "scores": scores}


PARTS = {
    "step": part_step,
    "predict": part_predict,
    "one": part_one,
    "memory": part_memory,
    "epoch": part_epoch,
    "adult": part_adult,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=os.environ.get("MODERNNCA_DATA"))
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--n", type=int, default=5, help="turns of each opponent")
    parser.add_argument("--rounds", type=int, default=1, help="fits on adult")
    parser.add_argument("--peak", choices=list(MAKERS), help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="small tables")
    arguments = parser.parse_args()
    arguments.sizes = QUICK if arguments.quick else FULL
    if arguments.quick:
        arguments.only = [name for name in arguments.only if name != "adult"]
    if arguments.peak:
        peak(arguments.peak, arguments.rows, arguments.device)
        return
    result: dict = {
        "machine": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "modernnca": modernnca.__version__,
    }
    if arguments.device == "cuda":
        result["device"] = torch.cuda.get_device_name()
    for name in arguments.only:
        result[name] = PARTS[name](arguments)
        if arguments.out:
            arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
