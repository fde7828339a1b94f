"""Mean ratios of losses, with bootstrap confidence intervals."""

import numpy as np
from pandas import DataFrame

from modernnca.lab.stats.summary import check_method, losses, task_group


def relative_improvement(
    scores: DataFrame,
    method: str,
    baseline: str,
    *,
    floor: float = 0.002,
    n_boot: int = 2000,
    seed: int = 0,
) -> DataFrame:
    """Return the geometric mean of a method's losses divided by a baseline's.

    A ratio of 0.9 means a tenth less error (1 - accuracy) or RMSE. To keep one nearly
    perfect score from dominating, an error counts as at least `floor`, and an RMSE as
    at least `floor` times the other's: every ratio lies in [floor, 1 / floor], and 0/0
    is 1. Datasets on which either method has no score are left out.

    Returns:
        task_group ("classification", "regression", "all"; groups without datasets have
        no row); ratio; low, high, the 95 % percentile interval of a bootstrap over
        datasets with `n_boot` resamples; wins, losses, ties, after the floor; n, the
        number of datasets.
    """
    if not 0 < floor < 1:
        raise ValueError(f"floor is {floor!r}; it must lie between 0 and 1.")
    loss = losses(scores)
    check_method(scores, method)
    check_method(scores, baseline)
    ours, theirs = loss[method].to_numpy(), loss[baseline].to_numpy()
    by_dataset = scores.groupby("dataset")[["task", "higher"]].first().loc[loss.index]
    is_error = by_dataset["higher"].to_numpy(bool)  # 1 - score, within [0, 1]
    ours = np.where(is_error, np.maximum(ours, floor), ours)
    theirs = np.where(is_error, np.maximum(theirs, floor), theirs)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(ours / theirs).clip(np.log(floor), -np.log(floor))
    logs[ours == theirs] = 0.0  # including 0/0

    group = by_dataset["task"].map(task_group).to_numpy()
    known = ~np.isnan(logs)
    rows = []
    for name in ("classification", "regression", "all"):
        chosen = logs[known & ((group == name) | (name == "all"))]
        if len(chosen):
            counts = [(chosen < 0).sum(), (chosen > 0).sum(), (chosen == 0).sum()]
            low, high = bootstrap_mean(chosen, n_boot=n_boot, seed=seed)
            ratios = np.exp([chosen.mean(), low, high])
            rows.append([name, *ratios, *map(int, counts), len(chosen)])
    columns = ["task_group", "ratio", "low", "high", "wins", "losses", "ties", "n"]
    return DataFrame(rows, columns=columns)


def bootstrap_mean(
    values: np.ndarray, *, n_boot: int = 2000, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """Return the bootstrap percentile interval of the mean of values (N,).

    >>> bootstrap_mean(np.array([1.0, 1.0, 1.0]))
    (1.0, 1.0)
    """
    rng = np.random.default_rng(seed)
    means = values[rng.integers(len(values), size=(n_boot, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
