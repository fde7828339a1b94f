"""Published scores: a CSV of means and standard deviations as a frame of scores."""

from pathlib import Path

import numpy as np
import pandas as pd
from pandas import DataFrame, Series

COLUMNS = ("dataset", "task", "method", "mean", "std")
TASKS = ("binclass", "multiclass", "regression")

# The names of the published tables to those that papers print.
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
    """Return the name to print for a method; one that is not known keeps its own.

    >>> display_name("ftt"), display_name("my-net")
    ('FT-T', 'my-net')
    """
    return DISPLAY_NAMES.get(method, method)


def read_published(path: Path, *, n: int = 15) -> DataFrame:
    """Read a CSV with the columns dataset, task, method, mean, std.

    The mean is the accuracy in classification and the RMSE in regression, over `n`
    runs. An empty or "nan" mean is a method that failed; its row stays, and its std is
    NaN too. Columns of other names are left aside.

    Returns:
        dataset, task, method, mean, std, n, higher (true of accuracy), in the order of
        the file.
    """
    if n < 1:
        raise ValueError(f"n is {n!r}; published scores are over at least 1 run.")
    table = _read(path)
    for name in ("mean", "std"):
        numbers = pd.to_numeric(table[name], errors="coerce")
        said = ~table[name].str.strip().str.lower().isin(["", "nan"])
        _refuse(
            path, table, said & ~np.isfinite(numbers), f"a {name} that is no number"
        )
        table[name] = numbers.astype(float)
    higher = table["task"] != "regression"
    mean, std = table["mean"], table["std"]
    for wrong, words in (
        (table["dataset"].eq("") | table["method"].eq(""), "no dataset or no method"),
        (~table["task"].isin(TASKS), f"a task other than {', '.join(TASKS)}"),
        (table.duplicated(["dataset", "method"]), "a second score of its method"),
        (
            table.groupby("dataset")["task"].transform("nunique") > 1,
            "a dataset of two tasks",
        ),
        (higher & ((mean < 0) | (mean > 1)), "an accuracy outside 0 to 1"),
        (~higher & (mean < 0), "an RMSE below 0"),
        (std < 0, "a std below 0"),
        (mean.notna() & std.isna(), "a mean without a std"),
    ):
        _refuse(path, table, wrong, words)
    return table.assign(std=std.where(mean.notna()), n=n, higher=higher)


def _read(path: Path) -> DataFrame:
    try:
        table = pd.read_csv(
            path, dtype=str, keep_default_na=False, encoding="utf-8-sig"
        ).fillna("")
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} cannot be read as a CSV file: {reason}") from error
    lacking = [name for name in COLUMNS if name not in table.columns]
    if lacking:
        raise ValueError(
            f"{path} has no column {', '.join(map(repr, lacking))}; "
            f"published scores have the columns {', '.join(COLUMNS)}."
        )
    if table.empty:
        raise ValueError(f"{path} has a header and no scores; add a row for each.")
    return table[list(COLUMNS)]


def _refuse(path: Path, table: DataFrame, wrong: Series, words: str) -> None:
    """Say where and what the first wrong row is."""
    if wrong.any():
        row = int(np.argmax(wrong))
        values = ",".join(str(value) for value in table.iloc[row])
        raise ValueError(f"{path}, line {row + 2} has {words}: {values}")
