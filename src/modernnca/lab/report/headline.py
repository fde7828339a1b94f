"""The headline of a report: its main results as sentences."""

import pandas as pd

from modernnca.lab.report.analysis import ALPHA, Analysis
from modernnca.lab.report.formats import seconds
from modernnca.lab.report.score_tables import describe_datasets


def ordinal(place: int) -> str:
    """Format a place as an ordinal.

    >>> [ordinal(place) for place in (1, 2, 3, 4, 11, 22)]
    ['first', '2nd', '3rd', '4th', '11th', '22nd']
    """
    if place == 1:
        return "first"
    ending = {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}th" if place % 100 in (11, 12, 13) else f"{place}{ending}"


def join_names(names: list[str]) -> str:
    """Join names with commas and "and".

    >>> join_names(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def sentences(analysis: Analysis) -> list[str]:
    """Describe the hero: its rank, significance, and the comparison with the best."""
    hero, order = analysis.hero, list(analysis.ranks["method"])
    rank = analysis.ranks.set_index("method")["rank"]
    datasets = describe_datasets(analysis)
    if len(order) == 1:
        return [f"{hero} is the only method here, on {datasets}; nothing to compare."]
    place = int((rank < rank[hero]).sum()) + 1
    first = (
        f"{hero} ranks {ordinal(place)} of {len(order)} methods on {datasets}, "
        f"with an average rank of {rank[hero]:.2f}"
    )
    rival = next(name for name in order if name != hero)
    if rank[rival] == rank[hero]:
        first += f", equal to {rival}."
    elif place == 1:
        first += f"; the next is {rival} with {rank[rival]:.2f}."
    else:
        first += f"; the best is {rival} with {rank[rival]:.2f}."
    significance = [] if analysis.pairwise is None else [_significance(analysis)]
    return [first, *significance, *_against_rival(analysis, rival)]


def _significance(analysis: Analysis) -> str:
    similar = analysis.not_different_from(analysis.hero)
    test = f"Wilcoxon's test with Holm's correction at {100 * ALPHA:.0f}\u00a0%"
    if len(similar) > 6:
        return f"{test} finds no difference from {len(similar)} other methods."
    if similar:
        return f"{test} finds no difference from {join_names(similar)}."
    return f"{test} finds a difference from every other method."


def _against_rival(analysis: Analysis, rival: str) -> list[str]:
    hero, sentences = analysis.hero, []
    outcome = analysis.outcomes.set_index("opponent").loc[rival]
    if outcome["n"]:
        sentences.append(
            f"Against {rival} it wins {outcome['win']:,}, ties {outcome['tie']:,} and "
            f"loses {outcome['lose']:,} of {outcome['n']:,} datasets, by t-test over "
            "runs."
        )
    ratios = analysis.improvement.set_index("method")
    if rival in ratios.index:
        ratio = ratios.loc[rival]
        sentences.append(
            f"On average the error of {rival} is {_change(ratio['value'])} than that "
            f"of {hero} (95\u00a0% interval: {_change(ratio['low'])} to "
            f"{_change(ratio['high'])})."
        )
    times = analysis.costs.set_index("method")["fit_seconds"].dropna()
    if hero in times.index and rival in times.index:
        sentences.append(
            f"The mean fit time is {seconds(times[hero])} for {hero} and "
            f"{seconds(times[rival])} for {rival}."
        )
    return sentences


def _change(share: float) -> str:
    return f"{abs(100 * share):.1f}\u00a0% {'higher' if share >= 0 else 'lower'}"


def progress(records: pd.DataFrame, expected: int | None) -> list[str]:
    """Describe how complete a run is, and how its jobs ended."""
    n = len(records)
    labels = {"timeout": "out of time", "memory": "out of memory"}
    counts = records["status"].value_counts().to_dict()
    ended = [f"{counts[s]:,} {labels.get(s, s)}" for s in sorted(counts, key=str)]
    ended.sort(key=lambda text: not text.endswith(" done"))
    if expected is None:
        first = f"{n:,} runs are recorded."
    elif n >= expected:
        first = f"The run is complete: all {expected:,} planned runs are recorded."
    else:
        first = (
            f"The run is incomplete: {n:,} of {expected:,} planned runs are recorded "
            f"({100 * n / expected:.0f}\u00a0%). The report covers these."
        )
    return [first, f"Of these, {join_names(ended)}."] if n else [first]
