"""Which networks should join the first four: the same again, or others?

    python experiments/mixture.py run --data DIR [--tables a,b] [--seeds 2]
    python experiments/mixture.py report
    python experiments/mixture.py --quick

Fourteen members are fitted: the first four of the default twice, and six others. Sets
of them are then compared. mixture.md has the results.
"""

from collections.abc import Iterator

import pandas as pd

from common import Scores, Table, main, ratios
from modernnca import NetworkMember
from n_members import FOUR, try_sets

_NO_BLOCK = {"n_blocks": 0, "weight_averaging": 0.0}
_HIGH = {"frequency_scale": 0.2}
OTHERS = {
    "no block, quantile": NetworkMember(**_NO_BLOCK, numeric_transform="quantile"),
    "quantile, high frequencies": NetworkMember(**_HIGH, numeric_transform="quantile"),
    "PLE": NetworkMember(encoding="ple"),
    "no block, high frequencies": NetworkMember(**_NO_BLOCK, **_HIGH),
    "quantile, deep": NetworkMember(numeric_transform="quantile", depth=2),
    "quantile": NetworkMember(numeric_transform="quantile"),
}
ONCE, TWICE, SIX = [*range(4)], [*range(8)], [*range(8, 14)]
CLOSER = [8, 9, 11]  # no block and quantile; the two of high frequencies
CHOSEN = (
    "once; no block, quantile; quantile, high frequencies; "
    "no block, high frequencies; deep"
)
BASE = "twice"
SETS = {
    BASE: TWICE,
    "once": ONCE,
    **{f"twice; {name}": [*TWICE, 8 + i] for i, name in enumerate(OTHERS)},
    "once; the six": [*ONCE, *SIX],
    "twice; the six": [*TWICE, *SIX],
    CHOSEN: [*ONCE, *CLOSER, 7],
    "the same; quantile": [*ONCE, *CLOSER, 7, 13],
    "the same; quantile; squashed": [*ONCE, *CLOSER, 7, 5, 6],
    "once; quantile; deep; quantile, high frequencies; no block, high frequencies": [
        *(*ONCE, 5, 7, 9, 11),
    ],
}


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """Each set of members."""
    return try_sets(table, [*FOUR, *FOUR, *OTHERS.values()], SETS)


def report(records: pd.DataFrame) -> None:
    """Print what each set gives."""
    bases = {label: BASE for label in SETS if label != BASE}
    print(ratios(records, bases, title="over the four twice"))


if __name__ == "__main__":
    words = {"words": {"fine": "high frequencies"}}
    main(__doc__, __file__, trials, report, records=words)
