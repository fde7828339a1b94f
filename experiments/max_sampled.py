"""Among how many sampled rows should a vote be learned: at most 4,096, or 12,288?

    python experiments/max_sampled.py run --data DIR [--tables a,b] [--seeds 3]
    python experiments/max_sampled.py report
    python experiments/max_sampled.py --quick

The preset "default" with either limit, on tables large enough to reach the smaller one.
max_sampled.md has the results.
"""

from collections.abc import Iterator

import pandas as pd

from common import Scores, Table, main, report_change

BASE, AFTER = "at most 4,096", "at most 12,288"
LIMITS = {BASE: 4096, AFTER: 12_288}
_LARGE = 10_240  # rows: half of the training rows are then 4,096


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """Both limits."""
    if len(table.dataset.y) <= _LARGE and not table.limits:
        return
    for label, most in LIMITS.items():
        if label not in table.done:
            yield label, table.try_fit(preset="default", max_sampled=most)[1]


def report(records: pd.DataFrame) -> None:
    """Print what the larger limit gives, and how much longer a fit takes."""
    report_change(records, AFTER, BASE)


if __name__ == "__main__":
    main(__doc__, __file__, trials, report)
