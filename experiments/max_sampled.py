"""Among how many sampled rows should a vote be learned: at most 4,096, or 12,288?

    python experiments/max_sampled.py run --data DIR [--tables a,b] [--seeds 3]
    python experiments/max_sampled.py report
    python experiments/max_sampled.py --quick

The preset "default" with either limit, on tables large enough to reach the smaller one.
max_sampled.md has the results.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from common import Scores, Table, main, ratios

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
    columns = ["error", "log_loss", "fit_seconds"]
    records = records.astype(dict.fromkeys(columns, float))
    means = records.groupby(["dataset", "label"], as_index=False)[columns].mean()
    means["seed"] = 0
    print(ratios(means, {AFTER: BASE}, title=f"over {BASE}"))
    seconds = means.pivot_table(index="dataset", columns="label", values=columns[-1])
    longer = np.exp(np.log(seconds[AFTER] / seconds[BASE]).mean())
    print(f"\nA fit takes {longer:.2f} times as long.")


if __name__ == "__main__":
    main(__doc__, __file__, trials, report)
