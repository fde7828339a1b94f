"""What do the parts of `time_column` give, on tables that are asked about their future?

Each table is put in the order of its time: fit gets the first 80 % of the rows (and
holds out a fifth of these its own way), the last 20 % are the test. Every configuration
is one network of the preset "fast" (patience 10) with some choices of the time column
changed; the base is what is learned without one.

    python experiments/drift.py --data DIR [--out experiments/drift.csv] [--seeds 0 1]

Runs again only what is missing in the records, then prints them as tables.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from modernnca import ModernNCAClassifier, ModernNCARegressor

# Random rows judge, the time is a column like others, and all rows answer all rows.
KEY = ["table", "config", "seed"]
BASE = {
    "validation_rows": "random",
    "time_features": "column",
    "past_only": "never",
}
CONFIGS: dict[str, dict] = {
    "base": {},
    "last": {"validation_rows": "last"},
    "blocks": {"validation_rows": "blocks"},
    "fourier": {"time_features": "fourier"},
    "seasons": {"time_features": "seasons"},
    "both": {"time_features": "both"},
    "none": {"time_features": "none"},
    "past, judging": {"past_only": "judging"},
    "past, always": {"past_only": "always"},
    "seasons + judging": {"time_features": "seasons", "past_only": "judging"},
    "seasons + last": {"time_features": "seasons", "validation_rows": "last"},
}


def _electricity(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Half hours since 7 May 1996, in the order of the rows."""
    hours = pd.to_timedelta(np.arange(len(frame)) * 30, unit="min")
    frame = frame.drop(columns=["date", "day", "period"])
    return frame.assign(when=pd.Timestamp("1996-05-07") + hours)[::8], "class"


def _flights(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The day and the time of departure."""
    minutes = frame["dep_time"] // 100 * 60 + frame["dep_time"] % 100
    date = {"year": 2013, "month": frame["month"], "day": frame["day"]}
    when = pd.to_datetime(pd.DataFrame(date)) + pd.to_timedelta(minutes, unit="min")
    frame = frame.drop(columns=["month", "day"]).assign(when=when)
    return frame[::60], "arr_delay"


def _rain(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Year and month are given; days are counted within them, at each place."""
    month = frame["Month"].astype(int)
    day = frame.groupby(["Location", "Year", month], observed=True).cumcount()
    date = {"year": frame["Year"], "month": month, "day": 1}
    when = pd.to_datetime(pd.DataFrame(date)) + pd.to_timedelta(day, unit="D")
    frame = frame.drop(columns=["Year", "Month"]).assign(when=when)
    return frame[::25], "RainTomorrow"


def _steel(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Quarters of an hour of 2018, in the order of the rows."""
    quarters = pd.to_timedelta(np.arange(len(frame)) * 15, unit="min")
    frame = frame.drop(columns=["NSM", "WeekStatus", "Day_of_week"])
    return frame.assign(when=pd.Timestamp("2018-01-01") + quarters)[::6], "Usage_kWh"


def _stations(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Days by number: each new beginning of the list of stations is one."""
    days = (frame["station"].diff() < 0).cumsum()
    return frame.assign(when=days.astype(float))[::2], "Next_Tmax"


TABLES: dict[str, Callable[[pd.DataFrame], tuple[pd.DataFrame, str]]] = {
    "electricity": _electricity,
    "nycflights13": _flights,
    "Rain_in_Australia_binary": _rain,
    "steel_industry_energy_consumption": _steel,
    "Bias_correction_r": _stations,
}


def run(data: Path, name: str, config: str, seed: int) -> dict:
    """Fit one configuration on the past of a table, and predict its future."""
    frame, target = TABLES[name](pd.read_parquet(data / name / "data.parquet"))
    frame = frame.sort_values("when", kind="stable")
    y = frame.pop(target).to_numpy()
    regression = y.dtype.kind == "f"
    n_fit = round(0.8 * len(frame))
    told = {"time_column": "when", **BASE, **CONFIGS[config]}
    kind = ModernNCARegressor if regression else ModernNCAClassifier
    model = kind(
        preset="fast",
        patience=10,
        random_state=seed,
        **told,
    )
    began = time.perf_counter()
    model.fit(frame[:n_fit], y[:n_fit])
    seconds = time.perf_counter() - began
    record = {"table": name, "config": config, "seed": seed, "n_fit": n_fit}
    if regression:
        errors = model.predict(frame[n_fit:]) - y[n_fit:]
        record |= {"error": np.sqrt(np.mean(errors**2)), "log_loss": np.nan}
    else:
        shares = model.predict_proba(frame[n_fit:])
        codes = np.searchsorted(model.classes_, y[n_fit:])
        given = shares[np.arange(len(codes)), codes].clip(1e-7, 1)
        record |= {
            "error": np.mean(shares.argmax(1) != codes),
            "log_loss": -np.log(given).mean(),
        }
    judged = max(epoch.score for epoch in model.history_)
    return record | {
        "judged": judged,
        "epochs": len(model.history_),
        "fallback": model.fallback_ or "",
        "seconds": round(seconds, 1),
    }


def compare(records: pd.DataFrame) -> str:
    """Errors by table, and their geometric mean as a share of the base's."""
    said = []
    for column in ("error", "log_loss"):
        known = records.dropna(subset=column)
        pairs = known.pivot_table(index="config", columns=["table", "seed"])[column]
        shares = np.exp(np.log(pairs / pairs.loc["base"]).T.groupby("table").mean()).T
        shares.insert(0, "all", np.exp(np.log(shares).mean(axis=1, skipna=False)))
        order = [config for config in CONFIGS if config in shares.index]
        said.append(
            f"{column}, of the base's\n{shares.loc[order].round(3).to_string()}"
        )
    return "\n\n".join(said)


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".csv"))
    parser.add_argument("--configs", nargs="*", default=list(CONFIGS))
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    arguments = parser.parse_args()
    known = pd.read_csv(arguments.out) if arguments.out.exists() else pd.DataFrame()
    done = set() if known.empty else {*map(tuple, known[KEY].values)}
    for seed in arguments.seeds:
        for table in arguments.tables:
            for config in arguments.configs:
                if (table, config, seed) in done:
                    continue
                record = run(arguments.data, table, config, seed)
                print(record, flush=True)
                line = pd.DataFrame([record]).round(6)
                new = not arguments.out.exists()
                line.to_csv(arguments.out, mode="a", header=new, index=False)
    print(compare(pd.read_csv(arguments.out)))


if __name__ == "__main__":
    main()
