"""Can steps be smaller: narrower blocks, and fewer sampled rows in fine-tuning?

    python experiments/smaller_steps.py run --data DIR [--tables a,b] [--seeds 3]
    python experiments/smaller_steps.py report
    python experiments/smaller_steps.py --quick

The preset "default" with what it had before, and with half of it or less.
smaller_steps.md has the results.
"""

from collections.abc import Iterator

import pandas as pd

from common import Scores, Table, main, report_change

BASE, AFTER = "blocks of 256, 1,024 rows", "blocks of 128, 256 rows"
CONFIGS = {
    BASE: {"d_block": 256, "finetune_max_sampled": 1024},
    AFTER: {"d_block": 128, "finetune_max_sampled": 256},
}


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """Steps of both sizes."""
    for label, config in CONFIGS.items():
        if label not in table.done:
            yield label, table.try_fit(preset="default", **config)[1]


def report(records: pd.DataFrame) -> None:
    """Print what smaller steps cost in accuracy, and save in time."""
    report_change(records, AFTER, BASE)


if __name__ == "__main__":
    main(__doc__, __file__, trials, report)
