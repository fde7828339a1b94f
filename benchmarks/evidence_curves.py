"""Do explanations rank the columns of single predictions as well as SHAP, and how fast?

    python benchmarks/evidence_curves.py run --data DIR [--tables a,b] [--rows 2000]
    python benchmarks/evidence_curves.py report

One default fit for each table. For each of 20 test rows an order of the columns is
taken from `importances` of an explanation, from KernelSHAP of the same model (20
background rows, its default number of samples, by absolute value), from the model's
permutation importances (the same order for all rows), and by chance. Deletion replaces
the cells of the row by those of the background rows, the first column of the order
first; insertion begins with background rows and puts the cells in. Each step is scored
by how far the prediction is from that of the row: the probability of its class, or the
number in standard deviations of the target. The mean over the steps should be large in
deletion and small in insertion. KernelSHAP sees the very background rows of the score;
the others do not.

Seconds for one row are taken as each is used: explanations of 200 rows at once, and
KernelSHAP of one row with a background of 100 rows, as its documentation does.

It needs shap (0.51 here, with numba), which is no dependency of the project.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from modernnca import ModernNCAClassifier, ModernNCARegressor
from modernnca.lab.bench.readers import read_dataset

HERE = Path(__file__).parent
FILE, PAGE = HERE / "evidence_curves.csv", HERE / "evidence_curves.md"
TABLES = ("houses", "MagicTelescope", "electricity", "delta_elevators", "mammography")
N_EXPLAINED, N_BACKGROUND = 20, 20
N_TIMED, N_BACKGROUND_TIMED = 200, 100
Predict = Callable[[pd.DataFrame], np.ndarray]


def curves(
    rows: pd.DataFrame,
    background: pd.DataFrame,
    orders: np.ndarray,
    distance: Callable[[pd.DataFrame], np.ndarray],
) -> tuple[float, float]:
    """The mean distances of deletion and of insertion, by orders (B, P) of columns.

    `distance` takes the changed rows, background by background for each row, and gives
    how far each prediction is from that of the row.
    """
    n_rows, n_columns = orders.shape
    wide = rows.iloc[np.repeat(np.arange(n_rows), len(background))]
    other = background.iloc[np.tile(np.arange(len(background)), n_rows)]
    rank = np.repeat(orders.argsort(1), len(background), axis=0)  # of each column
    found = []
    for n_changed in range(1, n_columns):
        for deleted in (rank < n_changed, rank >= n_changed):
            mixed = {name: wide[name].array.copy() for name in rows}
            for place, name in enumerate(rows):
                changed = deleted[:, place]
                mixed[name][changed] = other[name].array[changed]
            found.append(distance(pd.DataFrame(mixed)).mean())
    return float(np.mean(found[::2])), float(np.mean(found[1::2]))


def kernel_shap(
    rows: pd.DataFrame, background: pd.DataFrame, predict: Predict
) -> np.ndarray:
    """SHAP values (B, P) of what is predicted (B, V); of V, those of the largest."""
    import shap

    codes, levels = {}, {}
    both = pd.concat([rows, background], ignore_index=True)
    for name in both:
        if not pd.api.types.is_numeric_dtype(both[name]):
            codes[name], levels[name] = pd.factorize(both[name], use_na_sentinel=False)
    numbers = both.assign(**codes).to_numpy(float)

    def decoded(table: np.ndarray) -> np.ndarray:
        frame = pd.DataFrame(table, columns=both.columns)
        for name in both:
            if name in levels:
                cells = levels[name].take(frame[name].astype(int))
                frame[name] = pd.Series(cells, dtype=both[name].dtype)
        return predict(frame)

    explainer = shap.KernelExplainer(decoded, numbers[len(rows) :])
    values = np.array(explainer.shap_values(numbers[: len(rows)], silent=True))
    if values.ndim == 2:
        return values
    largest = predict(rows).argmax(1)
    return values[np.arange(len(rows)), :, largest]


def seconds_of(work: Callable[[], object]) -> float:
    """How long it takes, the second time."""
    work()
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def run_table(name: str, asked: argparse.Namespace) -> list[dict]:
    """The lines of one table."""
    data = read_dataset(name, data=asked.data)
    places = np.random.RandomState(0).permutation(np.flatnonzero(data.has_target))
    train, test = places[: asked.rows], places[asked.rows :][:N_TIMED]
    classes = data.task != "regression"
    y = data.y.astype(str if classes else float)
    X = data.X.iloc[train].reset_index(drop=True)
    many = data.X.iloc[test].reset_index(drop=True)
    rows = many[:N_EXPLAINED]
    kind = ModernNCAClassifier if classes else ModernNCARegressor
    model = kind(random_state=0, device="cpu", verbose=False).fit(X, y[train])
    predict = model.predict_proba if classes else model.predict
    background = X.sample(N_BACKGROUND, random_state=0).reset_index(drop=True)
    given = predict(rows)
    own = np.repeat(np.arange(len(rows)), N_BACKGROUND)

    def distance(mixed: pd.DataFrame) -> np.ndarray:
        found = predict(mixed)
        if classes:
            largest = given.argmax(1)[own]
            return np.abs(found - given[own])[np.arange(len(own)), largest]
        return np.abs(found - given[own]) / y[train].std()

    rng = np.random.RandomState(0)
    ways = {
        "explanation": lambda: model.explain(rows).importances,
        "KernelSHAP": lambda: np.abs(kernel_shap(rows, background, predict)),
        "permutation": lambda: np.tile(model.feature_importances_, (len(rows), 1)),
        "chance": lambda: rng.rand(*rows.shape),
    }
    others = X.sample(N_BACKGROUND_TIMED, random_state=1).reset_index(drop=True)
    seconds_per_row = {
        "explanation": seconds_of(lambda: model.explain(many).importances) / len(many),
        "KernelSHAP": seconds_of(lambda: kernel_shap(rows[:1], others, predict)),
    }
    lines = []
    for method, ask in ways.items():
        orders = np.argsort(-ask(), axis=1, kind="stable")
        deletion, insertion = curves(rows, background, orders, distance)
        line = {"table": name, "columns": rows.shape[1], "method": method}
        line |= {"deletion": deletion, "insertion": insertion}
        lines.append(line | {"seconds_per_row": seconds_per_row.get(method)})
        print(lines[-1], flush=True)
    return lines


def run(asked: argparse.Namespace) -> None:
    """Measure the tables that have no lines yet."""
    warnings.simplefilter("ignore")
    for name in asked.tables.split(","):
        if FILE.exists() and name in set(pd.read_csv(FILE)["table"]):
            continue
        frame = pd.DataFrame(run_table(name, asked))
        header = not FILE.exists()
        frame.to_csv(FILE, mode="a", header=header, index=False, float_format="%.5f")


def report(asked: argparse.Namespace) -> None:
    """Write the page."""
    del asked
    lines = pd.read_csv(FILE)
    text = [
        "# Deletion and insertion curves",
        "",
        "Written by `python benchmarks/evidence_curves.py report`; its docstring says "
        "what was measured.",
    ]
    methods = list(dict.fromkeys(lines["method"]))
    for score, told in (
        ("deletion", "Deletion: larger is better"),
        ("insertion", "Insertion: smaller is better"),
        ("seconds_per_row", "Seconds for one row"),
    ):
        wide = lines.pivot(index="table", columns="method", values=score)[methods]
        wide = wide.loc[list(dict.fromkeys(lines["table"]))]
        if score == "seconds_per_row":
            wide = wide.dropna(axis=1)
            wide["ratio"] = wide["KernelSHAP"] / wide["explanation"]
        else:
            wide.loc["mean"] = wide.mean()
        text += ["", f"## {told}", "", "| table | " + " | ".join(wide) + " |"]
        text.append("|" + " --- |" * (wide.shape[1] + 1))
        for name, cells in wide.iterrows():
            shown = " | ".join(f"{cell:.3g}" for cell in cells)
            text.append(f"| {name} | {shown} |")
    PAGE.write_text("\n".join([*text, ""]))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run", help="measure what is missing")
    running.set_defaults(command=run)
    running.add_argument("--data", type=Path, required=True)
    running.add_argument("--tables", default=",".join(TABLES))
    running.add_argument("--rows", type=int, default=2000)
    commands.add_parser("report", help="write the page").set_defaults(command=report)
    asked = parser.parse_args()
    asked.command(asked)


if __name__ == "__main__":
    main()
