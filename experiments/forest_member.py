"""Does a forest as a member help where rows are few, beside eight networks?

    python experiments/forest_member.py run --data DIR [--tables a,b] [--seeds 2]
        [--rows 1000]
    python experiments/forest_member.py report [--rows 1000]
    python experiments/forest_member.py --quick

The networks of the preset "best" are judged alone, with a forest as a ninth member, and
with a member that only knows how frequent the classes are. With --rows there are only
so many rows to learn from and to validate by, and the records are in
forest_member_N.csv. forest_member.md has the results.
"""

from collections.abc import Iterator

import pandas as pd

from common import Scores, Table, main, ratios
from modernnca import ConstantMember, ForestMember
from modernnca.ensemble.mixture import mixed_networks

BASE = "networks"
SETS = {
    BASE: range(8),
    "with a forest": range(9),
    "with class frequencies": [*range(8), 9],
}
_FEW_ROWS = 3000


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """Networks alone, and with a ninth member."""
    many = len(table.parts[0][1]) >= _FEW_ROWS
    if table.done or table.regression or many:
        return
    members = [*mixed_networks(), ForestMember(), ConstantMember()]
    votes = table.member_votes(members, preset="best")
    if votes is None:
        return
    for label, chosen in SETS.items():
        yield label, votes.of(chosen).scores()


def report(records: pd.DataFrame) -> None:
    """Print what the ninth member gives."""
    bases = {label: BASE for label in SETS if label != BASE}
    print(ratios(records, bases, title="over the eight networks"))


if __name__ == "__main__":
    words = {
        "and a forest": "with a forest",
        "and the classes' shares": "with class frequencies",
    }
    main(__doc__, __file__, trials, report, records={"words": words})
