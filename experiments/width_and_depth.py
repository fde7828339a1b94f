"""How wide and deep should members be: blocks of 256, of 512, or two of 512?

    python experiments/width_and_depth.py run --data DIR [--tables a,b] [--seeds 2]
    python experiments/width_and_depth.py report
    python experiments/width_and_depth.py --quick

Four members are fitted in each shape; then members of one shape are combined with those
of another. width_and_depth.md has the results.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from common import MemberVotes, Scores, Table, main, ratios
from modernnca import NetworkMember

MEMBERS = (
    NetworkMember(n_blocks=0, weight_averaging=0.0),
    NetworkMember(numeric_transform="quantile"),
    NetworkMember(numeric_transform="squashed"),
    NetworkMember(),
)
SHAPES = {
    "256": {"n_blocks": 1, "d_block": 256},
    "512": {"n_blocks": 1, "d_block": 512},
    "2 x 512": {"n_blocks": 2, "d_block": 512},
}
# The shapes of the quantile, squashed and standard members; the first has no block.
BASE = "256, 256, 256"
MIXES = (
    "512, 512, 512",
    "2 x 512, 2 x 512, 2 x 512",
    "512, 512, 2 x 512",
    "512, 2 x 512, 512",
    "2 x 512, 512, 512",
    "512, 2 x 512, 2 x 512",
    "256, 256, 2 x 512",
)


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """Each mix of shapes."""
    if table.done:
        return
    votes: dict[str, MemberVotes] = {}
    for name, shape in SHAPES.items():
        found = table.member_votes(MEMBERS, preset="default", **shape)
        if found is None:
            return
        votes[name] = found
    for mix in (BASE, *MIXES):
        shapes = mix.split(", ")
        own = [votes[name].of([k]) for k, name in enumerate((shapes[0], *shapes))]
        valid, test = (
            np.concatenate(parts)
            for parts in zip(*((each.valid, each.test) for each in own), strict=True)
        )
        yield mix, own[0]._replace(valid=valid, test=test).scores()


def report(records: pd.DataFrame) -> None:
    """Print what each mix gives."""
    print(ratios(records, dict.fromkeys(MIXES, BASE), title=f"over {BASE}"))


if __name__ == "__main__":
    main(__doc__, __file__, trials, report)
