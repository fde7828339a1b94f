"""Comparisons: methods on the datasets on which all of them were run."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from modernnca.lab.report.method_names import display_names

GROUPS: dict[str, tuple[str, ...]] = {
    "all": ("binclass", "multiclass", "regression"),
    "classification": ("binclass", "multiclass"),
    "regression": ("regression",),
}


@dataclass(frozen=True)
class Comparison:
    """The scores of a group, one per dataset and method; NaN where a run failed."""

    group: str
    scores: pd.DataFrame
    notes: tuple[str, ...] = ()  # which methods and datasets are left out

    @property
    def methods(self) -> list[str]:
        """The methods compared."""
        return sorted(self.scores["method"].unique())

    @property
    def n_datasets(self) -> int:
        """Number of datasets that the methods are compared on."""
        return int(self.scores["dataset"].nunique())


def fill_tasks(records: pd.DataFrame) -> pd.DataFrame:
    """Fill in the task of runs that failed before they knew it."""
    known = records[records["task"].fillna("") != ""]
    task = known.groupby("dataset")["task"].first().to_dict()
    return records.assign(task=[task.get(name, "") for name in records["dataset"]])


def label_methods(records: pd.DataFrame) -> pd.DataFrame:
    """Replace method names by display names, which include non-default settings.

    For example "k-NN", "ModernNCA" and "ModernNCA (tuned)".
    """
    labels = records["method"].map(display_names(records["method"]))
    if records["settings"].nunique() > 1:
        is_default = records["settings"] == "default"
        labels = labels.where(is_default, labels + " (" + records["settings"] + ")")
    return records.assign(method=labels, settings="default")


def comparisons(scores: pd.DataFrame) -> list[Comparison]:
    """Split scores into groups to compare: all, classification, regression.

    A group contains the methods run on at least some share of its datasets of each
    task, and the datasets on which all of these methods were run. The share is chosen
    such that the group has the most scores. Failed runs count: they are rows without a
    score.
    """
    task_groups = [
        group
        for group in ("classification", "regression")
        if scores["task"].isin(GROUPS[group]).any()
    ]
    groups = ["all", *task_groups] if len(task_groups) > 1 else task_groups
    return [_compare(scores, group) for group in groups]


def _largest_complete(scores: pd.DataFrame) -> tuple[set[str], set[str]]:
    """Return the methods and datasets that form the largest complete set of scores."""
    masks = [scores["task"].isin(GROUPS[g]) for g in ("classification", "regression")]
    parts = [scores[mask] for mask in masks if mask.any()]
    shares = [  # share of the datasets of a task group, by method
        part.groupby("method")["dataset"].nunique() / part["dataset"].nunique()
        for part in parts
    ]
    share = pd.concat(shares, axis=1).fillna(0.0).min(axis=1)
    best: tuple[set[str], set[str]] = (set(), set())
    for threshold in sorted(set(share[share > 0]), reverse=True):
        methods = set(share.index[share >= threshold])
        complete = [_complete_datasets(part, methods) for part in parts]
        datasets = set().union(*complete)
        if all(complete) and len(methods) * len(datasets) > len(best[0]) * len(best[1]):
            best = methods, datasets
    return best


def _complete_datasets(scores: pd.DataFrame, methods: set[str]) -> set[str]:
    """Return the datasets on which all of the methods were run."""
    rows = scores[scores["method"].isin(methods)]
    n_methods = rows.groupby("dataset")["method"].nunique()
    return set(n_methods.index[n_methods == len(methods)])


def _compare(scores: pd.DataFrame, group: str) -> Comparison:
    scores = scores[scores["task"].isin(GROUPS[group])]
    methods, datasets = _largest_complete(scores)
    compared = scores[scores["method"].isin(methods)]
    n_datasets = scores["dataset"].nunique()
    notes = []
    excluded = sorted(set(scores["method"]) - methods)
    if excluded:
        notes.append(
            "Not compared here, because they were run on too few datasets of each "
            f"task: {', '.join(excluded)}."
        )
    if len(datasets) < n_datasets:
        notes.append(
            f"{n_datasets - len(datasets):,} of {n_datasets:,} datasets are left out, "
            "because not all of these methods were run on them."
        )
    compared = compared[compared["dataset"].isin(datasets)]
    if missing := describe_missing(compared):
        notes.append(missing)
    return Comparison(group, compared.reset_index(drop=True), tuple(notes))


def describe_missing(scores: pd.DataFrame) -> str:
    """Describe how many scores are missing, by method, and how they are treated."""
    missing = scores[scores["mean"].isna()]
    if missing.empty:
        return ""
    counts = missing["method"].value_counts()
    by_method = counts.sort_index().sort_values(ascending=False, kind="stable")
    listed = ", ".join(f"{method} {n}" for method, n in by_method.items())
    return (
        f"{len(missing):,} of {len(scores):,} scores are missing ({listed}). In ranks, "
        "win rates and Elo, a missing score ranks last on its dataset. Pairwise "
        "comparisons of values (t-test, Wilcoxon's test, ratio of errors) leave the "
        "dataset out."
    )


def dataset_properties(frame: pd.DataFrame) -> Mapping[str, dict[str, float | str]]:
    """Return task, rows and columns of each dataset; NaN where unknown."""
    sizes = frame.reindex(columns=["dataset", "task", "n_train", "n_columns"])
    sizes = sizes.groupby("dataset", sort=True).agg(
        {"task": "first", "n_train": "max", "n_columns": "max"}
    )
    sizes = sizes.rename(columns={"n_train": "rows", "n_columns": "columns"})
    return sizes.astype({"rows": float, "columns": float}).to_dict("index")
