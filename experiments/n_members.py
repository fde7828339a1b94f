"""How many members: the four of the default once, twice, or with deeper ones?

    python experiments/n_members.py run --data DIR [--tables a,b] [--seeds 2]
    python experiments/n_members.py report
    python experiments/n_members.py --quick

Twelve members are fitted: the first four of the default twice, and four of which all
but the first have more blocks. Sets of them are then compared. n_members.md has the
results.
"""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from common import Scores, Table, main, ratios
from modernnca import Member, NetworkMember
from modernnca.ensemble.mixture import mixed_networks

FOUR = mixed_networks()[:4]
DEEP = (
    FOUR[0],
    NetworkMember(numeric_transform="quantile", depth=2),
    NetworkMember(numeric_transform="squashed", depth=2),
    NetworkMember(depth=3),
)
FIRST, SECOND, THIRD = range(4), range(4, 8), range(8, 12)
BASE = "once"
SETS = {
    BASE: FIRST,
    "twice": [*FIRST, *SECOND],
    "once, and once deep": [*FIRST, *THIRD],
    "twice, and once deep": [*FIRST, *SECOND, *THIRD],
    "once, all deep": THIRD,
}


def try_sets(
    table: Table, members: Sequence[Member], sets: Mapping[str, Sequence[int]]
) -> Iterator[tuple[str, Scores]]:
    """Fit all members, and score each set of them."""
    if table.done:
        return
    votes = table.member_votes(members, preset="default")
    if votes is None:
        return
    for label, chosen in sets.items():
        yield label, votes.of(chosen).scores()


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """Each set of members."""
    return try_sets(table, [*FOUR, *FOUR, *DEEP], SETS)


def report(records: pd.DataFrame) -> None:
    """Print what each set gives."""
    bases = {label: BASE for label in SETS if label != BASE}
    print(ratios(records, bases, title="over the four once"))


if __name__ == "__main__":
    main(__doc__, __file__, trials, report)
