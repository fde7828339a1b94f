"""Fitted models on the screen: columns as a table, training as sentences."""

import math
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from sklearn.base import is_classifier

from modernnca.table.metrics import describe_score

_BASELINES = {"knn": "plain k-NN", "constant": "a constant"}
_ENDINGS = {
    "patience": "no better score since then",
    "max_epochs": "max_epochs reached",
    "time_limit": "time limit",
    "interrupted": "interrupted",
    "diverged": "the loss diverged",
}


def show(table: Table) -> None:
    """Print a table, as wide as the terminal allows."""
    # Names of columns are text, never markup.
    Console(markup=False, emoji=False, highlight=False).print(table)


def new_table(*names: str) -> Table:
    """An empty table with these headings."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in names:
        table.add_column(name)
    return table


def printable(text: object) -> str:
    """Escape control characters, which a terminal would obey.

    >>> printable("a\\x1b[31m"), printable("é b")
    ('a\\\\x1b[31m', 'é b')
    """
    return "".join(
        char if char.isprintable() else ascii(char)[1:-1] for char in str(text)
    )


def columns_table(columns: list[dict[str, Any]]) -> Table:
    """The columns and their treatment; see `Preprocessor.describe`."""
    table = new_table("column", "kind", "treatment", "distinct", "missing")
    for place in (3, 4):
        table.columns[place].justify = "right"
    for column in columns:
        share = column["share_missing"]
        table.add_row(
            printable(column["name"]),
            column["kind"],
            column["treatment"],
            f"{column['n_distinct']:,}",
            f"{share:.1%}" if share else "",
        )
    return table


def describe_training(model: Any) -> list[str]:
    """How the training of each network went, a line each, and the final model."""
    metric, lines = model.config_.eval_metric or "score", []
    for member, best in enumerate(model.best_epochs_):
        epochs = [epoch for epoch in model.history_ if epoch.member == member]
        end = _ENDINGS.get(model.ended_[member], model.ended_[member])
        head = f"network {member + 1}: " if len(model.best_epochs_) > 1 else ""
        score = epochs[best - 1].score if best else math.nan
        text = f"{len(epochs)} epoch{'s' * (len(epochs) != 1)}"
        if not math.isnan(score):
            told = describe_score(metric, score)
            text = f"validation {told} at epoch {best} of {len(epochs)}"
        lines.append(f"{head}{text} ({end})")
    if model.baseline_ is not None:
        name = _BASELINES[model.baseline_]
        lines.append(
            f"the trained model is no better than a baseline, {name}, which is used "
            "instead"
        )
    else:
        weights = zip(model.members_, model.member_weights_, strict=True)
        share = sum(weight for member, weight in weights if member.auxiliary)
        if share:
            lines.append(f"a forest has {share:.0%} of the vote")
    if model.validation_score_ is not None:
        score = describe_score(metric, model.validation_score_)
        lines.append(f"the final model has a validation {score}")
    if model.expected_score_ is not None:
        value, error, n_rows = model.expected_score_
        name = "accuracy" if is_classifier(model) else "R²"
        lines.append(
            f"expected {name} {value:.2f} ± {error:.2f} (one standard error, from "
            f"{n_rows:,} held-out rows)"
        )
    if model.fit_report_.left_out:
        missing = ", ".join(model.fit_report_.left_out)
        lines.append(f"there was no time for {missing}")
    return lines
