"""Does a forest's voice help where rows are few? Beside the default's eight networks.

    python experiments/leaves.py run --data DIR [--tables a,b] [--seeds 2] [--rows 1000]
    python experiments/leaves.py judge [--rows 1000]

The default for classes, as on a GPU, is fitted on the tables for choosing; its networks
are then judged alone, with the forest as a ninth member, and with one that only knows
how frequent the classes are. `run` adds to leaves.csv what is not there yet: errors and
log-losses of the votes, weighed by held-out rows. With --rows there are only so many
rows to learn from and to stop by, and the records are in leaves_N.csv.
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from finishing import add_missing, commands_of, drawn, table_of
from modernnca.estimators.weigh import weigh
from shapes import Said, scores_of

from modernnca import ModernNCAClassifier
from modernnca.estimators import base
from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.splits import split_rows

HERE = Path(__file__).parent
AS_ON_GPU = {"n_members": 8, "d_block": 512, "max_sampled": 12_288}
NETWORKS, LEAVES, SHARES = "networks", "and a forest", "and the classes' shares"


def records_of(n_rows: int | None) -> Path:
    """Where the records are."""
    return HERE / ("leaves.csv" if n_rows is None else f"leaves_{n_rows}.csv")


@contextmanager
def listening() -> Iterator[list[np.ndarray]]:
    """Within, held-out votes (M, B, V) by which members are weighed are kept."""
    kept: list[np.ndarray] = []

    def weigh_and_keep(votes: np.ndarray, *given: Any, **named: Any) -> list[float]:
        kept.append(votes)
        return weigh(votes, *given, **named)

    base.weigh = weigh_and_keep
    try:
        yield kept
    finally:
        base.weigh = weigh


def records(
    dataset: Dataset, seed: int, n_rows: int | None
) -> Iterator[dict[str, Any]]:
    """One record for each way, on one table; none where no forest is asked for."""
    split = list(split_rows(dataset, "given"))
    if n_rows is not None:
        if sum(map(len, split[:2])) < n_rows:
            return
        split = drawn(split, n_rows, seed)
    if dataset.task == "regression":
        return
    known = np.isin(dataset.y, dataset.y[split[0]])  # a cut may lack a rare class
    split = [rows[known[rows]] for rows in split]
    parts = [(dataset.X.iloc[rows], dataset.y[rows]) for rows in split]
    model = ModernNCAClassifier(preset="default", **AS_ON_GPU, random_state=seed)
    with listening() as kept:
        model.fit(*parts[0], eval_set=parts[1])
    n_networks = AS_ON_GPU["n_members"]
    if model.fallback_ is not None or len(model.members_) == n_networks:
        return
    said = Said(kept[0], model._votes_of_each(model._read_asking(parts[2][0])))
    shares = model._values(parts[0][1]).numpy().mean(0)
    constant = Said(*(np.broadcast_to(shares, votes[:1].shape) for votes in said))
    networks = said.of(range(n_networks))
    ways = {
        NETWORKS: networks,
        LEAVES: said,
        SHARES: Said(*map(np.concatenate, zip(networks, constant, strict=True))),
    }
    told = {"dataset": dataset.name, "seed": seed, "task": dataset.task}
    for way, votes in ways.items():
        yield {**told, "way": way, **scores_of(model, votes, parts)}


def run(asked: argparse.Namespace) -> None:
    """Fit what is missing."""
    add_missing(records_of(asked.rows), asked, partial(records, n_rows=asked.rows))


def judge(asked: argparse.Namespace) -> None:
    """Print what each way gives."""
    table_of(pd.read_csv(records_of(asked.rows)), [LEAVES, SHARES], NETWORKS)


if __name__ == "__main__":
    parser, commands = commands_of(__doc__, run, judge)
    for command in commands:
        command.add_argument("--rows", type=int, help="learn from so many")
    asked = parser.parse_args()
    asked.command(asked)
