"""Describe a saved model."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from sklearn.base import is_classifier

from modernnca import load
from modernnca._tree_file import read_tree
from modernnca.cli.display import columns_table, describe_training, printable, show
from modernnca.cli.paths import check_input
from modernnca.table.column_warnings import in_short

_N_CLASSES_NAMED = 20


def info(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A file saved by fit.")
    ],
) -> None:
    """Describe a saved model and how it was fitted."""
    check_input(model)
    fitted = load(model, device="cpu")
    written_by = read_tree(model)
    facts = {
        "estimator": type(fitted).__name__,
        "written by": f"modernnca {written_by['version']}, torch {written_by['torch']}",
        "target": describe_target(fitted),
        "remembers": describe_memory(fitted),
        "training": "\n".join(describe_training(fitted)),
        "arguments": describe_arguments(fitted),
        "preset": fitted.preset_,
        "config": as_pairs(fitted.config_.given()),
    }
    show(_facts_table(facts))
    show(columns_table(fitted.preparation_.preprocessor.describe()))


def describe_target(model: Any) -> str:
    """The classes, or the distribution of the numbers."""
    if is_classifier(model):
        classes = [printable(label) for label in model.classes_.tolist()]
        return f"{len(classes):,} classes: {in_short(classes, n=_N_CLASSES_NAMED)}"
    target = model.preparation_.target
    return f"numbers, mean {target.mean_:.6g}, standard deviation {target.scale_:.6g}"


def describe_memory(model: Any) -> str:
    """How many rows vote, and whether the raw rows are in the file."""
    rows = model.rows_
    raw = "with the raw rows" if rows.table.columns else "without the raw rows"
    return f"{len(rows.index):,} rows, {raw}"


def describe_arguments(model: Any) -> str:
    """The arguments that differ from the defaults."""
    defaults = type(model)().get_params(deep=False)
    given = model.get_params(deep=False).items()
    chosen = {name: value for name, value in given if value != defaults[name]}
    chosen.pop("verbose", None)  # it does not change the model
    return as_pairs(chosen)


def as_pairs(values: dict[str, Any]) -> str:
    """Values by name.

    >>> as_pairs({"dim": 64, "loss": "log"})
    'dim=64, loss=log'
    """
    return printable(", ".join(f"{name}={value}" for name, value in values.items()))


def _facts_table(facts: dict[str, str]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, text in facts.items():
        table.add_row(name, text)
    return table
