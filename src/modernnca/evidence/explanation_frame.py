"""An explanation as a pandas frame: a line for each query and neighbor."""

from typing import Any

import numpy as np

from modernnca.evidence.explanation import Explanation

_OWN = ("query", "prediction", "neighbor", "share", "distance", "target")


def frame_of(explanation: Explanation) -> Any:
    """The neighbors of each query, with their raw values and the parts of distances.

    Rows that are masked for a query, which have no share, are left out. A column of
    the table that is named like one of the frame's own gets an underscore.
    """
    import pandas as pd

    n_queries, n_neighbors = explanation.indices.shape
    cells = explanation.values(explanation.indices)
    columns: dict[str, np.ndarray] = {
        "query": np.repeat(np.arange(n_queries), n_neighbors),
        "prediction": np.repeat(explanation.prediction, n_neighbors),
        "neighbor": explanation.indices.ravel(),
        "share": explanation.shares.ravel(),
        "distance": explanation.distances.ravel(),
        "target": explanation.targets.ravel(),
    }
    for name, own in cells.items():
        columns[f"{name}_" if name in _OWN else name] = own.ravel()
    for place, name in enumerate(explanation.column_names):
        columns[f"{name} (part)"] = explanation.columns[..., place].ravel()
    frame = pd.DataFrame(columns)
    return frame[np.isfinite(frame["distance"])].reset_index(drop=True)
