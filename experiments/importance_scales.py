"""Where should the scales of columns begin: at 1, or at a forest's importances?

    python experiments/importance_scales.py run --data DIR [--tables a,b] [--seeds 2]
    python experiments/importance_scales.py report
    python experiments/importance_scales.py --quick

The four networks of the default, each fitted alone and with plain means: with scales as
before (none, or learned from 1), and with scales that begin at the importances of a
forest. importance_scales.md has the results.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from common import Scores, Table, main, ratios
from other_networks import FOUR
from other_networks import TABLES as CLASSIFICATION

REGRESSION = (
    *("us_crime", "wine+quality", "Bias_correction_r", "cpu_act", "kin8nm"),
    *("delta_elevators", "Brazilian_houses_reproduced", "MiamiHousing2016"),
)
_MEAN = "mean of the four"


def scaled(name: str) -> str:
    """The label of a network with scales from importances."""
    return f"{name}, importance"


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """Each network, then the mean of the four, without and with the forest."""
    if table.done:
        return
    for suffix, changes in ((str, {}), (scaled, {"column_scales": "importance"})):
        predictions = []
        for name, config in FOUR.items():
            prediction, scores = table.try_fit(**{**config, **changes})
            predictions.append(prediction)
            yield suffix(name), scores
        yield suffix(_MEAN), table.score(np.mean(predictions, axis=0))


def report(records: pd.DataFrame) -> None:
    """Print what the forest gives."""
    bases = {scaled(name): name for name in (*FOUR, _MEAN)}
    print(ratios(records, bases, title="over the same without", by=["dataset"]))


if __name__ == "__main__":
    tables = (*CLASSIFICATION, *REGRESSION)
    words = {"words": {"forest": "importance"}}
    main(__doc__, __file__, trials, report, records=words, tables=tables)
