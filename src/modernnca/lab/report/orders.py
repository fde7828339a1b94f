"""The order of variants: the paper's beside ours, and how far they agree."""

from itertools import combinations
from math import nan

import numpy as np

from modernnca.lab.report.study_evidence import PUBLISHED, Evidence, published


def order_in_words(evidence: Evidence, group: str) -> str:
    """The paper's order of variants beside ours, and how far they agree."""
    ours = evidence.judgements[group].ranks.set_index("method")["rank"].to_dict()
    said = f"{'Published' if evidence.source == PUBLISHED else 'Here'}: {_chain(ours)}."
    printed = published(evidence.study, group)
    if printed is None:
        return said
    theirs = {label: rank for label, rank in printed.values.items() if label in ours}
    same, pairs = agreement(theirs, ours)
    alike = f"{same} of {pairs} pairs stand in the paper's order."
    return f"The paper: {_chain(theirs)}. {said} {alike}"


def _chain(ranks: dict[str, float]) -> str:
    """Variants from the best to the worst; equals are joined by "=".

    >>> _chain({"a": 2.0, "b": 1.0, "c": 2.0})
    'b 1.00 < a 2.00 = c 2.00'
    """
    text, last = "", nan
    for label in sorted(ranks, key=ranks.__getitem__):
        sign = "" if not text else " = " if ranks[label] == last else " < "
        text, last = f"{text}{sign}{label} {ranks[label]:.2f}", ranks[label]
    return text


def agreement(theirs: dict[str, float], ours: dict[str, float]) -> tuple[int, int]:
    """How many pairs have the same order in both, and how many there are.

    >>> agreement({"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 1.0, "b": 3.0, "c": 2.0})
    (2, 3)
    """
    pairs = list(combinations(sorted(theirs.keys() & ours.keys()), 2))
    same = [
        np.sign(theirs[left] - theirs[right]) == np.sign(ours[left] - ours[right])
        for left, right in pairs
    ]
    return sum(map(bool, same)), len(pairs)
