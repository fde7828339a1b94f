"""Read a table of OpenML by its number, with OpenML's own client and its cache."""

import pandas as pd

from modernnca.errors import MissingExtraError, TableError
from modernnca.lab.bench.dataset import (
    Dataset,
    guess_task,
    target_values,
    with_categories,
)


def read_openml(number: str) -> Dataset:
    """Read the table of this number with its default target."""
    if not number.isdecimal():
        raise TableError(
            f"'openml:{number}' is not a number of OpenML; write 'openml:31', say."
        )
    try:
        import openml
    except ImportError as error:
        raise MissingExtraError(
            "Tables of OpenML need the openml package; "
            'run: pip install "modernnca[openml]"'
        ) from error
    shown = f"OpenML's table {number}"
    cache = str(openml.config.get_cache_directory())
    try:
        table = openml.datasets.get_dataset(
            int(number),
            download_data=True,
            download_qualities=False,
            download_features_meta_data=False,
        )
        target = table.default_target_attribute
        frame = pd.DataFrame(table.get_data()[0]).reset_index(drop=True)
    except openml.exceptions.PyOpenMLError as error:
        raise TableError(
            f"OpenML does not give its table {number}: {error}; name another number."
        ) from error
    except OSError as error:  # the client lets through what requests raises
        raise TableError(
            f"{shown} is not in the cache {cache!r}, and OpenML cannot be reached; "
            "go on-line once, or name a table on disk."
        ) from error
    frame = frame.rename(columns=str)
    if target not in frame.columns:  # none, or several
        raise TableError(
            f"{shown} has the default target {target!r}, which is not one column; save "
            "it as CSV and name the target."
        )
    y = frame.pop(target)
    task = guess_task(y)
    return Dataset(
        name=f"openml:{number}",
        task=task,
        X=with_categories(frame),
        y=target_values(y, task=task, source=shown),
        info={"name": table.name, "task": task, "target": target, "source": shown},
    )
