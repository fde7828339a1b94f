"""What does a fit cost? Ours beside CatBoost, LightGBM, RealMLP and TabM.

    python benchmarks/cost.py run --data DIR [--methods a;b] [--tables a,b] [--seeds 3]
    python benchmarks/cost.py grow [--methods a;b] [--max-rows N]
    python benchmarks/cost.py report
    python benchmarks/cost.py run --quick

`run` fits tables of 10,000 to 60,000 training rows, and some small ones. The methods
take turns in one process, on the same rows: they train on the training rows and stop
early by the validation rows, with their defaults (CatBoost: at most 1,000 rounds).
`grow` fits one made function at 1,000 to 1,000,000 rows and 5 to 500 columns; a method
that took more than a minute is not tried with more. Both run on a GPU where there is
one, but boosting, and add a line to cost.csv after each fit. `report` writes cost.md
beside this file and docs/images/cost.png.
"""

import argparse
import os
import platform
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from fits import tables_in
from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.folders import open_folder
from modernnca.lab.bench.job import fit, predict
from modernnca.lab.bench.provenance import provenance
from modernnca.lab.bench.readers import read_dataset
from modernnca.lab.bench.resource_usage import ResourceUsage
from modernnca.lab.bench.scores import score_all
from modernnca.lab.bench.splits import Parts, split_rows
from modernnca.lab.peers import peer

HERE = Path(__file__).parent
FILE, PICTURE = HERE / "cost.csv", HERE.parent / "docs" / "images" / "cost.png"
METHODS: dict[str, tuple[str, dict]] = {
    "ModernNCA": ("modernnca", {}),
    "ModernNCA, fast": ("modernnca", {"preset": "fast"}),
    "CatBoost": ("catboost", {"iterations": 1000}),
    "LightGBM": ("lightgbm", {}),
    "RealMLP": ("realmlp", {}),
    "TabM": ("tabm", {}),
}
BOOSTING = ("CatBoost", "LightGBM")
ROWS, SMALL_ROWS = (10_000, 60_000), (500, 2_000)  # of training
GROW_ROWS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
GROW_COLUMNS = (5, 20, 100, 500)
_N_PREDICTED, _TOO_LONG = 1000, 60.0
KEY = ["part", "device", "dataset", "method", "seed"]


def made_table(n_rows: int, n_columns: int) -> Dataset:
    """Three classes by a smooth function of four columns; the others are noise."""
    rng = np.random.RandomState(0)
    x = rng.randn(n_rows + n_rows // 4 + 2000, n_columns).astype(np.float32)
    smooth = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.5 * x[:, 3] ** 2
    y = np.digitize(smooth + 0.1 * rng.randn(len(x)), [-0.5, 1.0])
    frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(n_columns)])
    return Dataset(f"made {n_rows} x {n_columns}", "multiclass", frame, y)


def measure(dataset: Dataset, parts: Parts, label: str, seed: int) -> dict:
    """Fit one method and predict with it."""
    name, settings = METHODS[label]
    model = peer(name).build(dataset.task, seed=seed, settings=settings)
    with ResourceUsage() as fitting:
        fit(model, dataset, parts)
    some = parts.test[:_N_PREDICTED]
    predict(model, dataset, some)  # the first call may prepare things
    with ResourceUsage() as predicting:
        predict(model, dataset, some)
    classes, prediction = predict(model, dataset, parts.test)
    scores = score_all(dataset.task, dataset.y[parts.test], prediction, classes)
    error = scores["rmse"] if classes is None else 1 - scores["accuracy"]
    on_gpu = torch.cuda.is_available() and label not in BOOSTING
    return {
        "device": torch.cuda.get_device_name() if on_gpu else "CPU",
        "dataset": dataset.name,
        "method": label,
        "seed": seed,
        "task": "regression" if classes is None else "classification",
        "n_train": len(parts.train),
        "n_columns": dataset.X.shape[1],
        "error": error,
        "fit_seconds": fitting.seconds,
        "predict_ms": predicting.seconds * 1e3 * _N_PREDICTED / len(some),
        "peak_mib": fitting.peak_bytes / 2**20,
        "threads": torch.get_num_threads(),
        "processor": platform.processor() or platform.machine(),
        "commit": provenance().get("commit"),
    }


def keep(line: dict, file: Path) -> None:
    """Add a line to the records, in place of the same fit's earlier one."""
    new = pd.DataFrame([line])
    if file.exists():
        old = pd.read_csv(file)
        new = pd.concat([old, new]).drop_duplicates(KEY, keep="last")
    aside = file.with_suffix(".part")
    new.to_csv(aside, index=False, float_format="%.5g")
    os.replace(aside, file)
    print(
        f"{line['dataset']} ({line['n_train']:,} rows), {line['method']}: "
        f"{line['fit_seconds']:.2f} s, error {line['error']:.4g}",
        flush=True,
    )


def in_range(data: Path, name: str) -> bool:
    """Whether a table is one of those that are timed."""
    n_train = 0.64 * (open_folder(data / name).n_rows or 0)
    return any(low <= n_train <= high for low, high in (ROWS, SMALL_ROWS))


def tasks(asked: argparse.Namespace) -> Iterator[tuple[Dataset, Parts, str, int]]:
    """What to fit; the methods take turns on each table."""
    names = tables_in(asked.data, asked.tables)
    if not asked.tables:
        names = [name for name in names if in_range(asked.data, name)]
    for seed in range(asked.seeds):
        for name in names:
            dataset = read_dataset(name, data=asked.data)
            for label in asked.methods.split(";"):
                yield dataset, split_rows(dataset, "given"), label, seed


def run(asked: argparse.Namespace) -> None:
    """Fit the tables that are not in the records yet."""
    if asked.quick:
        dataset = made_table(200, 4)
        for label in ("ModernNCA, fast", "CatBoost"):
            measured = measure(dataset, parts_of(dataset), label, 0)
            keep({"part": "quick", **measured}, asked.file)
        return
    done = pd.read_csv(asked.file) if asked.file.exists() else None
    for dataset, parts, label, seed in tasks(asked):
        if done is not None and not asked.again:
            same = (done["dataset"] == dataset.name) & (done["method"] == label)
            if (same & (done["seed"] == seed) & (done["part"] == "tables")).any():
                continue
        keep({"part": "tables", **measure(dataset, parts, label, seed)}, asked.file)


def parts_of(dataset: Dataset) -> Parts:
    """The first rows for training, a quarter as many for validation, the rest."""
    n_train = int((len(dataset.y) - 2000) / 1.25)
    n_valid = n_train + n_train // 4
    rows = np.arange(len(dataset.y))
    return Parts(rows[:n_train], rows[n_train:n_valid], rows[n_valid:])


def grow(asked: argparse.Namespace) -> None:
    """Fit a made function at more and more rows, then at more and more columns."""
    slow: set[tuple[str, str]] = set()
    sizes = [("rows", n, 20) for n in GROW_ROWS if n <= asked.max_rows]
    sizes += [("columns", 10_000, p) for p in GROW_COLUMNS]
    for what, n_rows, n_columns in sizes:
        dataset = made_table(n_rows, n_columns)
        for label in asked.methods.split(";"):
            if (what, label) in slow:
                continue
            line = measure(dataset, parts_of(dataset), label, 0)
            keep({"part": f"grow {what}", **line}, asked.file)
            if line["fit_seconds"] > _TOO_LONG:
                slow.add((what, label))


def geometric(values: pd.Series) -> float:
    return float(np.exp(np.log(values).mean()))


def table_lines(lines: pd.DataFrame, device: str) -> list[str]:
    """Seconds and errors over CatBoost's, as Markdown."""
    of_classes = lines["task"] == "classification"  # of few wrong rows one decides
    error = lines["error"].where(~of_classes, lines["error"].clip(lower=0.002))
    lines = lines.assign(error=error)
    costs = lines.pivot_table(
        index="dataset", columns="method", values="fit_seconds", aggfunc="median"
    )
    errors = lines.pivot_table(
        index="dataset", columns="method", values="error", aggfunc="mean"
    )
    predict = lines.pivot_table(
        index="dataset", columns="method", values="predict_ms", aggfunc="median"
    )
    sizes = lines.groupby("dataset")["n_train"].first()
    labels = [label for label in METHODS if label in costs]
    others = [label for label in labels if label != "CatBoost"]
    text = [f"## {device}, {int(lines['threads'].max())} threads", ""]
    for title, (low, high) in (
        ("10,000 to 60,000", ROWS),
        ("500 to 2,000", SMALL_ROWS),
    ):
        rows = sizes[(sizes >= low * 0.95) & (sizes <= high * 1.05)].index
        if not len(rows):
            continue
        text += [
            f"Tables of {title} training rows. Seconds of a fit, and in brackets the "
            "error (or RMSE) over CatBoost's.",
            "",
        ]
        text += [
            "| table | rows | " + " | ".join(labels) + " |",
            "| --- " * (len(labels) + 2) + "|",
        ]
        for name in sorted(rows, key=lambda name: sizes[name]):
            cells = []
            for label in labels:
                seconds = costs.loc[name, label]
                ratio = errors.loc[name, label] / errors.loc[name, "CatBoost"]
                cell = f"{seconds:.1f} ({ratio:.2f})".replace(" (nan)", "")
                cells.append("" if np.isnan(seconds) else cell)
            text.append(f"| {name} | {sizes[name]:,} | " + " | ".join(cells) + " |")
        for what, frame in (
            ("seconds over CatBoost's, geometric mean", costs),
            ("error over CatBoost's, geometric mean", errors),
            ("1,000 predictions over CatBoost's", predict),
        ):
            cells = []
            for label in labels:
                both = (
                    frame.loc[rows, [label, "CatBoost"]].dropna()
                    if label in others
                    else None
                )
                if both is None or both.empty:
                    cells.append("1" if label == "CatBoost" else "")
                else:
                    cells.append(f"**{geometric(both[label] / both['CatBoost']):.2f}**")
            text.append(f"| *{what}* | | " + " | ".join(cells) + " |")
        text.append("")
    return text


def picture(lines: pd.DataFrame) -> None:
    """How seconds and memory grow, on each device."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        2, 2, figsize=(9, 6.5), sharey="row", layout="constrained"
    )
    for column, (part, by) in enumerate(
        (("grow rows", "n_train"), ("grow columns", "n_columns"))
    ):
        for row, (value, name) in enumerate(
            (("fit_seconds", "seconds of a fit"), ("peak_mib", "peak memory, MiB"))
        ):
            axis = axes[row, column]
            some = lines[lines["part"] == part]
            for (label, device), group in some.groupby(
                ["method", "device"], sort=False
            ):
                group = group.sort_values(by)
                on = "" if device == "CPU" else " (GPU)"
                axis.plot(
                    group[by],
                    group[value].clip(lower=1),
                    marker="o",
                    markersize=3,
                    label=label + on,
                    linestyle="-" if device == "CPU" else "--",
                )
            axis.set(
                xscale="log",
                yscale="log",
                xlabel=by.replace("n_train", "training rows, 20 columns").replace(
                    "n_columns", "columns, 10,000 rows"
                ),
                ylabel=name if column == 0 else "",
            )
            axis.grid(alpha=0.3)
    axes[0, 0].legend(fontsize=7)
    figure.savefig(PICTURE, dpi=130)
    plt.close(figure)


def report(asked: argparse.Namespace) -> None:
    """Write cost.md and the picture."""
    lines = pd.read_csv(asked.file)
    tables = lines[lines["part"] == "tables"]
    text = [
        "# The cost of a fit",
        "",
        "Written by `python benchmarks/cost.py report` from cost.csv; its docstring "
        "says how the fits were made.",
        "",
    ]
    boosting = tables[tables["method"].isin(BOOSTING)]
    for device, some in tables.groupby("device", sort=False):
        if device != "CPU":
            some = pd.concat([some, boosting])
        elif set(some["method"]) <= set(BOOSTING):
            continue
        text += table_lines(some, device)
    text += across_devices(tables)
    HERE.joinpath("cost.md").write_text("\n".join(text).rstrip() + "\n")
    if (lines["part"].str.startswith("grow")).any():
        picture(lines)
    print(HERE / "cost.md")


def across_devices(tables: pd.DataFrame) -> list[str]:
    """The default on a CPU beside the default on a GPU."""
    ours = tables[tables["method"] == "ModernNCA"]
    errors = (
        ours.pivot_table(
            index=["task", "dataset"], columns="device", values="error", aggfunc="mean"
        )
        .clip(lower=0.002)
        .dropna()
    )
    if errors.shape[1] < 2:
        return []
    (gpu,) = [name for name in errors if name != "CPU"]
    ratio = errors["CPU"] / errors[gpu]
    text = [
        "## One model everywhere",
        "",
        f"The default's error (or RMSE) on a CPU over that on a GPU, {len(ratio)} "
        f"tables: **{geometric(ratio):.3f}**.",
    ]
    for task, some in ratio.groupby("task"):
        text.append(f"{task.capitalize()}, {len(some)} tables: {geometric(some):.3f}.")
    return [*text, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["run", "grow", "report"])
    parser.add_argument("--data", type=Path, default=os.environ.get("MODERNNCA_DATA"))
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("--tables", help="names, a,b; else all of the right size")
    parser.add_argument("--methods", default=";".join(METHODS), help="a;b")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--max-rows", type=int, default=1_000_000)
    parser.add_argument("--again", action="store_true", help="fit what is there, too")
    parser.add_argument("--quick", action="store_true", help="try the script")
    asked = parser.parse_args()
    {"run": run, "grow": grow, "report": report}[asked.what](asked)


if __name__ == "__main__":
    main()
