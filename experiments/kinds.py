"""Which kinds of members should a second turn have? The first four again, or others.

    python experiments/kinds.py run --data DIR [--tables a,b] [--seeds 2]
    python experiments/kinds.py judge

Fourteen members are fitted and finish: the first four of the default twice, and six
others. `run` adds to kinds.csv what is not there yet, one line for each of the
SETS of them, as turns.py does. `judge` prints ratios to the four twice.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from finishing import add_missing, commands_of, table_of
from modernnca.estimators.build import _BARE as BARE
from modernnca.estimators.build import Kind
from turns import FOUR, records_of

from modernnca.lab.bench.dataset import Dataset

RECORDS = Path(__file__).parent / "kinds.csv"
FINE = {"frequency_scale": 0.2}
OTHER = {
    "bare, ranked": Kind(BARE, "ranked"),
    "ranked, fine": Kind(FINE, "ranked"),
    "PLE": Kind({"encoding": "ple"}),
    "bare, fine": Kind({**BARE, **FINE}),
    "ranked, deep": Kind({}, "ranked", deep=True),
    "ranked": FOUR[1],
}
ONCE, TWICE, OTHERS = [*range(4)], [*range(8)], [*range(8, 14)]
BASE = "twice"
CLOSER = [8, 9, 11]  # bare and ranked, ranked and fine, bare and fine
SETS = {
    BASE: TWICE,
    "once": ONCE,
    **{f"twice; {name}": [*TWICE, 8 + i] for i, name in enumerate(OTHER)},
    "once; the six": [*ONCE, *OTHERS],
    "twice; the six": [*TWICE, *OTHERS],
    "once; bare, ranked; ranked, fine; bare, fine; deep": [*ONCE, *CLOSER, 7],
    "the same; ranked": [*ONCE, *CLOSER, 7, 13],
    "the same; ranked; bent": [*ONCE, *CLOSER, 7, 5, 6],
    "once; ranked; deep; ranked, fine; bare, fine": [*ONCE, 5, 7, 9, 11],
}


def records(dataset: Dataset, seed: int) -> Iterator[dict[str, Any]]:
    """One record for each set, on one table."""
    return records_of(dataset, seed, (*FOUR, *FOUR, *OTHER.values()), SETS)


def run(asked: argparse.Namespace) -> None:
    """Fit what is missing."""
    add_missing(RECORDS, asked, records)


def judge(_: argparse.Namespace) -> None:
    """Print what each set gives."""
    table_of(pd.read_csv(RECORDS), list(SETS)[1:], BASE)


if __name__ == "__main__":
    parser, _ = commands_of(__doc__, run, judge)
    asked = parser.parse_args()
    asked.command(asked)
