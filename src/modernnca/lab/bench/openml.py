"""Read an OpenML dataset by its ID, with OpenML's client and its cache."""

import pandas as pd

from modernnca.errors import MissingExtraError, TableError
from modernnca.lab.bench.dataset import (
    Dataset,
    guess_task,
    target_values,
    with_categories,
)


def read_openml(openml_id: str) -> Dataset:
    """Read the OpenML dataset with this ID and its default target."""
    if not openml_id.isdecimal():
        raise TableError(
            f"'openml:{openml_id}' has no numeric OpenML ID; write, for example, "
            "'openml:31'."
        )
    try:
        import openml
    except ImportError as error:
        raise MissingExtraError(
            'OpenML datasets need the openml package: pip install "modernnca[openml]"'
        ) from error
    shown = f"The OpenML dataset {openml_id}"
    cache = str(openml.config.get_cache_directory())
    try:
        table = openml.datasets.get_dataset(
            int(openml_id),
            download_data=True,
            download_qualities=False,
            download_features_meta_data=False,
        )
        target = table.default_target_attribute
        frame = pd.DataFrame(table.get_data()[0]).reset_index(drop=True)
    except openml.exceptions.PyOpenMLError as error:
        raise TableError(
            f"OpenML refused the dataset {openml_id}: {error}; choose another ID."
        ) from error
    except OSError as error:  # the client passes on errors of requests
        raise TableError(
            f"{shown} is not in the cache {cache!r}, and OpenML cannot be reached; "
            "go online once, or choose a dataset on disk."
        ) from error
    frame = frame.rename(columns=str)
    if target not in frame.columns:  # none, or several
        raise TableError(
            f"{shown} has the default target {target!r}, which is not a single column; "
            "save it as CSV and name the target."
        )
    y = frame.pop(target)
    task = guess_task(y)
    return Dataset(
        name=f"openml:{openml_id}",
        task=task,
        X=with_categories(frame),
        y=target_values(y, task=task, source=shown),
        info={"name": table.name, "task": task, "target": target, "source": shown},
    )
