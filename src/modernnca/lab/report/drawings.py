"""The figures of a study, by the name that its file gives."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from modernnca._named import named
from modernnca.lab.bench.found import StudyRecords
from modernnca.lab.report.bubbles import bubble_chart
from modernnca.lab.report.critical import critical_difference
from modernnca.lab.report.figures import Figure
from modernnca.lab.report.formats import percent
from modernnca.lab.report.interval_plots import interval_plot
from modernnca.lab.report.judgement import bubbles
from modernnca.lab.report.maps import map_grid
from modernnca.lab.report.outcomes import outcome_bars
from modernnca.lab.report.standings import rank_curve, rank_plot
from modernnca.lab.report.study_evidence import Evidence, groups_of


class Drawn(NamedTuple):
    """A figure, what stands below it, and the group of tables it is about, if one."""

    figure: Figure
    caption: str
    group: str = ""


_BOTH = (
    "Dots: average ranks here, with 95 % intervals over tables drawn anew. "
    "Rings: the paper's, on its own tables."
)


def _ranks(evidence: Evidence, found: StudyRecords) -> list[Drawn]:
    return [Drawn(rank_plot(evidence), _BOTH)]


def _curve(evidence: Evidence, found: StudyRecords) -> list[Drawn]:
    caption = (
        "The average rank of each variant here, with its 95 % interval over tables "
        "drawn anew; dashed, the paper's, where it printed one."
    )
    return [Drawn(rank_curve(evidence), caption)]


def _contest(evidence: Evidence, found: StudyRecords) -> list[Drawn]:
    drawn = []
    for group in groups_of(evidence):
        judgement = evidence.judgements[group]
        about = {"group": group, "hero": evidence.baseline}
        if judgement.pairwise is not None:
            figure = critical_difference(judgement.ranks, judgement.cliques, **about)
            caption = (
                "Average ranks. A bar joins methods between which Wilcoxon's test with "
                "Holm's correction finds no difference at 5 %."
            )
            drawn.append(Drawn(figure, f"{group.capitalize()}. {caption}", group))
        times = bubbles(judgement)
        if len(times) > 1:
            caption = (
                "Average rank against the mean time of a fit; the radius is the mean "
                "peak memory."
            )
            figure = bubble_chart(times, **about)
            drawn.append(Drawn(figure, f"{group.capitalize()}. {caption}", group))
    whole = evidence.judgements["all"]
    if (whole.outcomes["n"] > 0).any():
        figure = outcome_bars(whole.outcomes, group="all", hero=evidence.baseline)
        caption = (
            f"Shares of tables that {evidence.baseline} wins, ties and loses, by a "
            "two-sided t-test over runs at 5 %."
        )
        drawn.append(Drawn(figure, caption))
    return [_renamed(evidence, each) for each in drawn]


def _ratios(evidence: Evidence, found: StudyRecords) -> list[Drawn]:
    drawn = []
    own = [group.name for group in evidence.study.groups]
    for group in (*groups_of(evidence), *(g for g in own if g in evidence.judgements)):
        judgement = evidence.judgements[group]
        others = judgement.improvement
        others = others[others["method"] != evidence.baseline]
        figure = interval_plot(
            others.sort_values("value", kind="stable"),
            name=f"ratios-{group}",
            alt=f"Error over that of {evidence.baseline}, less one, {group}.",
            label=f"error over that of {evidence.baseline}, less one (left: better)",
            show=percent,
            hero="Ours",
            tick=lambda share: f"{100 * share:+.0f} %",
            zero=0.0,
        )
        n = judgement.contest.n_datasets
        caption = (
            f"{group.capitalize()} tables ({n}): geometric mean of the error (or RMSE) "
            f"over that of {evidence.baseline}, with 95 % intervals over tables."
        )
        kind = group if group in ("classification", "regression") else ""
        drawn.append(Drawn(figure, caption, kind))
    return [_renamed(evidence, each) for each in drawn]


def _maps(evidence: Evidence, found: StudyRecords) -> list[Drawn]:
    labels = found.frame.set_index("key")["method"]
    order = {label: place for place, label in enumerate(evidence.study.labels)}
    maps = sorted(
        (record for record in found.maps if record.status == "done"),
        key=lambda record: (order[labels[record.job.key]], record.job.seed),
    )
    mine = [labels[record.job.key] for record in maps]
    figure = map_grid(f"{evidence.name}-maps", evidence.study.title, mine, maps)
    caption = (
        "Rows of test in each space, laid out by t-SNE and colored by class, or by the "
        "rank of the number to predict. Purity: how alike the targets of the 10 rows "
        "nearest in the space itself are (1 is the best)."
    )
    return [Drawn(figure, caption)]


FIGURES: dict[str, Callable[[Evidence, StudyRecords], list[Drawn]]] = {
    "ranks": _ranks,
    "curve": _curve,
    "contest": _contest,
    "ratios": _ratios,
    "maps": _maps,
}


def draw_study(evidence: Evidence, found: StudyRecords) -> list[Drawn]:
    """Draw what the study's file asks for."""
    return named("figure", evidence.study.figure, FIGURES)(evidence, found)


def _renamed(evidence: Evidence, drawn: Drawn) -> Drawn:
    """Give a figure a name that no other study has."""
    name = f"{evidence.name}-{drawn.figure.name}"
    return drawn._replace(figure=replace(drawn.figure, name=name))
