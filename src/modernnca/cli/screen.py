"""What a fitted model looks like on the screen."""

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from modernnca.table.metrics import in_words

_FALLBACKS = {"knn": "plain k-NN", "constant": "a constant"}
_ENDINGS = {
    "patience": "no better score since",
    "max_epochs": "max_epochs was reached",
    "time_limit": "the time was up",
    "interrupted": "stopped by Ctrl-C",
    "diverged": "the loss was no longer finite",
}


def show(table: Table) -> None:
    """Print a table as wide as the terminal allows."""
    # Names of columns are text, never markup.
    Console(markup=False, emoji=False, highlight=False).print(table)


def new_table(*names: str) -> Table:
    """Give an empty table with these headings."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in names:
        table.add_column(name)
    return table


def printable(text: object) -> str:
    """Escape what a terminal would obey instead of show.

    >>> printable("a\\x1b[31m"), printable("é b")
    ('a\\\\x1b[31m', 'é b')
    """
    return "".join(
        char if char.isprintable() else ascii(char)[1:-1] for char in str(text)
    )


def columns_table(columns: list[dict[str, Any]]) -> Table:
    """Lay out what was understood of each column; see `TableEncoder.describe`."""
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


def training_in_words(model: Any) -> list[str]:
    """Say how the training of each network went, a line each, and who else answers."""
    metric, lines = model.settings_.stopping_metric, []
    for member, best in enumerate(model.best_epochs_):
        epochs = [epoch for epoch in model.history_ if epoch.member == member]
        end = _ENDINGS.get(model.ended_[member], model.ended_[member])
        head = f"network {member + 1}: " if len(model.best_epochs_) > 1 else ""
        said = "no epoch was judged"
        if best:
            score = in_words(metric, epochs[best - 1].score)
            said = f"validation {score} at epoch {best} of {len(epochs)}"
        lines.append(f"{head}{said} ({end})")
    if model.fallback_ is not None:
        lines.append(f"{_FALLBACKS[model.fallback_]} did better, and answers instead")
    elif len(model.members_) > len(model.best_epochs_):
        share = model.member_weights_[-1]
        lines.append(f"the leaves of a forest answer too: {share:.0%} of the vote")
    return lines
