"""A demo: scores on two real tables, compared with k-NN and gradient boosting."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow as pa
import typer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from modernnca import ModernNCAClassifier, ModernNCARegressor
from modernnca.cli.display import new_table, show
from modernnca.cli.paths import writing
from modernnca.cli.table_files import write_table

_TEST_SHARE = 0.25


class Trial(NamedTuple):
    """A table of scikit-learn, and the estimators to compare on it."""

    name: str
    load: Callable[[], Any]
    target: str
    score: str  # what the estimators' `score` is
    ours: type
    neighbors: type
    boosting: type


TRIALS = (
    Trial(
        "breast_cancer",
        load_breast_cancer,
        "diagnosis",
        "accuracy",
        ModernNCAClassifier,
        KNeighborsClassifier,
        HistGradientBoostingClassifier,
    ),
    Trial(
        "diabetes",
        load_diabetes,
        "progression",
        "r2",
        ModernNCARegressor,
        KNeighborsRegressor,
        HistGradientBoostingRegressor,
    ),
)


class Outcome(NamedTuple):
    """The test scores; higher is better."""

    ours: float
    neighbors: float
    boosting: float


def demo(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="Default: a new folder.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Of the splits and the training.")
    ] = 0,
) -> None:
    """Try it on two small tables, compared with k-NN and gradient boosting."""
    folder = Path(tempfile.mkdtemp(prefix="modernnca-")) if out is None else out
    if folder.is_file():
        raise NotADirectoryError(
            f"{str(folder)!r} is a file; name a folder with --out."
        )
    folder.mkdir(parents=True, exist_ok=True)
    table = new_table("table", "rows", "score", "ModernNCA", "k-NN", "boosting")
    for trial in TRIALS:
        typer.echo(f"Fitting {trial.name} ...", err=True)
        n_rows, outcome = run_trial(trial, folder, seed=seed)
        scores = [f"{score:.3f}" for score in outcome]
        table.add_row(trial.name, f"{n_rows:,}", trial.score, *scores)
    show(table)
    first = folder / TRIALS[0].name
    typer.echo("Test scores on a quarter of the rows; all with default settings.")
    typer.echo(f"The models, and the test rows as .csv, are in {folder}. Next, try:")
    typer.echo(f"  modernnca predict {first}.mnca {first}.csv --neighbors 3")


def run_trial(trial: Trial, folder: Path, *, seed: int) -> tuple[int, Outcome]:
    """Fit all three to the same rows; save our model, and the test rows."""
    bunch = trial.load()
    y = labels_of(bunch)
    X_train, X_test, y_train, y_test = train_test_split(
        bunch.data,
        y,
        test_size=_TEST_SHARE,
        random_state=seed,
        stratify=y if hasattr(bunch, "target_names") else None,
    )

    def named(x: np.ndarray) -> pa.Table:
        return pa.table(dict(zip(map(str, bunch.feature_names), x.T, strict=True)))

    ours = trial.ours(random_state=seed, verbose=1).fit(named(X_train), y_train)
    neighbors = make_pipeline(StandardScaler(), trial.neighbors()).fit(X_train, y_train)
    boosting = trial.boosting(random_state=seed).fit(X_train, y_train)
    out = folder / f"{trial.name}.mnca"
    with writing(out):
        ours.save(out)
    test = named(X_test).append_column(trial.target, pa.array(y_test))
    write_table(test, folder / f"{trial.name}.csv")
    return len(y), Outcome(
        ours.score(named(X_test), y_test),
        neighbors.score(X_test, y_test),
        boosting.score(X_test, y_test),
    )


def labels_of(bunch: Any) -> np.ndarray:
    """Class names, or numbers as they are."""
    if not hasattr(bunch, "target_names"):
        return bunch.target
    return bunch.target_names[bunch.target]
