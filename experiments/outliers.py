"""What should a model do with rows unlike all training rows, in regression?

    python experiments/outliers.py run --data DIR [--tables a,b] [--seeds 3]
    python experiments/outliers.py report
    python experiments/outliers.py --quick

The members of the default are fitted with and without clipping numbers to the range of
the training rows. Their votes are then combined with several outlier thresholds: beyond
it, a member that is far from the median of all counts less. outliers.md has the
results.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from common import MemberVotes, Scores, Table, main, ratios, score_votes
from modernnca.ensemble.combine import Combiner, fit_combiner

QUANTILES = (0.9, 0.95, 0.99, 0.999)
BASE = "clipped, no threshold"


def label_of(clip: bool, quantile: float | None) -> str:
    """The label of a record."""
    threshold = "no threshold" if quantile is None else f"threshold at {quantile}"
    return f"{'clipped' if clip else 'not clipped'}, {threshold}"


def combined(votes: MemberVotes, quantile: float | None) -> np.ndarray:
    """The votes of the members, with a threshold from the validation rows: (B, 1)."""
    fitted = fit_combiner(votes.valid, votes.valid_values, classification=False)
    threshold = np.inf
    if quantile is not None:
        deviation = np.abs(votes.valid - np.median(votes.valid, axis=0))
        threshold = float(np.quantile(deviation, quantile))
    return Combiner(fitted.weights, threshold)(votes.test)


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """Each threshold, with and without clipping."""
    if table.done or not table.regression:
        return
    for clip in (True, False):
        votes = table.member_votes(preset="default", clip_to_range=clip)
        if votes is None:
            return
        for quantile in (None, *QUANTILES):
            scores = score_votes(combined(votes, quantile), votes.test_values)
            yield label_of(clip, quantile), scores


def report(records: pd.DataFrame) -> None:
    """Print what thresholds and clipping give."""
    labels = [label_of(clip, q) for clip in (True, False) for q in (None, *QUANTILES)]
    bases = {label: BASE for label in labels if label != BASE}
    print(ratios(records, bases, title=f"over {BASE}"))


if __name__ == "__main__":
    main(__doc__, __file__, trials, report)
