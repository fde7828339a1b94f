"""The figures of a study, by the name in its file."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from modernnca._named import named
from modernnca.lab.bench.found import StudyRecords
from modernnca.lab.report.analysis import ranks_and_costs
from modernnca.lab.report.bubbles import bubble_chart
from modernnca.lab.report.critical_difference import critical_difference
from modernnca.lab.report.figures import Figure
from modernnca.lab.report.formats import percent
from modernnca.lab.report.interval_plots import interval_plot
from modernnca.lab.report.map_grid import map_grid
from modernnca.lab.report.outcomes import outcome_bars
from modernnca.lab.report.rank_plots import rank_curve, rank_plot
from modernnca.lab.report.study_evidence import Evidence, shown_groups


class CaptionedFigure(NamedTuple):
    """A figure, its caption and, if it has one, its group of datasets."""

    figure: Figure
    caption: str
    group: str = ""


def _ranks(evidence: Evidence, records: StudyRecords) -> list[CaptionedFigure]:
    caption = (
        "Dots: average ranks here, with 95 % bootstrap intervals over datasets. "
        "Rings: the paper's average ranks on its own datasets."
    )
    return [CaptionedFigure(rank_plot(evidence), caption)]


def _curve(evidence: Evidence, records: StudyRecords) -> list[CaptionedFigure]:
    caption = (
        "The average rank of each variant here, with its 95 % bootstrap interval over "
        "datasets; dashed: the paper's, where printed."
    )
    return [CaptionedFigure(rank_curve(evidence), caption)]


def _comparison(evidence: Evidence, records: StudyRecords) -> list[CaptionedFigure]:
    figures = []
    for group in shown_groups(evidence):
        analysis = evidence.analyses[group]
        options = {"group": group, "hero": evidence.baseline}
        if analysis.pairwise is not None:
            figure = critical_difference(analysis.ranks, analysis.cliques, **options)
            caption = (
                f"{group.capitalize()}. Average ranks. A bar joins methods without a "
                "significant difference by Wilcoxon's test with Holm's correction at "
                "5 %."
            )
            figures.append(CaptionedFigure(figure, caption, group))
        costs = ranks_and_costs(analysis)
        if len(costs) > 1:
            figure = bubble_chart(costs, **options)
            caption = (
                f"{group.capitalize()}. Average rank against mean fit time; the radius "
                "is the mean peak memory."
            )
            figures.append(CaptionedFigure(figure, caption, group))
    outcomes = evidence.analyses["all"].outcomes
    if (outcomes["n"] > 0).any():
        figure = outcome_bars(outcomes, group="all", hero=evidence.baseline)
        caption = (
            f"Shares of datasets that {evidence.baseline} wins, ties and loses, by a "
            "two-sided t-test over runs at 5 %."
        )
        figures.append(CaptionedFigure(figure, caption))
    return [_with_unique_name(evidence, each) for each in figures]


def _ratios(evidence: Evidence, records: StudyRecords) -> list[CaptionedFigure]:
    figures = []
    own = [group.name for group in evidence.study.groups]
    for group in (*shown_groups(evidence), *(g for g in own if g in evidence.analyses)):
        analysis = evidence.analyses[group]
        others = analysis.improvement
        others = others[others["method"] != evidence.baseline]
        figure = interval_plot(
            others.sort_values("value", kind="stable"),
            name=f"ratios-{group}",
            alt=f"Error relative to {evidence.baseline}, {group}.",
            label=f"error relative to {evidence.baseline} (left: better)",
            show=percent,
            hero="Ours",
            tick=lambda share: f"{100 * share:+.0f} %",
            zero=0.0,
        )
        n = analysis.comparison.n_datasets
        caption = (
            f"{group.capitalize()} datasets ({n}): geometric mean of the error (or "
            f"RMSE) relative to {evidence.baseline}, with 95 % intervals over datasets."
        )
        task_group = group if group in ("classification", "regression") else ""
        figures.append(CaptionedFigure(figure, caption, task_group))
    return [_with_unique_name(evidence, each) for each in figures]


def _maps(evidence: Evidence, records: StudyRecords) -> list[CaptionedFigure]:
    label_of = records.frame.set_index("key")["method"]
    order = {label: index for index, label in enumerate(evidence.study.labels)}
    drawn = [record for record in records.maps if record.prediction is not None]
    if not drawn:  # records in files have no points
        return []
    maps = sorted(
        drawn,
        key=lambda record: (order[label_of[record.job.key]], record.job.seed),
    )
    labels = [label_of[record.job.key] for record in maps]
    figure = map_grid(f"{evidence.name}-maps", evidence.study.title, labels, maps)
    caption = (
        "t-SNE maps of the test rows in each embedding, colored by class, or by the "
        "rank of the target in regression. Purity: how similar the targets of the 10 "
        "nearest rows in the embedding are (1 is best)."
    )
    return [CaptionedFigure(figure, caption)]


FIGURES: dict[str, Callable[[Evidence, StudyRecords], list[CaptionedFigure]]] = {
    "ranks": _ranks,
    "curve": _curve,
    "contest": _comparison,
    "ratios": _ratios,
    "maps": _maps,
}


def draw_study(evidence: Evidence, records: StudyRecords) -> list[CaptionedFigure]:
    """Draw the figures that the study's file names."""
    return named("figure", evidence.study.figure, FIGURES)(evidence, records)


def _with_unique_name(
    evidence: Evidence, captioned: CaptionedFigure
) -> CaptionedFigure:
    """Prefix the name of a figure with that of its study."""
    name = f"{evidence.name}-{captioned.figure.name}"
    return captioned._replace(figure=replace(captioned.figure, name=name))
