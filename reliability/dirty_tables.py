"""Raw CSV files as people have them score like their clean forms.

    python reliability/dirty_tables.py DATA [--rows 3000] [--seeds 5]

DATA holds the four tables, each a folder with `data.parquet`. To each, the blanks,
thousands separators, currency signs, percents, local dates and identifiers are put back
that such files have, and the raw file goes the way of the shell: read, fit, predict.
The clean form is the table itself. Both have the same rows; numbers that the clean form
declares as categories, which a CSV file cannot, are named. The figures are printed and
written to `dirty_tables.md` beside this file.
"""

import argparse
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.exceptions import DataConversionWarning

from modernnca import ModernNCAClassifier, ModernNCARegressor
from modernnca.cli.predict import text_columns
from modernnca.cli.table_files import read_table
from modernnca.cli.task import Task, guess_task, target_of

OUT = Path(__file__).with_suffix(".md")


def local(number: float, places: int = 2) -> str:
    """A number as in most of Europe: 1.430,5.

    >>> local(1430.5)
    '1.430,50'
    """
    return f"{number:,.{places}f}".translate(str.maketrans(",.", ".,"))


def as_is(frame: pd.DataFrame) -> pd.DataFrame:
    """The clean form needs no more."""
    return frame


def with_flight_dates(frame: pd.DataFrame) -> pd.DataFrame:
    """Month and day as one date."""
    parts = frame[["month", "day"]].astype(int).assign(year=2013)
    return frame.drop(columns=["month", "day"]).assign(date=pd.to_datetime(parts))


def dirty_telco(frame: pd.DataFrame) -> pd.DataFrame:
    """Identifiers, blanks and dollars."""
    rng = np.random.RandomState(0)
    letters = rng.choice(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), (len(frame), 5))
    codes = [f"{row:04}-{''.join(five)}" for row, five in enumerate(letters)]
    return frame.assign(
        customerID=codes,
        TotalCharges=frame["TotalCharges"].map(
            lambda x: " " if pd.isna(x) else str(x), na_action=None
        ),
        MonthlyCharges=frame["MonthlyCharges"].map("${:.2f}".format),
    )


def dirty_houses(frame: pd.DataFrame) -> pd.DataFrame:
    """Identifiers, thousands separators, and prices in dollars."""
    areas = [name for name in frame if name.startswith("sqft")]
    return frame.assign(
        id=np.arange(len(frame)) + 7_129_300_520,
        price=frame["price"].map("${:,.0f}".format),
        **{name: frame[name].map("{:,}".format) for name in areas},
    )


def dirty_flights(frame: pd.DataFrame) -> pd.DataFrame:
    """American dates, row numbers, units' separators."""
    frame = with_flight_dates(frame)
    return frame.assign(
        row=np.arange(len(frame)),
        date=frame["date"].dt.strftime("%m/%d/%Y"),
        distance=frame["distance"].map("{:,}".format),
        dep_delay=frame["dep_delay"].map("{:.0f}".format),
    )


def dirty_shop(frame: pd.DataFrame) -> pd.DataFrame:
    """Decimal commas and percents, between semicolons."""
    times = [name for name in frame if name.endswith("_Duration")]
    return frame.assign(
        visit=[f"v{row}" for row in range(len(frame))],
        BounceRates=frame["BounceRates"].map(lambda x: f"{local(100 * x, 6)} %"),
        ExitRates=frame["ExitRates"].map(lambda x: f"{local(100 * x, 6)} %"),
        PageValues=frame["PageValues"].map(lambda x: local(x, 6)),
        **{name: frame[name].map(lambda x: f"{local(x, 6)}") for name in times},
    )


@dataclass(frozen=True)
class Case:
    """A table, its clean form, and what people have."""

    name: str
    target: str
    clean: Callable[[pd.DataFrame], pd.DataFrame]
    dirty: Callable[[pd.DataFrame], pd.DataFrame]
    delimiter: str = ","
    categorical: tuple[str, ...] = ()


CASES = [
    Case(
        "telco-customer-churn",
        "Churn",
        as_is,
        dirty_telco,
        categorical=("SeniorCitizen",),
    ),
    Case("house_sales_reduced", "price", as_is, dirty_houses),
    Case("nycflights13", "arr_delay", with_flight_dates, dirty_flights),
    Case(
        "online_shoppers",
        "Revenue",
        as_is,
        dirty_shop,
        delimiter=";",
        categorical=("OperatingSystems", "Browser", "Region", "TrafficType"),
    ),
]
ESTIMATORS = {
    Task.CLASSIFICATION: ModernNCAClassifier,
    Task.REGRESSION: ModernNCARegressor,
}


def score_of_clean(case: Case, train: pd.DataFrame, test: pd.DataFrame, seed: int):
    """Fit and score the clean form: accuracy, or R2."""
    train, test = case.clean(train), case.clean(test)
    y = train[case.target]
    task = Task.REGRESSION if y.dtype.kind == "f" else Task.CLASSIFICATION
    model = ESTIMATORS[task](random_state=seed)
    model.fit(train.drop(columns=case.target), y)
    return model.score(test.drop(columns=case.target), test[case.target])


def score_of_raw(case: Case, paths: list[Path], clean_y: np.ndarray, seed: int):
    """Fit and score the raw files, as the shell does."""
    train = read_table(paths[0], texts=case.categorical)
    target = target_of(train, case.target)
    model = ESTIMATORS[guess_task(target.values)](
        random_state=seed, categorical_features=case.categorical or None
    )
    model.fit(train.drop_columns([case.target]).take(target.rows), target.values)
    test = read_table(paths[1], texts=text_columns(model))
    if target.values.dtype.kind != "f":
        clean_y = np.asarray(clean_y).astype(str)
        return float((model.predict(test).astype(str) == clean_y).mean())
    return model.score(test, clean_y)


def main() -> None:
    """Run all cases and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    # Identifiers are left out and the target is ignored in prediction, as told.
    warnings.simplefilter("ignore", DataConversionWarning)
    lines = [
        "| table | score | clean | raw | raw - clean | standard error |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for case in CASES:
        frame = pd.read_parquet(given.data / case.name / "data.parquet")
        scores = []
        for seed in range(given.seeds):
            part = frame.sample(2 * given.rows, random_state=seed)
            part = part.reset_index(drop=True)
            train, test = part[: given.rows], part[given.rows :]
            raw = case.dirty(part)
            with tempfile.TemporaryDirectory() as folder:
                paths = [Path(folder) / "train.csv", Path(folder) / "test.csv"]
                for path, rows in zip(paths, (train, test), strict=True):
                    raw.loc[rows.index].to_csv(path, index=False, sep=case.delimiter)
                clean_y = test[case.target].to_numpy()
                pair = (
                    score_of_clean(case, train, test, seed),
                    score_of_raw(case, paths, clean_y, seed),
                )
            scores.append(pair)
            print(case.name, seed, *(f"{each:.4f}" for each in pair), flush=True)
        clean, raw_scores = np.array(scores).T
        differences = raw_scores - clean
        error = differences.std(ddof=1) / np.sqrt(len(differences))
        metric = "R2" if frame[case.target].dtype.kind == "f" else "accuracy"
        lines.append(
            f"| `{case.name}` | {metric} | {clean.mean():.4f} | "
            f"{raw_scores.mean():.4f} | {differences.mean():+.4f} | {error:.4f} |"
        )
    text = (
        "# Raw files and their clean forms\n\n"
        f"The defaults; means over {given.seeds} draws of {given.rows:,} training and "
        "as many test rows;\nwritten by `python reliability/dirty_tables.py DATA`.\n\n"
    )
    OUT.write_text(text + "\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
