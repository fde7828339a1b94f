"""Say what a saved model is."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from sklearn.base import is_classifier

from modernnca import load
from modernnca.cli.paths import check_input
from modernnca.cli.screen import columns_table, printable, show, training_in_words
from modernnca.cli.tables import in_short
from modernnca.estimators.files import read_tree

_N_CLASSES_NAMED = 20


def info(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A file saved by fit.")
    ],
) -> None:
    """Say what a saved model is, and how it was learned."""
    check_input(model)
    learned = load(model, device="cpu")
    written_by = read_tree(model)
    facts = {
        "estimator": type(learned).__name__,
        "written by": f"modernnca {written_by['version']}, torch {written_by['torch']}",
        "target": target_in_words(learned),
        "remembers": memory_in_words(learned),
        "training": "\n".join(training_in_words(learned)),
        "arguments": arguments_in_words(learned),
        "settings": in_pairs(asdict(learned.settings_)),
    }
    show(_facts_table(facts))
    show(columns_table(learned.table_.describe()))


def target_in_words(model: Any) -> str:
    """Name the classes, or say where the numbers lie."""
    if is_classifier(model):
        classes = [printable(label) for label in model.classes_.tolist()]
        return f"{len(classes):,} classes: {in_short(classes, n=_N_CLASSES_NAMED)}"
    target = model.target_
    return f"numbers of mean {target.mean_:.6g} and deviation {target.scale_:.6g}"


def memory_in_words(model: Any) -> str:
    """Say how many rows answer, and whether they can be read."""
    part = model.remembered_
    inside = "with the raw rows" if part.table.columns else "without the raw rows"
    return f"{len(part.origin):,} rows, {inside}"


def arguments_in_words(model: Any) -> str:
    """List what the user chose, where it differs from the defaults."""
    defaults = type(model)().get_params(deep=False)
    given = model.get_params(deep=False).items()
    chosen = {name: value for name, value in given if value != defaults[name]}
    chosen.pop("verbose", None)  # it has no part in what was learned
    return in_pairs(chosen)


def in_pairs(values: dict[str, Any]) -> str:
    """List values by name.

    >>> in_pairs({"dim": 64, "loss": "log"})
    'dim=64, loss=log'
    """
    return printable(", ".join(f"{name}={value}" for name, value in values.items()))


def _facts_table(facts: dict[str, str]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, said in facts.items():
        table.add_row(name, said)
    return table
