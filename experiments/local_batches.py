"""Should batches be made of rows that are near each other?

    python experiments/local_batches.py run --data DIR [--tables a,b] [--seeds 3]
    python experiments/local_batches.py report
    python experiments/local_batches.py --quick

The preset "default" with batches of random rows and with batches of leaves.
local_batches.md has the results.
"""

from collections.abc import Iterator

import pandas as pd

from common import Scores, Table, main, report_change

BASE, AFTER = "random batches", "leaves of 64"
LEAF_SIZES = {BASE: 0, AFTER: 64}


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """Both kinds of batches."""
    for label, leaf_size in LEAF_SIZES.items():
        if label not in table.done:
            yield label, table.try_fit(preset="default", leaf_size=leaf_size)[1]


def report(records: pd.DataFrame) -> None:
    """Print what leaves give, and how much longer a fit takes."""
    report_change(records, AFTER, BASE)


if __name__ == "__main__":
    main(__doc__, __file__, trials, report)
