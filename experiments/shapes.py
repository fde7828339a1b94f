"""How wide and how deep should members be? Blocks of 256, of 512, and two of 512.

    python experiments/shapes.py run --data DIR [--tables a,b] [--seeds 2]
    python experiments/shapes.py judge

The members of the default are fitted once in each shape, and finish; a member of one
shape may then stand beside those of another. `run` adds to shapes.csv what is missing
in it, one line for each of the MIXES: the error or the RMSE (over the target's
deviation), and the log-loss of the votes. `judge` prints ratios to all with a block of
256. Tables are those for choosing with at most 45,000 rows.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from finishing import WAYS, Way, add_missing, commands_of, finished, scores, table_of
from modernnca.estimators.weigh import counts, usual_reach, weigh

from modernnca import ModernNCAClassifier, ModernNCARegressor
from modernnca.estimators import build
from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.splits import split_rows

RECORDS = Path(__file__).parent / "shapes.csv"
SHAPES: dict[str, dict[str, int]] = {
    "256": {"n_blocks": 1, "d_block": 256},
    "512": {"n_blocks": 1, "d_block": 512},
    "2 x 512": {"n_blocks": 2, "d_block": 512},
}
BASE = "256, 256, 256"
# The shapes of the ranked, the bent and the plain member; the first has no block.
MIXES = (
    BASE,
    "512, 512, 512",
    "2 x 512, 2 x 512, 2 x 512",
    "512, 512, 2 x 512",
    "512, 2 x 512, 512",
    "2 x 512, 512, 512",
    "512, 2 x 512, 2 x 512",
    "256, 256, 2 x 512",
)


class Said(NamedTuple):
    """What members say: votes (M, B, V)."""

    held: np.ndarray  # of the held-out rows, before they have seen these
    test: np.ndarray

    def of(self, members: Sequence[int]) -> "Said":
        """What some of them say."""
        return Said(self.held[members], self.test[members])


Parts = list[tuple[pd.DataFrame, np.ndarray]]


def said_of_each(model: Any, parts: Parts, way: Way) -> Said:
    """Fit, and let finish."""

    def votes(X: pd.DataFrame) -> np.ndarray:
        return model._votes_of_each(model._read_asking(X))

    model.fit(*parts[0], eval_set=parts[1])
    whole, nets = model.remembered_, [member.net for member in model.members_]
    model._remember(whole.take(np.arange(len(parts[0][1]))), nets)
    held = votes(parts[1][0])
    model._remember(whole, nets)
    with finished(model, way):
        return Said(held, votes(parts[2][0]))


def scores_of(model: Any, said: Said, parts: Parts) -> dict[str, float]:
    """What members are worth together, weighed by what they say of held-out rows."""
    held_values, values = (model._values(y).numpy() for _, y in parts[1:])
    numbers = values.shape[1] == 1
    weights = weigh(said.held, held_values, classes=not numbers)
    reach = usual_reach(said.held) if numbers else np.inf
    votes = (said.test * counts(said.test, weights, reach)[..., None]).sum(0)
    return scores(votes, values)


def records(dataset: Dataset, seed: int) -> Iterator[dict[str, Any]]:
    """One record for each mix, on one table; none where learning was in vain."""
    split = split_rows(dataset, "given")
    parts = [(dataset.X.iloc[p], dataset.y[p]) for p in split]
    numbers = dataset.task == "regression"
    kind = ModernNCARegressor if numbers else ModernNCAClassifier
    # What the default does to the depth of a member is what is asked here.
    build._KINDS["mixed"] = tuple(k._replace(deep=False) for k in build._MIXED[:4])
    found = {}
    for name, shape in SHAPES.items():
        shape = {"n_members": 4, "finishing": 0.0, "forest_member": False, **shape}
        model = kind(preset="default", random_state=seed, **shape)
        found[name] = said_of_each(model, parts, WAYS["as many, rate 0.3"])
        if model.fallback_ is not None:
            return
    told = {"dataset": dataset.name, "seed": seed, "task": dataset.task}
    for mix in MIXES:
        names = mix.split(", ")
        members = [found[name] for name in (names[0], *names)]
        held = np.stack([member.held[i] for i, member in enumerate(members)])
        test = np.stack([member.test[i] for i, member in enumerate(members)])
        yield {**told, "way": mix, **scores_of(model, Said(held, test), parts)}


def run(asked: argparse.Namespace) -> None:
    """Fit what is missing."""
    add_missing(RECORDS, asked, records)


def judge(_: argparse.Namespace) -> None:
    """Print what each mix gives."""
    table_of(pd.read_csv(RECORDS), MIXES[1:], BASE)


if __name__ == "__main__":
    parser, _ = commands_of(__doc__, run, judge)
    asked = parser.parse_args()
    asked.command(asked)
