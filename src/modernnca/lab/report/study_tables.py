"""The tables of a study: our values and those printed in the paper."""

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
from modernnca.lab.report.study_evidence import Evidence, printed_values


def standing_table(evidence: Evidence, group: str) -> Table:
    """Return ranks, errors and costs of the variants, with the paper's ranks."""
    study, base = evidence.study, evidence.baseline
    frame = evidence.standings[group]
    n = evidence.analyses[group].comparison.n_datasets
    printed = printed_values(study, group)
    columns = [
        Column("method", "Variant"),
        Column("rank", "Rank here", fixed(2), "With a 95 % interval", ("low", "high")),
    ]
    datasets = f"{n} dataset{'s' * (n != 1)} here"
    if printed is not None:
        datasets += f", {printed.n_tables} in the paper"
        columns.append(Column("paper", "Rank in the paper", fixed(3)))
    columns.append(
        Column(
            "value",
            f"Error vs {base}",
            percent,
            f"Geometric mean of its error (RMSE) relative to {base}",
            ("low_value", "high_value"),
        )
    )
    costs = (
        Column("fit_seconds", "Fit", seconds, "Mean fit time"),
        Column("peak_bytes", "Memory", size, "Mean peak memory of a fit"),
    )
    columns += [column for column in costs if frame[column.key].notna().any()]
    printed_seconds = printed_values(study, "all", "fit seconds")
    if printed_seconds is not None:
        frame = frame.assign(told=frame["method"].map(dict(printed_seconds.values)))
        columns.append(Column("told", "Fit in the paper", seconds, "Tuned, on a V100"))
    caption = f"{study.title}, {group}, {evidence.source}: {datasets}"
    return Table(f"{evidence.name}-{group}", caption, frame, tuple(columns))


def outcome_table(evidence: Evidence) -> Table:
    """Return the shares of wins, ties and losses, with those of the paper's Table 1."""
    frame = evidence.analyses["all"].outcomes.rename(columns={"opponent": "method"})
    columns = [Column("method", f"{evidence.baseline} against")]
    for measure in ("win", "tie", "lose"):
        frame[f"{measure}_here"] = frame[measure] / frame["n"].where(frame["n"] > 0)
        columns.append(Column(f"{measure}_here", measure.capitalize(), fixed(2)))
        printed = printed_values(evidence.study, "all", measure)
        if printed is not None:
            frame[f"{measure}_paper"] = frame["method"].map(dict(printed.values))
            columns.append(
                Column(f"{measure}_paper", f"{measure.capitalize()}, paper", fixed(2))
            )
    columns.append(Column("n", "Datasets", count))
    columns.append(
        Column(
            "n_untested",
            "Without a test",
            count,
            "Datasets with a single run, where the better score wins",
        )
    )
    caption = (
        f"Wins, ties and losses of {evidence.baseline}, {evidence.source}, by a t-test "
        "over the seeds; without several seeds, by the scores alone"
    )
    return Table(f"{evidence.name}-outcomes", caption, frame, tuple(columns))


def embedding_table(evidence: Evidence, records: StudyRecords) -> Table:
    """Return the quality of each embedding and its map on each dataset."""
    done = records.frame[records.frame["status"] == "done"]
    measures = ["purity", "trustworthiness"]
    done = done.assign(**{name: done[name].astype(float) for name in measures})
    frame = done.groupby(["dataset", "task", "method"])[measures].mean().reset_index()
    order = {label: index for index, label in enumerate(evidence.study.labels)}
    frame = frame.assign(order=frame["method"].map(order))
    frame = frame.sort_values(["dataset", "order"], ignore_index=True)
    columns = (
        Column("dataset", "Dataset"),
        Column("task", "Task"),
        Column("method", "Embedding"),
        Column(
            "purity",
            "k-NN purity",
            fixed(3),
            "Share of the 10 nearest rows with the same class, or R2 of their mean",
        ),
        Column(
            "trustworthiness",
            "Trustworthiness",
            fixed(3),
            "Whether neighbors on the map are neighbors in the embedding",
        ),
    )
    caption = f"{evidence.study.title}: quality of the embeddings and maps"
    return Table(f"{evidence.name}-spaces", caption, frame, columns)


def finding_table(findings: Sequence[Finding]) -> Table:
    """Return all findings as a table."""
    columns = (
        Column("study", "Study"),
        Column("says", "Claim of the paper"),
        Column("verdict", "Verdict"),
        Column("measured", "Difference", hint="With its 95 % interval"),
        Column("words", "Reason"),
        Column("source", "Source"),
        Column("n", "Datasets", count),
        Column("needed", "Datasets needed", count, "To decide, with a power of 80 %"),
    )
    frame = finding_frame(list(findings))
    return Table("findings", "Verdicts on the claims of the paper", frame, columns)
