"""What the tables of a study say: ours beside what the paper printed."""

from collections.abc import Sequence

from modernnca.lab.bench.found import StudyRecords
from modernnca.lab.report.findings import Finding, finding_frame
from modernnca.lab.report.formats import (
    Column,
    Table,
    count,
    fixed,
    percent,
    seconds,
    size,
)
from modernnca.lab.report.study_evidence import Evidence, published


def standing_table(evidence: Evidence, group: str) -> Table:
    """The variants of a study: ours beside what the paper printed."""
    study, base = evidence.study, evidence.baseline
    frame = evidence.standings[group]
    n = evidence.judgements[group].contest.n_datasets
    printed = published(study, group)
    columns = [
        Column("method", "Variant"),
        Column("rank", "Rank here", fixed(2), "With a 95 % interval", ("low", "high")),
    ]
    where = f"{n} tables here"
    if printed is not None:
        where += f", {printed.n_tables} in the paper"
        columns.append(Column("paper", "Rank in the paper", fixed(3)))
    columns.append(
        Column(
            "value",
            f"Error vs {base}",
            percent,
            f"Geometric mean of its error (RMSE) over that of {base}, less one",
            ("low_value", "high_value"),
        )
    )
    costs = (
        Column("fit_seconds", "Fit", seconds, "Mean time of a fit"),
        Column("peak_bytes", "Memory", size, "Mean peak memory of a fit"),
    )
    columns += [column for column in costs if frame[column.key].notna().any()]
    for measure, label in (("fit seconds", "Fit in the paper"),):
        told = published(study, "all", measure)
        if told is not None:
            frame = frame.assign(told=frame["method"].map(dict(told.values)))
            columns.append(Column("told", label, seconds, "Tuned, on a V100"))
    caption = f"{study.title}, {group}, {evidence.source}: {where}"
    return Table(f"{evidence.name}-{group}", caption, frame, tuple(columns))


def outcome_table(evidence: Evidence) -> Table:
    """The shares of tables won, tied and lost, ours beside the paper's Table 1."""
    frame = evidence.judgements["all"].outcomes.rename(columns={"opponent": "method"})
    columns = [Column("method", f"{evidence.baseline} against")]
    for measure in ("win", "tie", "lose"):
        frame[f"{measure}_here"] = frame[measure] / frame["n"].where(frame["n"] > 0)
        columns.append(Column(f"{measure}_here", measure.capitalize(), fixed(2)))
        printed = published(evidence.study, "all", measure)
        if printed is not None:
            frame[f"{measure}_paper"] = frame["method"].map(dict(printed.values))
            columns.append(
                Column(f"{measure}_paper", f"{measure.capitalize()}, paper", fixed(2))
            )
    columns.append(Column("n", "Tables", count))
    caption = f"Wins, ties and losses of {evidence.baseline}, {evidence.source}"
    return Table(f"{evidence.name}-outcomes", caption, frame, tuple(columns))


def space_table(evidence: Evidence, found: StudyRecords) -> Table:
    """Two numbers about each space on each table."""
    done = found.frame[found.frame["status"] == "done"]
    numbers = ["purity", "trustworthiness"]
    done = done.assign(**{name: done[name].astype(float) for name in numbers})
    frame = done.groupby(["dataset", "task", "method"])[numbers].mean().reset_index()
    order = {label: place for place, label in enumerate(evidence.study.labels)}
    frame = frame.assign(place=frame["method"].map(order))
    frame = frame.sort_values(["dataset", "place"], ignore_index=True)
    columns = (
        Column("dataset", "Table"),
        Column("task", "Task"),
        Column("method", "Space"),
        Column(
            "purity",
            "k-NN purity",
            fixed(3),
            "Share of the 10 nearest with the same class, or R2 of their mean",
        ),
        Column(
            "trustworthiness",
            "Trustworthiness",
            fixed(3),
            "How far near points of the map are near in the space",
        ),
    )
    caption = f"{evidence.study.title}: numbers beside the maps"
    return Table(f"{evidence.name}-spaces", caption, frame, columns)


def finding_table(findings: Sequence[Finding]) -> Table:
    """All findings, to be sorted."""
    columns = (
        Column("study", "Study"),
        Column("says", "The paper says"),
        Column("verdict", "Here it"),
        Column("measured", "Difference", hint="And its 95 % interval"),
        Column("words", "Since"),
        Column("source", "Asked"),
        Column("n", "Tables", count),
    )
    frame = finding_frame(list(findings))
    return Table("findings", "Which claims of the paper hold here", frame, columns)
