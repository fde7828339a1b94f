"""How many members, and which? The four of the default once, twice, or then deep.

    python experiments/turns.py run --data DIR [--tables a,b] [--seeds 2]
    python experiments/turns.py judge

Twelve members are fitted and finish: the first four of the default twice, and a third
turn in which all but the first have more blocks. `run` adds to turns.csv what is not
there yet, one line for each of the SETS of them: the error or the RMSE (over the
target's deviation), and the log-loss of the votes. `judge` prints ratios to a single
turn. Tables are those for choosing with at most 45,000 rows.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from finishing import Way, add_missing, commands_of, table_of
from shapes import said_of_each, scores_of

from modernnca import ModernNCAClassifier, ModernNCARegressor
from modernnca.estimators import build, learning
from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.splits import split_rows

RECORDS = Path(__file__).parent / "turns.csv"
FOUR = build._MIXED[:4]
DEEP = (
    FOUR[0],
    build.Kind({}, "ranked", deep=True),
    build.Kind({}, "bent", deep=True),
    build.Kind({"n_blocks": 3}),
)
ONE, TWO, THREE = range(4), range(4, 8), range(8, 12)
BASE = "once"
SETS = {
    BASE: [*ONE],
    "twice": [*ONE, *TWO],
    "once, and once deep": [*ONE, *THREE],
    "twice, and once deep": [*ONE, *TWO, *THREE],
    "once, all deep": [*THREE],
}


Kinds = tuple[build.Kind, ...]
Sets = dict[str, list[int]]


def records_of(
    dataset: Dataset, seed: int, kinds: Kinds, sets: Sets
) -> Iterator[dict[str, Any]]:
    """One record for each set of members, on one table; none if learning was in vain.

    Members are of the kinds given, one of each.
    """
    split = split_rows(dataset, "given")
    parts = [(dataset.X.iloc[p], dataset.y[p]) for p in split]
    numbers = dataset.task == "regression"
    estimator = ModernNCARegressor if numbers else ModernNCAClassifier
    build._KINDS["mixed"] = kinds
    settings = {"preset": "default", "n_members": len(kinds), "forest_member": False}
    model = estimator(**settings, finishing=0.0, random_state=seed)
    as_default = Way(learning._FINISHING_RATE, few=learning._SHARE_OF_FEW)
    said = said_of_each(model, parts, as_default)
    if model.fallback_ is not None:
        return
    told = {"dataset": dataset.name, "seed": seed, "task": dataset.task}
    for name, members in sets.items():
        yield {**told, "way": name, **scores_of(model, said.of(members), parts)}


def records(dataset: Dataset, seed: int) -> Iterator[dict[str, Any]]:
    """One record for each set, on one table."""
    return records_of(dataset, seed, (*FOUR, *FOUR, *DEEP), SETS)


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
