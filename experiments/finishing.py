"""How should networks go on with all rows once they have stopped? How long, how fast?

    python experiments/finishing.py run --data DIR [--tables a,b] [--seeds 2] [--rows N]
    python experiments/finishing.py judge [--rows N]

Four networks are fitted as the default does, without finishing; then, each time from
there, they finish in one of several WAYS. Tables are those for choosing with at most
45,000 rows. `run` adds to finishing.csv what is missing in it: the error or the RMSE
(over the target's deviation), and the log-loss of the votes. `judge` prints ratios to
not finishing at all. With --rows there are only so many rows to learn from and to stop
by, and the records are in finishing_N.csv.
"""

import argparse
import copy
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from modernnca import ModernNCAClassifier, ModernNCARegressor
from modernnca.estimators import learning
from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.readers import read_dataset
from modernnca.lab.bench.splits import split_rows

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "benchmarks"))
from fits import gain, tables_in, third  # noqa: E402

_MOST_ROWS, _MOST_TO_TEST = 45_000, 3000  # the latter where rows are few
_LEAST_ERROR, _LEAST_CHANCE = 0.002, 1e-4
_FEW = 15  # wrong rows: with fewer, one more or less is all there is to see
_HEADS = ("error", f"where over {_FEW} are wrong", "log-loss", "RMSE")


Command = Callable[[argparse.Namespace], None]
Records = Callable[[Dataset, int], Iterator[dict[str, Any]]]


class Way(NamedTuple):
    """How networks finish."""

    rate: float  # of the rate they learned at
    share: float = 1.0  # of the epochs that led to the best
    epochs: int | None = None  # so many instead
    averaged: float = 2.0  # epochs over which the one without a block is averaged
    few: float = 1.0  # of all that, where rows are few


STOPPED = "not at all"
WAYS = {
    "4 epochs, rate 0.3, not averaged": Way(0.3, epochs=4, averaged=0.0),
    "8 epochs, rate 0.3": Way(0.3, epochs=8),
    "8 epochs, rate 1, not averaged": Way(1.0, epochs=8, averaged=0.0),
    "8 epochs, rate 1": Way(1.0, epochs=8),
    "16 epochs, rate 0.5": Way(0.5, epochs=16),
    "half as many, rate 1": Way(1.0, share=0.5),
    "half as many, rate 0.5": Way(0.5, share=0.5),
    "as many, rate 0.6": Way(0.6),
    "as many, rate 0.3": Way(0.3),
    "as many, rate 0.1": Way(0.1),
    "a third as many, rate 0.3": Way(0.3, share=1 / 3),
}


def records_of(n_rows: int | None) -> Path:
    """Where the records are."""
    return HERE / ("finishing.csv" if n_rows is None else f"finishing_{n_rows}.csv")


@contextmanager
def finished(model: Any, way: Way) -> Iterator[None]:
    """Within, the model's networks have finished in this way."""
    nets = [member.net for member in model.members_]
    kept = [copy.deepcopy(net.state_dict()) for net in nets]
    part, weights = model.remembered_, model.member_weights_
    settings, best = model.settings_, model.best_epochs_
    names = ("_FINISHING_RATE", "_AVERAGED_FINISHING", "_SHARE_OF_FEW")
    before = [getattr(learning, name) for name in names]
    for name, value in zip(names, (way.rate, way.averaged, way.few), strict=True):
        setattr(learning, name, value)
    model.settings_ = replace(settings, finishing=way.share)
    if way.epochs is not None:
        model.best_epochs_ = [way.epochs] * len(nets)
    try:
        model._finish(part, nets, list(range(len(nets))), (0.0, np.inf))
        model._remember(part, nets, weights)
        yield
    finally:
        for name, value in zip(names, before, strict=True):
            setattr(learning, name, value)
        model.settings_, model.best_epochs_ = settings, best
        for net, state in zip(nets, kept, strict=True):
            net.load_state_dict(state)
        model._remember(part, nets, weights)


def scores(votes: np.ndarray, values: np.ndarray) -> dict[str, float]:
    """What votes (B, V) for rows are worth whose values (B, V) are known."""
    if values.shape[1] == 1:  # numbers, over their deviation
        return {"error": float(np.sqrt(np.mean((votes - values) ** 2)))}
    told = (votes * values).sum(1).clip(_LEAST_CHANCE)
    wrong = votes.argmax(1) != values.argmax(1)
    return {
        "error": float(wrong.mean()),
        "wrong": int(wrong.sum()),
        "log_loss": float(-np.log(told).mean()),
    }


def drawn(split: Sequence[np.ndarray], n_rows: int, seed: int) -> list[np.ndarray]:
    """So many rows to learn from (four fifths of them) and to stop by."""
    rows = np.random.RandomState(seed).permutation(np.concatenate(split[:2]))[:n_rows]
    return [*np.split(rows, [n_rows * 4 // 5]), split[2][:_MOST_TO_TEST]]


def records(
    dataset: Dataset, seed: int, n_rows: int | None
) -> Iterator[dict[str, Any]]:
    """One record for each way, on one table."""
    split = list(split_rows(dataset, "given"))
    if n_rows is not None:
        split = drawn(split, n_rows, seed)
    parts = [(dataset.X.iloc[p], dataset.y[p]) for p in split]
    numbers = dataset.task == "regression"
    kind = ModernNCARegressor if numbers else ModernNCAClassifier
    settings = {"preset": "default", "n_members": 4, "forest_member": False}
    model = kind(**settings, finishing=0.0, random_state=seed)
    model.fit(*parts[0], eval_set=parts[1])
    told = {"dataset": dataset.name, "seed": seed, "task": dataset.task}
    X, values = parts[2][0], model._values(parts[2][1]).numpy()
    yield {**told, "way": STOPPED, **scores(model._votes(X), values)}
    if model.fallback_ is not None:
        return
    for name, way in WAYS.items():
        with finished(model, way):
            yield {**told, "way": name, **scores(model._votes(X), values)}


def run(asked: argparse.Namespace) -> None:
    """Fit what is missing."""
    add_missing(records_of(asked.rows), asked, partial(records, n_rows=asked.rows))


def add_missing(path: Path, asked: argparse.Namespace, records: Records) -> None:
    """Add the records that are missing, and print them as they are made."""
    done = pd.read_csv(path) if path.exists() else pd.DataFrame()
    there = set(zip(done.get("dataset", []), done.get("seed", []), strict=True))
    tables = tables_in(asked.data, asked.tables)
    for seed in range(asked.seeds):
        for table in tables:
            if third(table) != "choose" or (table, seed) in there:
                continue
            dataset = read_dataset(table, data=asked.data)
            if len(split_rows(dataset, "given").train) > _MOST_ROWS:
                continue
            found = pd.DataFrame(records(dataset, seed))
            done = pd.concat([done, found], ignore_index=True)
            done.to_csv(path, index=False, float_format="%.6g")
            print(found.to_string(index=False), flush=True)


def ratio(
    lines: pd.DataFrame, way: str, column: str, least: float = 0.0, base: str = STOPPED
) -> str:
    """The geometric mean over another way, its interval, and who won."""
    wide = lines.pivot_table(index=["dataset", "seed"], columns="way", values=column)
    if not {way, base} <= set(wide.columns):
        return "not run | | "
    wide = wide.clip(lower=least)
    logs = np.log(wide[way] / wide[base]).dropna().to_numpy()
    return " | ".join(gain(logs))


def table_of(lines: pd.DataFrame, ways: Iterable[str], base: str = STOPPED) -> None:
    """Print what each way gives."""
    numbers = lines[lines["task"] == "regression"]
    classes = lines[lines["task"] != "regression"]
    wrong = classes[classes["way"] == base].set_index(["dataset", "seed"])["wrong"]
    many = wrong.index[wrong > _FEW]
    both = classes.set_index(["dataset", "seed"])
    clear = both[both.index.isin(many)].reset_index()
    print("| | " + " | ".join(f"{head} | 95 % | +/-" for head in _HEADS) + " |")
    print("| --- " * (1 + 3 * len(_HEADS)) + "|")
    for way in ways:
        if way not in set(lines["way"]):
            continue
        cells = [
            ratio(classes, way, "error", _LEAST_ERROR, base),
            ratio(clear, way, "error", _LEAST_ERROR, base),
            ratio(classes, way, "log_loss", base=base),
            ratio(numbers, way, "error", base=base),
        ]
        print(f"| {way} | " + " | ".join(cells) + " |")


def judge(asked: argparse.Namespace) -> None:
    """Print what each way gives."""
    table_of(pd.read_csv(records_of(asked.rows)), WAYS)


def commands_of(
    told: str, run: Command, judge: Command
) -> tuple[argparse.ArgumentParser, list[argparse.ArgumentParser]]:
    """Run, or judge."""
    parser = argparse.ArgumentParser(description=told.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run", help="fit what is missing")
    running.set_defaults(command=run)
    running.add_argument("--data", type=Path, required=True)
    running.add_argument("--tables", help="a,b,c; otherwise all for choosing")
    running.add_argument("--seeds", type=int, default=2)
    judging = commands.add_parser("judge", help="say what there is so far")
    judging.set_defaults(command=judge)
    return parser, [running, judging]


def main() -> None:
    """With all rows, or some."""
    parser, commands = commands_of(__doc__, run, judge)
    for command in commands:
        command.add_argument(
            "--rows", type=int, help="learn from so many; default: all"
        )
    asked = parser.parse_args()
    asked.command(asked)


if __name__ == "__main__":
    main()
