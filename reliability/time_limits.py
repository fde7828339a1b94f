"""Fit tables of many sizes under time limits, and measure how well the limits hold.

    python reliability/time_limits.py --write reliability/time_limits.json

A limit holds if the fit takes at most 5 % and a second more. Besides the seconds, the
score on new rows tells what the limit costs, and `left_out` what there was no time for.
"""

import argparse
import json
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from modernnca import ModernNCAClassifier, ModernNCARegressor
from modernnca.errors import FitWarning

SIZES = [(200, 10), (1_000, 10), (10_000, 20), (50_000, 20), (200_000, 20)]
LIMITS = [1.0, 5.0, 30.0]
_N_NEW = 2000
_PAUSE, _N_TRIES = 2.0, 4


def make_table(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, and a target that four of the columns decide."""
    rng = np.random.RandomState(0)
    x = rng.randn(n_rows + _N_NEW, n_columns)
    y = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + x[:, 3]
    return x, y + 0.3 * rng.randn(len(y))


@contextmanager
def noticing_pauses() -> Iterator[list[float]]:
    """Within, note the seconds during which the process was stopped from outside.

    A thread looks at the clock ten times a second; a much longer gap is a pause.
    """
    gaps, over = [], threading.Event()

    def watch() -> None:
        last = time.monotonic()
        while not over.wait(0.1):
            now = time.monotonic()
            if now - last > _PAUSE:
                gaps.append(round(now - last, 1))
            last = now

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield gaps
    finally:
        over.set()
        watcher.join()


def measure(task: str, n_rows: int, n_columns: int, limit: float) -> dict[str, Any]:
    """One fit under a limit, again if the process was paused meanwhile."""
    for _ in range(_N_TRIES):
        with noticing_pauses() as pauses:
            found = _measure_once(task, n_rows, n_columns, limit)
        if not pauses:
            return found
        print(f"paused for {pauses} s:", json.dumps(found), flush=True)
    return {**found, "paused": pauses}


def _measure_once(
    task: str, n_rows: int, n_columns: int, limit: float
) -> dict[str, Any]:
    x, y = make_table(n_rows, n_columns)
    kind: Any = ModernNCARegressor
    if task == "classification":
        kind, y = ModernNCAClassifier, y > 0
    model = kind(time_limit=limit, random_state=0, verbose=False)
    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        model.fit(x[:n_rows], y[:n_rows])
    seconds = time.monotonic() - began
    return {
        "task": task,
        "rows": n_rows,
        "columns": n_columns,
        "limit": limit,
        "seconds": round(seconds, 2),
        "holds": seconds <= 1.05 * limit + 1,
        "score": round(float(model.score(x[n_rows:], y[n_rows:])), 3),
        "members": model.fit_report_.n_members,
        "baseline": model.baseline_,
        "left_out": list(model.fit_report_.left_out),
    }


def run(sizes: Any = SIZES, limits: Any = LIMITS) -> list[dict[str, Any]]:
    """All sizes and limits, both tasks; the first fit of a process is not measured."""
    measure("regression", 100, 4, 0.5)
    found = []
    for n_rows, n_columns in sizes:
        for limit in limits:
            for task in ("classification", "regression"):
                found.append(measure(task, n_rows, n_columns, limit))
                print(json.dumps(found[-1]), flush=True)
    return found


def as_markdown(found: list[dict[str, Any]]) -> str:
    """The table of the docs: seconds and score of each table under each limit."""
    limits = sorted({each["limit"] for each in found})
    head = "".join(f" {limit:g} s |" for limit in limits)
    lines = [f"| task | rows |{head}", "| --- | --- |" + " --- |" * len(limits)]
    for task, rows in dict.fromkeys((each["task"], each["rows"]) for each in found):
        cells = [
            f" {each['seconds']:.1f} s, {each['score']:.3f} |"
            for each in found
            if (each["task"], each["rows"]) == (task, rows)
        ]
        lines.append(f"| {task} | {rows:,} |{''.join(cells)}")
    return "\n".join(lines)


def main() -> None:
    """Run the campaign from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="*", help="these sizes alone")
    parser.add_argument("--limits", type=float, nargs="*", help="these limits alone")
    parser.add_argument("--write", type=Path, help="a JSON file for the figures")
    asked = parser.parse_args()
    sizes = [size for size in SIZES if not asked.rows or size[0] in asked.rows]
    found = run(sizes, asked.limits or LIMITS)
    n_held = sum(each["holds"] for each in found)
    print(f"{n_held} of {len(found)} limits held.\n{as_markdown(found)}")
    if asked.write:
        lines = ",\n".join(json.dumps(each) for each in found)
        asked.write.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
