"""Measure whether memory grows over many predictions and many fits in one process.

    python reliability/memory_growth.py --write reliability/memory_growth.json

The first tenth warms up (allocators, thread pools); what the resident memory grows by
afterwards is a leak if it goes on.
"""

import argparse
import gc
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from modernnca import ModernNCAClassifier


def resident_mib() -> float:
    """The resident memory of this process."""
    gc.collect()
    return psutil.Process().memory_info().rss / 2**20


def grown(work: Callable[[], object], times: int) -> dict[str, float]:
    """The memory after a tenth, after half and after all calls, in MiB."""
    seen = {}
    marks = {"warm": max(1, times // 10), "half": times // 2, "end": times}
    for number in range(1, times + 1):
        work()
        now = round(resident_mib(), 1)
        seen |= {name: now for name, mark in marks.items() if mark == number}
    return {**seen, "grown": round(seen["end"] - seen["warm"], 1)}


def run(n_predictions: int = 300, n_fits: int = 40) -> dict[str, Any]:
    """Predict often with one model, then fit often."""
    rng = np.random.RandomState(0)
    x = rng.randn(1000, 10)
    y = x[:, 0] * x[:, 1] > 0
    options = {"max_epochs": 2, "n_members": 2, "random_state": 0}
    model = ModernNCAClassifier(**options).fit(x, y)
    return {
        "predictions": n_predictions,
        "over predictions": grown(lambda: model.predict_proba(x), n_predictions),
        "fits": n_fits,
        "over fits": grown(lambda: ModernNCAClassifier(**options).fit(x, y), n_fits),
    }


def main() -> None:
    """Run the campaign from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", type=Path, help="a JSON file for the figures")
    asked = parser.parse_args()
    found = run()
    print(json.dumps(found, indent=1))
    if asked.write:
        asked.write.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
