"""Can steps be smaller: fewer sampled rows in fine-tuning, and narrower blocks?

    python experiments/smaller_steps.py run --data DIR [--tables a,b] [--seeds 3]
    python experiments/smaller_steps.py report
    python experiments/smaller_steps.py --quick

The preset "default" with 1,024 sampled rows in fine-tuning, with 256, and with 256 and
blocks of 128 instead of 256. smaller_steps.md has the results.
"""

from collections.abc import Iterator

import pandas as pd

from common import Scores, Table, main, report_change

BEFORE, FEWER, NARROWER = "1,024 rows", "256 rows", "256 rows, blocks of 128"
CONFIGS = {
    BEFORE: {"d_block": 256, "finetune_max_sampled": 1024},
    FEWER: {"d_block": 256, "finetune_max_sampled": 256},
    NARROWER: {"d_block": 128, "finetune_max_sampled": 256},
}


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """Steps of each size."""
    for label, config in CONFIGS.items():
        if label not in table.done:
            yield label, table.try_fit(preset="default", **config)[1]


def report(records: pd.DataFrame) -> None:
    """Print what smaller steps cost in accuracy, and save in time."""
    for label in (FEWER, NARROWER):
        both = records["label"].isin([BEFORE, label])
        n_labels = records[both].groupby(["dataset", "seed"])["label"].transform("size")
        report_change(records[both][n_labels == 2], label, BEFORE)
        print()
    dense = records["dataset"].isin(["electricity", "kropt"])
    if not dense.any():
        return
    print(f"Where rows lie dense, errors with {BEFORE}, {FEWER}, and {NARROWER}:\n")
    errors = records[dense].pivot_table(
        index=["dataset", "seed"], columns="label", values="error", aggfunc="mean"
    )
    for (dataset, seed), row in errors[list(CONFIGS)].iterrows():
        cells = ["not run" if pd.isna(value) else f"{value:.4f}" for value in row]
        print(f"- {dataset}, seed {seed}: {', '.join(cells)}")


if __name__ == "__main__":
    main(__doc__, __file__, trials, report)
