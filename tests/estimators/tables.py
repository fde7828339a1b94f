"""Small tables for the tests of the estimators."""

import numpy as np
import pandas as pd


def mixed_table(n_rows: int = 120, *, seed: int = 0) -> pd.DataFrame:
    """Numbers, booleans, text, dates and gaps; `size` and `color` decide the target."""
    rng = np.random.RandomState(seed)
    frame = pd.DataFrame(
        {
            "size": rng.randn(n_rows),
            "weight": rng.randn(n_rows) * 100,
            "color": rng.choice(["red", "green", "blue"], n_rows),
            "old": rng.rand(n_rows) > 0.5,
            "day": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.randint(0, 500, n_rows), unit="D"),
            "same": 1,
        }
    )
    frame.loc[::7, "weight"] = np.nan
    frame.loc[::11, "color"] = None
    return frame


def classes_of(frame: pd.DataFrame) -> np.ndarray:
    """Labels that depend on the table."""
    return np.where((frame["size"] > 0) ^ (frame["color"] == "red"), "yes", "no")


def numbers_of(frame: pd.DataFrame) -> np.ndarray:
    """Targets in units far from zero and one."""
    return 5000 + 300 * frame["size"].to_numpy() + 400 * (frame["color"] == "red")
