"""Fit tables of all kinds, save and load each model, and ask it in other batches.

    python reliability/fuzzed_tables.py --write reliability/fuzzed_tables.json

A table is made from its number: columns of a dozen kinds, of which some are dirty, in
one of four containers, with a target of classes or of numbers. A fit may refuse a
table with a sentence (ValueError or TypeError). A model that it gives must predict no
NaN, must be saved and loaded with the same bits, and must predict a row alone as it
does among others.
"""

import argparse
import json
import math
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from sklearn.exceptions import DataConversionWarning

from modernnca import ModernNCAClassifier, ModernNCARegressor, load
from modernnca.errors import FitWarning

_TOLERANCE = 1e-4  # of float32 sums in another order
_N_BETWEEN = 20  # tables after which the figures so far are written
_WORDS = ["a", "b", "Zürich", "", " ", "nan", "None", "東京", "x" * 300, "1", "-"]


def _floats(rng: np.random.RandomState, n: int) -> np.ndarray:
    return rng.randn(n) * 10.0 ** rng.randint(-30, 30)


def _gaps(rng: np.random.RandomState, n: int) -> np.ndarray:
    return np.where(rng.rand(n) < rng.rand(), np.nan, rng.randn(n))


def _infinite(rng: np.random.RandomState, n: int) -> np.ndarray:
    return np.where(rng.rand(n) < 0.2, rng.choice([np.inf, -np.inf], n), rng.randn(n))


def _integers(rng: np.random.RandomState, n: int) -> np.ndarray:
    return rng.randint(-(2 ** rng.randint(1, 62)), 2 ** rng.randint(1, 62), n)


def _words(rng: np.random.RandomState, n: int) -> np.ndarray:
    return rng.choice(np.array(_WORDS, dtype=object), n)


def _texts(rng: np.random.RandomState, n: int) -> np.ndarray:
    return np.array([f"row {rng.randint(10**9)}" for _ in range(n)], dtype=object)


def _dates(rng: np.random.RandomState, n: int) -> np.ndarray:
    dates = np.datetime64("1970-01-01") + rng.randint(-(10**5), 10**5, n)
    return np.where(rng.rand(n) < 0.1, np.datetime64("NaT"), dates)


COLUMNS = {
    "normal": lambda rng, n: rng.randn(n),
    "scaled": _floats,
    "gaps": _gaps,
    "infinite": _infinite,
    "integers": _integers,
    "float32": lambda rng, n: rng.randn(n).astype(np.float32),
    "booleans": lambda rng, n: rng.rand(n) > 0.5,
    "few levels": lambda rng, n: rng.choice(np.array(["u", "v"], dtype=object), n),
    "words": _words,
    "texts": _texts,
    "words and gaps": lambda rng, n: np.where(rng.rand(n) < 0.3, None, _words(rng, n)),
    "dates": _dates,
    "constant": lambda rng, n: np.full(n, rng.randn()),
    "missing": lambda rng, n: np.full(n, np.nan),
    "row numbers": lambda rng, n: np.arange(n),
    "heavy tail": lambda rng, n: rng.standard_cauchy(n) ** 3,
}
CONTAINERS = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame),
    "rows": lambda frame: frame.to_numpy(dtype=object).tolist(),
    "array": lambda frame: frame.to_numpy(dtype=object),
}


def _classes(rng: np.random.RandomState, n: int, signal: np.ndarray) -> np.ndarray:
    n_classes = rng.randint(2, 6)
    ranks = np.argsort(np.argsort(signal)) * n_classes // n
    kinds = [np.arange(9), np.array(list("abcdefghi")), np.arange(9) * 0.5 - 1]
    kind = kinds[rng.randint(3)]
    return kind[np.where(rng.rand(n) < 0.2, rng.randint(n_classes, size=n), ranks)]


def _numbers(rng: np.random.RandomState, n: int, signal: np.ndarray) -> np.ndarray:
    y = (signal + 0.3 * rng.randn(n)) * 10.0 ** rng.randint(-12, 13)
    if rng.rand() < 0.1:
        y[rng.randint(n)] *= 1e6
    return np.full(n, y[0]) if rng.rand() < 0.05 else y


def make_case(number: int) -> tuple[Any, Any, Any, np.ndarray]:
    """An unfitted model, its table, new rows, and the target."""
    rng = np.random.RandomState(number)
    n_rows, n_columns = rng.randint(2, 60), rng.randint(1, 7)
    kinds = rng.choice(list(COLUMNS), n_columns)
    frame = pd.DataFrame(
        {f"{kind} {i}": COLUMNS[kind](rng, n_rows + 8) for i, kind in enumerate(kinds)}
    )
    container = CONTAINERS[rng.choice(list(CONTAINERS))]
    signal = rng.randn(n_rows)
    first = frame.iloc[:n_rows, 0]
    if first.dtype.kind == "f":
        signal = np.nan_to_num(first.to_numpy(float), posinf=1, neginf=-1).clip(-9, 9)
    options: dict[str, Any] = {
        "preset": "fast",
        "max_epochs": int(rng.randint(1, 4)),
        "n_members": int(rng.choice([1, 1, 1, 2])),
        "dim": 8,
        "d_block": 16,
        "random_state": 0,
        "refit": str(rng.choice(["remember", "none"])),
    }
    if rng.rand() < 0.5:
        model, y = ModernNCAClassifier(**options), _classes(rng, n_rows, signal)
    else:
        model, y = ModernNCARegressor(**options), _numbers(rng, n_rows, signal)
    return model, container(frame[:n_rows]), container(frame[n_rows:]), y


def run_case(number: int, folder: Path) -> str:
    """How a case ends: "sound", "refused", or what is wrong."""
    model, table, new, y = make_case(number)
    try:
        with warnings.catch_warnings():
            for told in (FitWarning, DataConversionWarning):
                warnings.simplefilter("ignore", told)
            model.fit(table, y)
    except (ValueError, TypeError) as error:
        return "refused" if str(error).endswith((".", "?")) else f"raw: {error!r}"
    try:
        return _check(model, table, new, folder / "model")
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"raw: {error!r} at {place.name}:{place.lineno}"


def _check(model: Any, table: Any, new: Any, path: Path) -> str:
    answer = _answer(model)
    for rows in (table, new):
        whole = answer(rows)
        if not np.isfinite(whole).all():
            return "nan"
        scale = np.abs(whole).max() + 1e-300
        for some in (slice(0, 1), slice(1, 4), slice(0, 7)):
            part = answer(rows[some])
            if len(part) and np.abs(part - whole[some]).max() > _TOLERANCE * scale:
                return "batch-dependent"
    model.save(path)
    again = load(path)
    if not np.array_equal(_answer(again)(new), answer(new)):
        return "unsaved"
    if not np.array_equal(again.predict(new), model.predict(new)):
        return "unsaved"
    return "sound"


def _answer(model: Any) -> Any:
    return getattr(model, "predict_proba", model.predict)


def run(
    numbers: Iterable[int],
    *,
    seconds: float = math.inf,
    before: Any = None,
    keep: Callable[[dict[str, Any]], None] = lambda _: None,
) -> dict[str, Any]:
    """Run cases until the time is over, and count how they and those before ended.

    `keep` is called with the figures so far, now and then and at the end.
    """
    began, before = time.monotonic(), before or {"ended": {}, "wrong": {}}
    ended, wrong = Counter(before["ended"]), dict(before["wrong"])
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            if time.monotonic() - began > seconds:
                break
            how = run_case(number, Path(folder))
            ended[how.partition(":")[0]] += 1
            if how not in ("sound", "refused"):
                wrong[str(number)] = how
                print(number, how, flush=True)
            if ended.total() % _N_BETWEEN == 0:
                keep(_figures(ended, wrong))
    keep(_figures(ended, wrong))
    return _figures(ended, wrong)


def _figures(ended: Counter, wrong: dict[str, str]) -> dict[str, Any]:
    return {"tables": ended.total(), "ended": dict(ended), "wrong": wrong}


def write_figures(found: dict[str, Any], path: Path) -> None:
    """Write the figures in one step: whoever is killed leaves those of before."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(json.dumps(found, indent=1) + "\n")
    partial.replace(path)


def main() -> None:
    """Run the campaign from the command line; it goes on where the file ends."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tables", type=int, default=5000, help="how many in all")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop then")
    parser.add_argument("--write", type=Path, help="a JSON file for the figures")
    asked = parser.parse_args()
    known = asked.write is not None and asked.write.exists()
    before = json.loads(asked.write.read_text()) if known else None
    numbers = range(before["tables"] if before else 0, asked.tables)

    def keep(found: dict[str, Any]) -> None:
        if asked.write is not None:
            write_figures(found, asked.write)

    found = run(numbers, seconds=asked.seconds, before=before, keep=keep)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
