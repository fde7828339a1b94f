"""What does each ingredient of the defaults give? One network each, on many tables.

    python experiments/ingredients.py run --data DIR [--tables a,b]
    python experiments/ingredients.py report
    python experiments/ingredients.py --quick

Each configuration is one network with a few changes; "slim" is a block of 256, batches
of 512, learning rate 0.003, weights averaged over 2 epochs. The means of several
networks are recorded beside them. ingredients.md has the results.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from common import Scores, Table, main, ratios

_ONE = {
    "preset": "default",
    "n_members": 1,
    "diversity": "alike",
    "max_sampled": 4096,
    "clip_to_range": False,
    "column_scales": "none",
    "finetune": 0.0,
}
# All are compared with this one, an early default.
_BLOCK = {
    **_ONE,
    "d_block": 512,
    "learning_rate": 0.002,
    "batch_size": 256,
    "weight_averaging": 0.0,
}
NO_BLOCK = {**_BLOCK, "n_blocks": 0, "learning_rate": 0.003}
SLIM = {
    **_ONE,
    "d_block": 256,
    "learning_rate": 0.003,
    "batch_size": 512,
    "weight_averaging": 2.0,
}
QUANTILE = {"numeric_transform": "quantile", "column_scales": "learned"}
SQUASHED = {"numeric_transform": "squashed", "column_scales": "learned"}
_AVERAGED = {**_BLOCK, "weight_averaging": 2.0, "learning_rate": 0.004}
CONFIGS = {
    "block": _BLOCK,
    "1,024 sampled": {**_BLOCK, "max_sampled": 1024},
    "no block": NO_BLOCK,
    "two blocks": {**_BLOCK, "n_blocks": 2},
    "quantile": {**_BLOCK, **QUANTILE},
    "squashed": {**_BLOCK, **SQUASHED},
    "block of 256": {**_BLOCK, "d_block": 256},
    "averaged over 1 epoch": {**_BLOCK, "weight_averaging": 1.0},
    "averaged over 4 epochs": {**_BLOCK, "weight_averaging": 4.0},
    "averaged over 2, rate 0.004": _AVERAGED,
    "averaged over 2, rate 0.003, batches of 512": {**SLIM, "d_block": 512},
    "no block, averaged over 2": {**NO_BLOCK, "weight_averaging": 2.0},
    "no block, refit on all rows": {**NO_BLOCK, "refit": "full"},
    "slim": SLIM,
    "slim, quantile": {**SLIM, **QUANTILE},
    "slim, squashed": {**SLIM, **SQUASHED},
    "slim, refit on all rows": {**SLIM, "refit": "full"},
}
MEANS = {
    "block + no block": ("block", "no block"),
    "block: standard, quantile, squashed": ("block", "quantile", "squashed"),
    "no block; quantile and squashed with one": ("no block", "quantile", "squashed"),
    "no block, block, quantile, squashed": (
        *("no block", "block", "quantile", "squashed"),
    ),
    "the same, slim": ("no block", "slim", "slim, quantile", "slim, squashed"),
}


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """Each network alone, then means of several."""
    if table.done:
        return
    predictions = {}
    for label, config in CONFIGS.items():
        predictions[label], scores = table.try_fit(**config)
        yield label, scores
    for label, members in MEANS.items():
        mean = np.mean([predictions[member] for member in members], axis=0)
        yield label, table.score(mean)


def report(records: pd.DataFrame) -> None:
    """Print what each change gives."""
    for title, labels in (("one network", CONFIGS), ("means of networks", MEANS)):
        bases = {label: "block" for label in labels if label != "block"}
        print(ratios(records, bases, title=f"{title}, over one with a block"), "\n")


if __name__ == "__main__":
    main(__doc__, __file__, trials, report)
