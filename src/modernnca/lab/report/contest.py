"""Who is compared on what: methods on tables on which all of them were run."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from modernnca.lab.report.names import spell

GROUPS: dict[str, tuple[str, ...]] = {
    "all": ("binclass", "multiclass", "regression"),
    "classification": ("binclass", "multiclass"),
    "regression": ("regression",),
}


@dataclass(frozen=True)
class Contest:
    """The scores of a group, one for each dataset and method; NaN where none came."""

    group: str
    scores: pd.DataFrame
    words: tuple[str, ...] = ()  # who and what was left out

    @property
    def methods(self) -> list[str]:
        """The methods compared."""
        return sorted(self.scores["method"].unique())

    @property
    def n_datasets(self) -> int:
        """How many tables they are compared on."""
        return int(self.scores["dataset"].nunique())


def with_tasks(records: pd.DataFrame) -> pd.DataFrame:
    """Give a run that failed before it knew its task the task of its dataset."""
    known = records[records["task"].fillna("") != ""]
    task = known.groupby("dataset")["task"].first().to_dict()
    return records.assign(task=[task.get(name, "") for name in records["dataset"]])


def labeled(records: pd.DataFrame) -> pd.DataFrame:
    """Spell the methods, and name the settings that are not the default ones.

    A method is then its label alone: "k-NN", "ModernNCA", "ModernNCA (tuned)".
    """
    labels = records["method"].map(spell(records["method"]))
    if records["settings"].nunique() > 1:
        plain = records["settings"] == "default"
        labels = labels.where(plain, labels + " (" + records["settings"] + ")")
    return records.assign(method=labels, settings="default")


def contests(scores: pd.DataFrame) -> list[Contest]:
    """Cut scores into groups that can be judged: all, classification, regression.

    A table counts if all who take part were run on it. Who takes part was run on a
    share of the group's tables of each kind, which is such that most scores are
    compared. "Run" includes failures: they are rows without a score.
    """
    kinds = [
        kind
        for kind in ("classification", "regression")
        if scores["task"].isin(GROUPS[kind]).any()
    ]
    groups = ["all", *kinds] if len(kinds) > 1 else kinds
    return [_contest(scores, group) for group in groups]


def _compared(scores: pd.DataFrame) -> tuple[set[str], set[str]]:
    """The methods and the tables, all of which met, that have most scores."""
    kinds = [scores["task"].isin(GROUPS[k]) for k in ("classification", "regression")]
    parts = [scores[kind] for kind in kinds if kind.any()]
    shares = [  # of the tables of a kind, by method
        part.groupby("method")["dataset"].nunique() / part["dataset"].nunique()
        for part in parts
    ]
    share = pd.concat(shares, axis=1).fillna(0.0).min(axis=1)  # the smaller one
    best: tuple[set[str], set[str]] = (set(), set())
    for least in sorted(set(share[share > 0]), reverse=True):
        methods = set(share.index[share >= least])
        whole = [_where_all_ran(part, methods) for part in parts]
        found = methods, set().union(*whole)
        if all(whole) and len(found[0]) * len(found[1]) > len(best[0]) * len(best[1]):
            best = found
    return best


def _where_all_ran(scores: pd.DataFrame, methods: set[str]) -> set[str]:
    mine = scores[scores["method"].isin(methods)]
    n_methods = mine.groupby("dataset")["method"].nunique()
    return set(n_methods.index[n_methods == len(methods)])


def _contest(scores: pd.DataFrame, group: str) -> Contest:
    scores = scores[scores["task"].isin(GROUPS[group])]
    methods = sorted(scores["method"].unique())
    taking_part, whole = _compared(scores)
    judged = scores[scores["method"].isin(taking_part)]
    datasets = scores["dataset"].nunique()
    words = []
    absent = [method for method in methods if method not in taking_part]
    if absent:
        words.append(
            f"Not compared here, since run on too few of these tables of each kind: "
            f"{', '.join(absent)}."
        )
    if len(whole) < datasets:
        words.append(
            f"{datasets - len(whole):,} of {datasets:,} tables are left out, since not "
            "all of these methods were run on them."
        )
    judged = judged[judged["dataset"].isin(whole)]
    if missing := missing_in_words(judged):
        words.append(missing)
    return Contest(group, judged.reset_index(drop=True), tuple(words))


def missing_in_words(scores: pd.DataFrame) -> str:
    """Say how many scores are missing, whose they are, and what becomes of them."""
    missing = scores[scores["mean"].isna()]
    if missing.empty:
        return ""
    counts = missing["method"].value_counts()
    whose = counts.sort_index().sort_values(ascending=False, kind="stable")
    named = ", ".join(f"{method} {n}" for method, n in whose.items())
    return (
        f"{len(missing):,} of {len(scores):,} scores are missing ({named}). A missing "
        "score ranks last on its table, in ranks, win rates and Elo; where two methods "
        "are compared by their values (t-test, Wilcoxon's test, ratio of errors), the "
        "table is left out."
    )


def properties(frame: pd.DataFrame) -> Mapping[str, dict[str, float | str]]:
    """Give task, rows and columns of each dataset, NaN where the frame cannot tell."""
    sizes = frame.reindex(columns=["dataset", "task", "n_train", "n_columns"])
    sizes = sizes.groupby("dataset", sort=True).agg(
        {"task": "first", "n_train": "max", "n_columns": "max"}
    )
    sizes = sizes.rename(columns={"n_train": "rows", "n_columns": "columns"})
    return sizes.astype({"rows": float, "columns": float}).to_dict("index")
