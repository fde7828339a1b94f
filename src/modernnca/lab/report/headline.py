"""What the numbers say, in sentences."""

import pandas as pd

from modernnca.lab.report.formats import seconds
from modernnca.lab.report.judgement import ALPHA, Judgement
from modernnca.lab.report.score_tables import in_words


def ordinal(place: int) -> str:
    """Say a place in words.

    >>> [ordinal(place) for place in (1, 2, 3, 4, 11, 22)]
    ['first', '2nd', '3rd', '4th', '11th', '22nd']
    """
    if place == 1:
        return "first"
    ending = {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}th" if place % 100 in (11, 12, 13) else f"{place}{ending}"


def listed(names: list[str]) -> str:
    """Join names as one says them.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def sentences(judgement: Judgement) -> list[str]:
    """Say where the hero stands: its rank, whom it equals, and the best other."""
    hero, order = judgement.hero, list(judgement.ranks["method"])
    rank = judgement.ranks.set_index("method")["rank"]
    over = in_words(judgement)
    if len(order) == 1:
        return [f"{hero} is the only method here, on {over}: there is no comparison."]
    place = int((rank < rank[hero]).sum()) + 1
    said = [
        f"{hero} ranks {ordinal(place)} of {len(order)} methods on {over}, "
        f"with an average rank of {rank[hero]:.2f}"
    ]
    rival = next(name for name in order if name != hero)
    if rank[rival] == rank[hero]:
        said[0] += f", as {rival} does."
    elif place == 1:
        said[0] += f"; the next is {rival} with {rank[rival]:.2f}."
    else:
        said[0] += f"; the best is {rival} with {rank[rival]:.2f}."
    if judgement.pairwise is not None:
        said.append(_alike_in_words(judgement))
    return [*said, *_rival_in_words(judgement, rival)]


def _alike_in_words(judgement: Judgement) -> str:
    alike = judgement.alike(judgement.hero)
    test = f"Wilcoxon's test with Holm's correction at {100 * ALPHA:.0f}\u00a0%"
    if len(alike) > 6:
        return f"{test} does not tell it from {len(alike)} of the others."
    if alike:
        return f"{test} does not tell it from {listed(alike)}."
    return f"{test} tells it from every other method."


def _rival_in_words(judgement: Judgement, rival: str) -> list[str]:
    hero, said = judgement.hero, []
    met = judgement.outcomes.set_index("opponent").loc[rival]
    if met["n"]:
        said.append(
            f"Against {rival} it wins {met['win']:,}, ties {met['tie']:,} and loses "
            f"{met['lose']:,} of {met['n']:,} tables, by t-test over runs."
        )
    ratios = judgement.improvement.set_index("method")
    if rival in ratios.index:
        ratio = ratios.loc[rival]
        said.append(
            f"On average {rival} errs {_more(ratio['value'])} than {hero} "
            f"(95\u00a0% interval: {_more(ratio['low'])} to {_more(ratio['high'])})."
        )
    times = judgement.costs.set_index("method")["fit_seconds"].dropna()
    if hero in times.index and rival in times.index:
        said.append(
            f"A fit of {hero} takes {seconds(times[hero])} on average, of {rival} "
            f"{seconds(times[rival])}."
        )
    return said


def _more(share: float) -> str:
    return f"{abs(100 * share):.1f}\u00a0% {'more' if share >= 0 else 'less'}"


def progress(records: pd.DataFrame, expected: int | None) -> list[str]:
    """Say how complete a run is, and how its jobs ended."""
    n = len(records)
    words = {"done": "done", "failed": "failed", "timeout": "out of time"} | {
        "memory": "out of memory",
        "died": "died",
    }
    counts = records["status"].value_counts().to_dict()
    ended = [f"{counts[s]:,} {words.get(s, s)}" for s in sorted(counts, key=str)]
    ended.sort(key=lambda text: not text.endswith(" done"))
    said = []
    if expected is None:
        said.append(f"{n:,} runs are recorded.")
    elif n >= expected:
        said.append(f"The run is complete: all {expected:,} planned runs are recorded.")
    else:
        said.append(
            f"The run is not complete: {n:,} of {expected:,} planned runs are recorded "
            f"({100 * n / expected:.0f}\u00a0%). The report judges what is there."
        )
    if n:
        said.append(f"Of these, {listed(ended)}.")
    return said
