"""The report of studies: findings as text, tables and figures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd

from modernnca.lab.bench.found import StudyRecords
from modernnca.lab.bench.study import Study
from modernnca.lab.bench.study_parts import Claim
from modernnca.lab.report.findings import (
    NO_SOURCE,
    Finding,
    add_earlier,
    check,
    unchecked,
)
from modernnca.lab.report.formats import Table, to_markdown
from modernnca.lab.report.headline import join_names
from modernnca.lab.report.page import heat_map_cells, render_template
from modernnca.lab.report.rank_order import describe_order
from modernnca.lab.report.score_tables import Properties
from modernnca.lab.report.study_evidence import (
    PUBLISHED,
    SOURCES,
    Evidence,
    gather_evidence,
    published_evidence,
    shown_groups,
)
from modernnca.lab.report.study_figures import CaptionedFigure, draw_study
from modernnca.lab.report.study_tables import (
    embedding_table,
    finding_table,
    outcome_table,
    standing_table,
)
from modernnca.lab.report.verdicts import OPEN, VERDICTS
from modernnca.lab.report.write import check_output_folder, replace_folder, write_files

_SOURCES = (*SOURCES.values(), PUBLISHED, NO_SOURCE)


@dataclass(frozen=True)
class Block:
    """The results of a study from one source."""

    evidence: Evidence
    orders: dict[str, str]  # description of the paper's order and ours, by group
    tables: dict[str, Table]  # by group, or by name if they belong to no group
    figures: list[CaptionedFigure]
    grid: dict[str, Any]


@dataclass(frozen=True)
class Section:
    """The report of one study."""

    study: Study
    progress: str
    blocks: list[Block]
    findings: list[Finding]


@dataclass(frozen=True)
class StudyContents:
    """The contents of the page."""

    title: str
    progress: str
    sections: list[Section]
    properties: Properties
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def findings(self) -> list[Finding]:
        """The findings of all studies."""
        return [finding for section in self.sections for finding in section.findings]

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """The number of claims with each verdict, by source."""
        counter = Counter((each.source, each.verdict) for each in self.findings)
        sources = sorted({source for source, _ in counter}, key=_SOURCES.index)
        return {
            source: {verdict: counter[source, verdict] for verdict in VERDICTS}
            for source in sources
            if source != NO_SOURCE
        }

    @property
    def summary(self) -> list[str]:
        """The number of claims that hold, one sentence for each source."""
        sentences = []
        for source, counts in self.counts.items():
            n_holds, n_fails, n_open = counts.values()
            sentences.append(
                f"{source.capitalize()}, of {sum(counts.values())} claims {n_holds} "
                f"hold, {n_fails} do not, and {n_open} are undecided."
            )
        undecided = [each for each in self.findings if each.verdict == OPEN]
        n_told = sum(not isnan(each.needed) for each in undecided)
        if undecided:
            sentences.append(
                f"Of the {len(undecided)} undecided, {n_told} say how many datasets "
                "would decide them; the others have scores on too few to tell."
            )
        n_untested = sum(each.source == NO_SOURCE for each in self.findings)
        if n_untested:
            sentences.append(f"{n_untested} claims have no records yet.")
        return sentences

    def all_tables(self) -> list[Table]:
        """Return every table, to be written to a file."""
        blocks = [block for section in self.sections for block in section.blocks]
        tables = [table for block in blocks for table in block.tables.values()]
        return [*tables, finding_table(self.findings)]


def write_studies(
    studies: Sequence[tuple[Study, StudyRecords]],
    out: Path,
    *,
    scores: pd.DataFrame | None = None,
    title: str = "Reproduction of the ModernNCA studies",
    facts: Mapping[str, Any] | None = None,
) -> Path:
    """Write the report of studies to the folder `out`, and return its page.

    The folder gets the self-contained index.html, findings.md, tables/ and figures/.
    The report can be written at any time, from the records so far.

    Args:
        studies: each study with its records.
        scores: published scores, on which the claims are tested as well.
    """
    out = Path(out)
    check_output_folder(out)
    contents = gather_studies(studies, scores=scores, title=title, facts=facts or {})
    page = render_template("studies.html", contents)
    figures = [
        captioned.figure
        for section in contents.sections
        for block in section.blocks
        for captioned in block.figures
    ]
    with replace_folder(out) as folder:
        write_files(folder, contents.all_tables(), figures)
        (folder / "findings.md").write_text(
            findings_page(contents), encoding="utf-8", newline="\n"
        )
        (folder / "index.html").write_text(page, encoding="utf-8", newline="\n")
    return out / "index.html"


def gather_studies(
    studies: Sequence[tuple[Study, StudyRecords]],
    *,
    scores: pd.DataFrame | None = None,
    title: str,
    facts: Mapping[str, Any],
    draw: bool = True,
) -> StudyContents:
    """Analyze the records of each study, and gather the contents of the page.

    Without `draw`, there are no figures; findings.md has none.
    """
    sections = [_section(study, records, scores, draw) for study, records in studies]
    properties: dict[str, Any] = {}
    for section in sections:
        for block in section.blocks:
            properties = {**block.evidence.properties, **properties}
    # Studies share jobs, so count each key once.
    planned = frozenset[str]().union(*(records.planned for _, records in studies))
    done = frozenset[str]().union(*(records.frame["key"] for _, records in studies))
    progress = describe_progress(len(done), len(planned))
    return StudyContents(title, progress, sections, properties, facts)


def describe_progress(n: int, planned: int) -> str:
    """Describe how many of the planned runs are recorded.

    >>> describe_progress(5, 20)
    'Incomplete: 5 of 20 planned runs are recorded (25 %).'
    """
    if not planned:
        return "No runs yet."
    if n >= planned:
        return f"Complete: all {planned:,} planned runs are recorded."
    share = 100 * n / planned
    return (
        f"Incomplete: {n:,} of {planned:,} planned runs are recorded ({share:.0f} %)."
    )


def _section(
    study: Study, records: StudyRecords, scores: pd.DataFrame | None, draw: bool
) -> Section:
    sources = gather_evidence(study, records) if records.n else []
    if scores is not None and any(variant.alias for variant in study.variants):
        sources += published_evidence(study, scores)
    findings = [finding for evidence in sources for finding in check(evidence)]
    if not any(evidence.source != PUBLISHED for evidence in sources):
        findings = [*unchecked(study), *findings]
    progress = describe_progress(records.n, len(records.planned))
    return Section(
        study,
        progress + _describe_gaps(study, records) + _describe_earlier(study, records),
        [_block(evidence, records, draw) for evidence in sources],
        add_earlier(findings, _earlier_findings(study, records)),
    )


def _earlier_findings(
    study: Study, records: StudyRecords
) -> dict[tuple[Claim, str], Finding]:
    """Test the claims on the records of an earlier definition, with all others."""
    if records.earlier.empty:
        return {}
    frames = [frame for frame in (records.frame, records.earlier) if len(frame)]
    both = StudyRecords(pd.concat(frames, ignore_index=True), (), frozenset())
    return {
        (finding.claim, finding.source): finding
        for evidence in gather_evidence(study, both)
        for finding in check(evidence)
    }


def _describe_earlier(study: Study, records: StudyRecords) -> str:
    """Describe records that an earlier definition of the study has left."""
    n = len(records.earlier)
    if not n:
        return ""
    labels = [name for name in study.labels if name in set(records.earlier["method"])]
    why = f" {study.changed}" if study.changed else ""
    return (
        f" To be run again: {n:,} records are of an earlier definition of "
        f"{join_names(labels)} and are not used for verdicts.{why}"
    )


def _describe_gaps(study: Study, records: StudyRecords) -> str:
    """Describe which variants have no records, and which failed."""
    text, present = "", set(records.frame["method"])
    if missing := [label for label in study.labels if label not in present]:
        text = f" There are no records of {join_names(missing)}." if present else ""
    failed = records.frame[records.frame["status"] != "done"]
    if len(failed):
        counts = failed["method"].value_counts()
        listed = ", ".join(f"{method} {n}" for method, n in counts.items())
        text += f" {len(failed):,} runs failed ({listed}); a failure ranks last."
    return text


def _block(evidence: Evidence, records: StudyRecords, draw: bool) -> Block:
    groups = shown_groups(evidence)
    tables = {group: standing_table(evidence, group) for group in groups}
    if any(printed.measure == "win" for printed in evidence.study.published):
        tables["outcomes"] = outcome_table(evidence)
    if evidence.study.kind == "embed":
        tables = {"spaces": embedding_table(evidence, records)}
    return Block(
        evidence,
        {group: describe_order(evidence, group) for group in groups},
        tables,
        draw_study(evidence, records) if draw else [],
        heat_map_cells(evidence.scores, _shown_labels(evidence), evidence.properties),
    )


def _shown_labels(evidence: Evidence) -> list[str]:
    present = set(evidence.scores["method"])
    return [label for label in evidence.study.labels if label in present]


def findings_page(contents: StudyContents) -> str:
    """Return the findings as Markdown."""
    lines = ["# Findings", "", *contents.summary, "", contents.progress, ""]
    for section in contents.sections:
        source = section.study.paper or "ours"
        lines += [f"## {section.study.title} ({source})", "", section.study.asks, ""]
        lines += [section.study.note, ""] if section.study.note else []
        lines += [section.progress, ""]
        for block in section.blocks:
            for group, order in block.orders.items():
                lines += [f"{group.capitalize()}, {block.evidence.source}. {order}", ""]
            for table in block.tables.values():
                lines += [f"{table.caption}:", "", to_markdown(table)]
        for finding in section.findings:
            lines.append(
                f"- **{finding.verdict}** ({finding.source}): {finding.claim.says} "
                f"{finding.reason}"
            )
        lines.append("")
    return "\n".join(lines)
