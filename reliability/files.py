"""Read thousands of damaged and crafted files of every kind that we read.

    python reliability/files.py --cases 10000 --write reliability/files.json

Every case is read in a process that is watched: a crash, a hang, a raw error, a model
that answers NaN, or after damage answers otherwise, is a fault. The same --seed makes
the same files.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from kinds import KINDS, made, run_case
from watch import GOOD, Ended, run_all, summary


def main() -> None:
    """Run the campaign; the exit code tells whether there was a fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000, help="about how many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="kinds whose name holds this text")
    parser.add_argument("--write", type=Path, help="write the counts to this file")
    options = parser.parse_args()
    began = time.monotonic()
    ended = run(options.cases, options.seed, options.only)
    counts = summary(ended, lambda case: case[0])
    for kind, count in counts.items():
        print(f"{kind:32} {dict(count)}")
    faults = [each for each in ended if each.how not in GOOD]
    for fault in faults[:200]:
        print("FAULT", fault)
    seconds = time.monotonic() - began
    print(f"{len(ended):,} cases, {len(faults)} faults, {seconds:.0f} s")
    if options.write:
        figures = {
            "cases": len(ended),
            "seed": options.seed,
            "seconds": round(seconds),
            "slowest": round(max(each.seconds for each in ended), 2),
            "ended": dict(sum((count for count in counts.values()), Counter())),
            "kinds": {kind: dict(count) for kind, count in counts.items()},
        }
        options.write.write_text(json.dumps(figures, indent=1) + "\n")
    sys.exit(bool(faults))


def run(n_cases: int, seed: int, only: str = "") -> list[Ended]:
    """Run about so many cases, shared out over the kinds."""
    kinds = {name: kind for name, kind in KINDS.items() if only in name}
    total = sum(kind.share for kind in kinds.values())
    cases = [
        (name, seed * 1_000_000 + number)
        for name, kind in kinds.items()
        for number in range(-(-n_cases * kind.share // total))
    ]
    with tempfile.TemporaryDirectory() as folder:
        return run_all(
            partial(_runner, Path(folder)), cases, max_seconds=20, on_end=_show
        )


def _runner(folder: Path) -> Any:
    """What runs a case; a good file of its kind is made when the first one needs it."""
    known: dict[str, Any] = {}
    own = Path(tempfile.mkdtemp(dir=folder))

    def run_one(case: tuple[str, int]) -> tuple[str, str]:
        kind, seed = case
        if kind not in known:
            known[kind] = made(kind, own / str(len(known)))
        return run_case(kind, *known[kind], seed)

    return run_one


def _show(ended: Ended) -> None:
    if ended.how not in GOOD:
        print("FAULT", ended, flush=True)


if __name__ == "__main__":
    main()
