"""The page of an audit: a sentence, a figure and a table for each part."""

from typing import Any

import numpy as np

from modernnca.evidence.audit_result import Audit
from modernnca.evidence.pages import bars, cards, heading, histogram, paragraph, table

_N_LINES = 30  # of a table on the page
_N_BARS = 12
_CLASSES = {
    "evidence": "probability",
    "unit": "probability of the given label, by the votes of the other rows",
    "names": ("given label supported", "likely wrong"),
    "label": "How many rows have a given label of which probability",
}
_NUMBERS = {
    "evidence": "residual",
    "unit": "standardized residual of the target, by the votes of the other rows",
    "names": ("target supported", "likely wrong"),
    "label": "How many rows have a target with which standardized residual",
}


def audit_body(audit: Audit) -> str:
    """The page, without its frame and styles."""
    new = "" if audit.n_new is None else f", and of {audit.n_new:,} rows beside them"
    found = audit.summary()
    parts = [
        heading(f"Audit of {audit.n_rows:,} rows", 1),
        paragraph(f"Of the rows that the model remembers{new}.", muted=True),
        cards((name, f"{n:,}") for name, n in found.items()),
        _targets(audit),
        _duplicates(audit),
        _columns(audit),
    ]
    if audit.n_new is not None:
        parts += [_leaks(audit), _drift(audit)]
    return "".join([*parts, _regions(audit), _influence(audit)])


def _lines(held: Any, names: list[str] | None = None) -> str:
    """The first lines of a frame, and how many there are."""
    names = list(held.columns) if names is None else names
    some = held[names].head(_N_LINES)
    lines = list(zip(*(some[name].tolist() for name in names), strict=True))
    more = f"{min(len(held), _N_LINES):,} of {len(held):,} lines; the frame has all."
    caption = more if len(held) > _N_LINES else ""
    heads = [name.replace("_", " ") for name in names]
    return table(heads, lines, caption=caption)


def _targets(audit: Audit) -> str:
    words = _CLASSES if audit.classification else _NUMBERS
    held = audit.labels
    n_likely = int(held["likely"].sum())
    text = (
        f"{n_likely:,} of {len(held):,} targets are likely wrong: the other rows vote "
        "for another one. The rows that say so are those with the largest shares of "
        "the vote."
    )
    parts = [heading("Likely wrong targets"), paragraph(text)]
    parts.append(
        histogram(
            held[words["evidence"]].to_numpy(),
            held["likely"].to_numpy(),
            unit=str(words["unit"]),
            label=str(words["label"]),
            names=words["names"],  # type: ignore[arg-type]
        )
    )
    names = ["row", "given", "suggested", str(words["evidence"]), "voters"]
    parts.append(_lines(held[held["likely"]] if n_likely else held.head(5), names))
    if len(audit.new_labels):
        n_new = int(audit.new_labels["likely"].sum())
        text = (
            f"Of the other table, {n_new:,} of {len(audit.new_labels):,} targets are "
            "likely wrong; the model has not seen these."
        )
        new = audit.new_labels
        new = new[new["likely"]] if n_new else new.head(5)
        parts += [paragraph(text), _lines(new, names)]
    return "".join(parts)


def _duplicates(audit: Audit) -> str:
    held = audit.duplicates
    n_exact = int((held["kind"] == "exact").sum())
    n_conflicts = int(held["conflict"].sum())
    text = "No row is a duplicate of another."
    if len(held):
        text = (
            f"{n_exact:,} rows are equal to an earlier one, and "
            f"{len(held) - n_exact:,} nearly so (identifiers aside). "
            f"{n_conflicts:,} of them have another target than that row."
        )
    body = heading("Duplicates") + paragraph(text)
    return body + (_lines(held) if len(held) else "")


def _columns(audit: Audit) -> str:
    held = audit.columns
    text = "No column is constant, mostly missing, or gives the rows or targets away."
    if len(held):
        text = (
            "The score is that of the column alone, cross-validated: the AUC, or R2 "
            "in regression."
        )
    body = heading("Columns") + paragraph(text)
    return body + (_lines(held) if len(held) else "")


def _leaks(audit: Audit) -> str:
    held = audit.leaks
    text = "No row of the other table is among the remembered ones."
    if len(held):
        text = (
            f"{len(held):,} of {audit.n_new:,} rows of the other table are among the "
            "remembered ones: a score on them says little."
        )
    body = heading("Leaks") + paragraph(text)
    return body + (_lines(held) if len(held) else "")


def _drift(audit: Audit) -> str:
    held = audit.drift
    n_drifted, n_unlike = int(held["drifted"].sum()), len(audit.unlike)
    share = n_unlike / max(1, audit.n_new or 0)
    text = (
        f"{n_drifted:,} of {len(held):,} columns are distributed otherwise than in the "
        f"remembered rows. {n_unlike:,} rows ({share:.0%}) are as far from the "
        "remembered ones as 5% of those are from each other."
    )
    parts = [heading("Drift"), paragraph(text)]
    if len(held):
        some = held.sort_values(["drifted", "statistic"], ascending=False).head(_N_BARS)
        lines = zip(some["column"], some["statistic"], some["drifted"], strict=True)
        parts.append(
            bars(
                [(str(name), float(s), bool(hot)) for name, s, hot in lines],
                label="How far each column has drifted",
                unit="Distance between the distributions, from 0 to 1: the statistic "
                "of Kolmogorov and Smirnov, or the total variation. In the second "
                "color, drift that is no chance.",
            )
        )
        names = ["column", "p_corrected", "before", "now"]
        parts.append(_lines(held, names))
    return "".join(parts)


def _regions(audit: Audit) -> str:
    held, what = audit.regions, "share of wrong votes"
    if not audit.classification:
        what = "mean standardized residual"
    n_unknown = int(held["unknown"].sum())
    text = (
        f"Clusters of the embedding, named by the columns that set them apart. The "
        f"error is the {what}. In {n_unknown:,} of them it is more than twice the "
        "usual, or rows of the other table are unlike the remembered ones: the model "
        "does not know these."
    )
    names = ["name", "prototype", "rows", "error"]
    if audit.n_new is not None:
        names += ["share", "new_share", "unlike"]
    names.append("unknown")
    return heading("Regions") + paragraph(text) + _lines(held, names)


def _influence(audit: Audit) -> str:
    held = audit.influence
    n_unused = int(held["unused"].sum())
    text = (
        "The share of all votes that each row has, in units of an equal share. "
        f"{n_unused:,} rows are never used. Support is the part of a row's votes that "
        "went to rows of its own target"
        + ("." if audit.classification else ", on the same side of the mean.")
    )
    logs = np.log10(held["share"].to_numpy().clip(min=1e-4))
    figure = histogram(
        logs,
        held["unused"].to_numpy(),
        unit="share of the votes, in units of an equal share",
        told=lambda power: f"{10**power:.2g}",
        label="How many rows have which share of all votes",
        names=("used", "never used"),
    )
    return heading("Influence") + paragraph(text) + figure + _lines(held)
