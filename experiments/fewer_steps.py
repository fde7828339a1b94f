"""Do small tables need all their steps?

    python experiments/fewer_steps.py run --data DIR --rows 1000 [--seeds 2]
    python experiments/fewer_steps.py report --rows 1000
    python experiments/fewer_steps.py --quick

The preset "default" with eight batches an epoch, five or four, and with two thirds of
the epochs. fewer_steps.md has the results.
"""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from common import Scores, Table, main, report_change

BASE, FEWER = "8 batches", "8 batches, 2/3 of the epochs"
LEAST = "8 batches, half of the epochs"
FIVE, FOUR = "5 batches", "4 batches"
BOTH, HALF = "5 batches, 2/3 of the epochs", "5 batches, half of the epochs"
_EPOCHS = {True: 60, False: 40}  # in regression, in classification
_MAX_BATCH = 256


def configs(table: Table) -> dict[str, dict[str, Any]]:
    """The options of each way, for so many rows."""
    n_rows, n_epochs = len(table.parts[0][1]), _EPOCHS[table.regression]
    eighth, fifth, fourth = (
        {"batch_size": min(n_rows // n, _MAX_BATCH)} for n in (8, 5, 4)
    )
    most, fewer, half = (
        {"max_epochs": n} for n in (n_epochs, n_epochs * 2 // 3, n_epochs // 2)
    )
    return {
        BASE: {**eighth, **most},
        FEWER: {**eighth, **fewer},
        LEAST: {**eighth, **half},
        FIVE: {**fifth, **most},
        FOUR: {**fourth, **most},
        BOTH: {**fifth, **fewer},
        HALF: {**fifth, **half},
    }


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """Each number of steps."""
    for label, config in configs(table).items():
        if label not in table.done:
            yield (
                label,
                table.try_fit(preset="default", **{**config, **table.limits})[1],
            )


def report(records: pd.DataFrame) -> None:
    """Print what fewer steps cost in accuracy, and save in time."""
    for label in (FEWER, LEAST, FIVE, FOUR, BOTH, HALF):
        if label in set(records["label"]):
            some = records[records["label"].isin([BASE, label])]
            n_labels = some.groupby(["dataset", "seed"])["label"].transform("size")
            report_change(some[n_labels == 2], label, BASE)
            print()


if __name__ == "__main__":
    main(__doc__, __file__, trials, report)
