"""The order of variants by rank: the paper's, ours, and their agreement."""

from itertools import combinations
from math import nan

import numpy as np

from modernnca.lab.report.study_evidence import PUBLISHED, Evidence, printed_values


def describe_order(evidence: Evidence, group: str) -> str:
    """Describe the paper's order of variants, ours, and their agreement."""
    ours = evidence.analyses[group].ranks.set_index("method")["rank"].to_dict()
    source = "Published" if evidence.source == PUBLISHED else "Here"
    text = f"{source}: {_chain(ours)}."
    printed = printed_values(evidence.study, group)
    if printed is None:
        return text
    theirs = {label: rank for label, rank in printed.values.items() if label in ours}
    n_same, n_pairs = agreement(theirs, ours)
    agrees = f"{n_same} of {n_pairs} pairs have the paper's order."
    return f"The paper: {_chain(theirs)}. {text} {agrees}"


def _chain(ranks: dict[str, float]) -> str:
    """Format variants from best to worst; equal ranks are joined by "=".

    >>> _chain({"a": 2.0, "b": 1.0, "c": 2.0})
    'b 1.00 < a 2.00 = c 2.00'
    """
    text, last = "", nan
    for label in sorted(ranks, key=ranks.__getitem__):
        sign = "" if not text else " = " if ranks[label] == last else " < "
        text, last = f"{text}{sign}{label} {ranks[label]:.2f}", ranks[label]
    return text


def agreement(theirs: dict[str, float], ours: dict[str, float]) -> tuple[int, int]:
    """Return how many pairs have the same order in both, and the number of pairs.

    >>> agreement({"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 1.0, "b": 3.0, "c": 2.0})
    (2, 3)
    """
    pairs = list(combinations(sorted(theirs.keys() & ours.keys()), 2))
    same = [
        np.sign(theirs[left] - theirs[right]) == np.sign(ours[left] - ours[right])
        for left, right in pairs
    ]
    return sum(map(bool, same)), len(pairs)
