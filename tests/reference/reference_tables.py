"""Six small tables, drawn by fixed recipes, for the stored reference predictions."""

from typing import NamedTuple

import numpy as np
import pandas as pd


class Reference(NamedTuple):
    """A table to fit and rows to predict; `time_column` where rows have a time."""

    X: pd.DataFrame
    y: np.ndarray
    queries: pd.DataFrame
    time_column: str | None = None

    @property
    def is_regression(self) -> bool:
        """Whether the target is a number."""
        return self.y.dtype.kind == "f"


_N_QUERIES = 25


def _mixed(seed: int, n_rows: int) -> pd.DataFrame:
    """Numbers of several scales, categories, booleans, dates; no gaps yet."""
    rng = np.random.RandomState(seed)
    start = pd.Timestamp("2023-03-01")
    return pd.DataFrame(
        {
            "length": rng.randn(n_rows),
            "price": np.exp(2 * rng.randn(n_rows)) * 100,
            "rooms": rng.randint(1, 9, n_rows),
            "flag": rng.randint(0, 2, n_rows),
            "color": rng.choice(["red", "green", "blue", "rare"], n_rows),
            "used": rng.rand(n_rows) > 0.5,
            "day": start + pd.to_timedelta(rng.randint(0, 700, n_rows), unit="D"),
            "same": 7,
        }
    )


def _signal(frame: pd.DataFrame) -> np.ndarray:
    log_price = np.log(frame["price"].fillna(100.0)).to_numpy()
    red = (frame["color"] == "red").to_numpy()
    return np.sin(2 * frame["length"].fillna(0.0).to_numpy()) + 0.3 * log_price + red


def _with_gaps(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    rng = np.random.RandomState(seed)
    frame = frame.copy()
    for name in ("length", "price", "color", "day"):
        frame.loc[rng.rand(len(frame)) < 0.2, name] = None
    return frame


def _split(
    frame: pd.DataFrame, y: np.ndarray, time_column: str | None = None
) -> Reference:
    first = len(frame) - _N_QUERIES
    return Reference(
        frame.iloc[:first].reset_index(drop=True),
        y[:first],
        frame.iloc[first:].reset_index(drop=True),
        time_column,
    )


def _classes(signal: np.ndarray) -> np.ndarray:
    return np.array(["low", "middle", "high"])[
        np.digitize(signal, np.quantile(signal, [0.3, 0.7]))
    ]


def mixed_classification() -> Reference:
    """Three classes; columns of every kind."""
    frame = _mixed(1, 225)
    return _split(frame, _classes(_signal(frame)))


def mixed_regression() -> Reference:
    """A number far from zero and one; columns of every kind."""
    frame = _mixed(2, 225)
    return _split(frame, 5000.0 + 300.0 * _signal(frame))


def gaps_classification() -> Reference:
    """Two classes; a fifth of the cells is missing."""
    frame = _with_gaps(_mixed(3, 185), 4)
    signal = _signal(frame)
    return _split(frame, signal > np.median(signal))


def gaps_regression() -> Reference:
    """A number; a fifth of the cells is missing."""
    frame = _with_gaps(_mixed(5, 185), 6)
    return _split(frame, 0.01 * _signal(frame))


def time_regression() -> Reference:
    """Rows in the order of a time column, with a trend and a yearly season."""
    rng = np.random.RandomState(7)
    days = np.sort(rng.randint(0, 900, 225))
    frame = pd.DataFrame(
        {
            "when": pd.Timestamp("2021-01-01") + pd.to_timedelta(days, unit="D"),
            "x": rng.randn(225),
            "shop": rng.choice(["a", "b"], 225),
        }
    )
    y = days / 300 + np.sin(2 * np.pi * days / 365.25) + frame["x"].to_numpy()
    return _split(frame, y, time_column="when")


def wide_classification() -> Reference:
    """More columns than rows; few of them matter."""
    rng = np.random.RandomState(8)
    x = rng.randn(145, 300)
    labels = np.where(x[:, 3] + x[:, 7] - x[:, 11] > 0, "plus", "minus")
    frame = pd.DataFrame(x, columns=[f"c{i}" for i in range(300)])
    return _split(frame, labels)


TABLES = {
    build.__name__: build
    for build in (
        mixed_classification,
        mixed_regression,
        gaps_classification,
        gaps_regression,
        time_regression,
        wide_classification,
    )
}
