"""Read published scores: a CSV of means and standard deviations as a scores frame."""

from pathlib import Path

import numpy as np
import pandas as pd
from pandas import DataFrame, Series

COLUMNS = ("dataset", "task", "method", "mean", "std")
TASKS = ("binclass", "multiclass", "regression")

# Method names in the published files -> names printed in papers.
DISPLAY_NAMES = {
    "LinearRegression": "Linear regression",
    "LogReg": "Logistic regression",
    "NCM": "NCM",
    "NaiveBayes": "Naive Bayes",
    "RandomForest": "RandomForest",
    "autoint": "AutoInt",
    "catboost": "CatBoost",
    "danets": "DANets",
    "dcn2": "DCNv2",
    "dnnr": "DNNR",
    "dummy": "Dummy",
    "excelformer": "ExcelFormer",
    "ftt": "FT-T",
    "grownet": "GrowNet",
    "knn": "KNN",
    "lightgbm": "LightGBM",
    "mlp": "MLP",
    "mlp_plr": "MLP-PLR",
    "modernNCA": "ModernNCA",
    "node": "NODE",
    "ptarl": "PTaRL",
    "realmlp": "RealMLP",
    "resnet": "ResNet",
    "snn": "SNN",
    "svm": "SVM",
    "switchtab": "SwitchTab",
    "tabcaps": "TabCaps",
    "tabnet": "TabNet",
    "tabpfn": "TabPFN",
    "tabr": "TabR",
    "tabtransformer": "TabTransformer",
    "tangos": "Tangos",
    "xgboost": "XGBoost",
}


def display_name(method: str) -> str:
    """Return the name to print for a method; unknown methods keep their name.

    >>> display_name("ftt"), display_name("my-net")
    ('FT-T', 'my-net')
    """
    return DISPLAY_NAMES.get(method, method)


def read_published(path: Path, *, n: int = 15) -> DataFrame:
    """Read a CSV with the columns dataset, task, method, mean, std.

    The mean is the accuracy in classification and the RMSE in regression, over `n`
    runs. An empty or "nan" mean is a method that failed; its row stays, with std NaN.
    Other columns are ignored.

    Returns:
        dataset, task, method, mean, std, n, higher (True for accuracy), in the order of
        the file.
    """
    if n < 1:
        raise ValueError(f"n is {n!r}; it must be at least 1 run.")
    table = _read(path)
    for name in ("mean", "std"):
        values = pd.to_numeric(table[name], errors="coerce")
        present = ~table[name].str.strip().str.lower().isin(["", "nan"])
        invalid = present & ~np.isfinite(values)
        _check_rows(path, table, invalid, f"a {name} that is not a number")
        table[name] = values.astype(float)
    higher = table["task"] != "regression"
    mean, std = table["mean"], table["std"]
    for invalid, problem in (
        (table["dataset"].eq("") | table["method"].eq(""), "no dataset or no method"),
        (~table["task"].isin(TASKS), f"a task other than {', '.join(TASKS)}"),
        (
            table.duplicated(["dataset", "method"]),
            "a second score of the same method and dataset",
        ),
        (
            table.groupby("dataset")["task"].transform("nunique") > 1,
            "a dataset with two tasks",
        ),
        (higher & ((mean < 0) | (mean > 1)), "an accuracy outside 0 to 1"),
        (~higher & (mean < 0), "an RMSE below 0"),
        (std < 0, "a std below 0"),
        (mean.notna() & std.isna(), "a mean without a std"),
    ):
        _check_rows(path, table, invalid, problem)
    return table.assign(std=std.where(mean.notna()), n=n, higher=higher)


def _read(path: Path) -> DataFrame:
    try:
        table = pd.read_csv(
            path, dtype=str, keep_default_na=False, encoding="utf-8-sig"
        ).fillna("")
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} cannot be read as a CSV file: {reason}") from error
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise ValueError(
            f"{path} has no column {', '.join(map(repr, missing))}; "
            f"published scores have the columns {', '.join(COLUMNS)}."
        )
    if table.empty:
        raise ValueError(f"{path} has a header but no scores; add one row per score.")
    return table[list(COLUMNS)]


def _check_rows(path: Path, table: DataFrame, invalid: Series, problem: str) -> None:
    """Raise an error that names the first invalid row and its problem."""
    if invalid.any():
        row = int(np.argmax(invalid))
        values = ",".join(str(value) for value in table.iloc[row])
        raise ValueError(f"{path}, line {row + 2} has {problem}: {values}")
