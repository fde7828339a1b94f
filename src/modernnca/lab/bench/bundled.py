"""The datasets that come with scikit-learn, which need no data folder."""

from collections.abc import Callable
from typing import Any

from sklearn import datasets

from modernnca._named import named
from modernnca.lab.bench.dataset import Dataset, target_values

BUNDLED: dict[str, tuple[str, Callable[..., Any]]] = {
    "breast_cancer": ("binclass", datasets.load_breast_cancer),
    "diabetes": ("regression", datasets.load_diabetes),
    "digits": ("multiclass", datasets.load_digits),
    "iris": ("multiclass", datasets.load_iris),
    "wine": ("multiclass", datasets.load_wine),
}


def read_bundled(name: str) -> Dataset:
    """Read one of the datasets in BUNDLED.

    >>> read_bundled("iris").X.shape
    (150, 4)
    """
    task, load = named("built-in dataset", name, BUNDLED)
    table = load(as_frame=True)
    return Dataset(
        name=f"builtin:{name}",
        task=task,
        X=table.data,
        y=target_values(table.target, task=task, source=name),
        info={"name": name, "task": task, "source": "scikit-learn"},
    )
