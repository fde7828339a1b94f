"""The report of all studies: what was found, as words, tables and figures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from modernnca.lab.bench.found import StudyRecords
from modernnca.lab.bench.study import Study
from modernnca.lab.report import findings as ask
from modernnca.lab.report.drawings import Drawn, draw_study
from modernnca.lab.report.formats import Table, to_markdown
from modernnca.lab.report.headline import listed
from modernnca.lab.report.orders import order_in_words
from modernnca.lab.report.page import fill, lay_out
from modernnca.lab.report.score_tables import Properties
from modernnca.lab.report.study_evidence import (
    PUBLISHED,
    SOURCES,
    Evidence,
    groups_of,
    weigh,
    weigh_published,
)
from modernnca.lab.report.study_tables import (
    finding_table,
    outcome_table,
    space_table,
    standing_table,
)
from modernnca.lab.report.verdicts import VERDICTS
from modernnca.lab.report.write import check_place, replacing, write_parts

_SOURCES = (*SOURCES.values(), PUBLISHED, ask.NOWHERE)


@dataclass(frozen=True)
class Block:
    """What one source says of a study."""

    evidence: Evidence
    orders: dict[str, str]  # the paper's order and ours in words, by group
    tables: dict[str, Table]  # by group; those of no group by another name
    drawn: list[Drawn]
    grid: dict[str, Any]


@dataclass(frozen=True)
class Section:
    """All that is said of one study."""

    study: Study
    progress: str
    blocks: list[Block]
    findings: list[ask.Finding]


@dataclass(frozen=True)
class StudyContents:
    """What the page of the studies says."""

    title: str
    progress: str
    sections: list[Section]
    properties: Properties
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def findings(self) -> list[ask.Finding]:
        """Of all studies."""
        return [each for section in self.sections for each in section.findings]

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """How many claims hold, do not, and cannot be said, by source."""
        found = Counter((each.source, each.verdict) for each in self.findings)
        sources = sorted({source for source, _ in found}, key=_SOURCES.index)
        return {
            source: {verdict: found[source, verdict] for verdict in VERDICTS}
            for source in sources
            if source != ask.NOWHERE
        }

    @property
    def summary(self) -> list[str]:
        """Say how many claims hold, one sentence for each source."""
        said = []
        for source, counts in self.counts.items():
            holds, fails, unsaid = counts.values()
            said.append(
                f"{source.capitalize()}, of {holds + fails + unsaid} claims {holds} "
                f"hold, {fails} do not, and {unsaid} cannot be said."
            )
        n_unasked = sum(each.source == ask.NOWHERE for each in self.findings)
        if n_unasked:
            said.append(f"{n_unasked} claims have no records yet.")
        return said

    def all_tables(self) -> list[Table]:
        """Every table, to be written to a file."""
        blocks = [block for section in self.sections for block in section.blocks]
        tables = [table for block in blocks for table in block.tables.values()]
        return [*tables, finding_table(self.findings)]


def write_studies(
    found: Sequence[tuple[Study, StudyRecords]],
    out: Path,
    *,
    scores: pd.DataFrame | None = None,
    title: str = "The studies of ModernNCA, run again",
    facts: Mapping[str, Any] | None = None,
) -> Path:
    """Write the report of studies into the folder `out`, and return its page.

    The folder gets index.html, which needs no other file, findings.md, tables/ and
    figures/; it can be written at any moment, from the records so far.

    Args:
        scores: published scores, which studies with an alias are asked beside ours.
    """
    out = Path(out)
    check_place(out)
    contents = gather_studies(found, scores=scores, title=title, facts=facts or {})
    page = fill("studies.html", contents)
    figures = [
        drawn.figure
        for section in contents.sections
        for block in section.blocks
        for drawn in block.drawn
    ]
    with replacing(out) as folder:
        write_parts(folder, contents.all_tables(), figures)
        (folder / "findings.md").write_text(
            findings_page(contents), encoding="utf-8", newline="\n"
        )
        (folder / "index.html").write_text(page, encoding="utf-8", newline="\n")
    return out / "index.html"


def gather_studies(
    found: Sequence[tuple[Study, StudyRecords]],
    *,
    scores: pd.DataFrame | None = None,
    title: str,
    facts: Mapping[str, Any],
) -> StudyContents:
    """Judge what was found for each study, and gather what is to be said."""
    sections = [_section(study, each, scores) for study, each in found]
    known: dict[str, Any] = {}
    for section in sections:
        for block in section.blocks:
            known = {**block.evidence.properties, **known}
    planned = frozenset[str]().union(*(each.planned for _, each in found))
    done = frozenset[str]().union(*(each.frame["key"] for _, each in found))
    progress = how_complete(len(done), len(planned))  # studies share jobs
    return StudyContents(title, progress, sections, known, facts)


def how_complete(n: int, planned: int) -> str:
    """Say how many of the planned runs have ended.

    >>> how_complete(5, 20)
    'Not complete: 5 of 20 planned runs are recorded (25 %).'
    """
    if not planned:
        return "Nothing has been run yet."
    if n >= planned:
        return f"Complete: all {planned:,} planned runs are recorded."
    share = 100 * n / planned
    return (
        f"Not complete: {n:,} of {planned:,} planned runs are recorded ({share:.0f} %)."
    )


def _section(study: Study, found: StudyRecords, scores: pd.DataFrame | None) -> Section:
    parts = weigh(study, found) if found.n else []
    if scores is not None and any(variant.alias for variant in study.variants):
        parts += weigh_published(study, scores)
    findings = [finding for part in parts for finding in ask.check(part)]
    return Section(
        study,
        how_complete(found.n, len(found.planned)) + _gaps(study, found),
        [_block(part, found) for part in parts],
        findings or ask.unchecked(study),
    )


def _gaps(study: Study, found: StudyRecords) -> str:
    """Say which variants have no records, and which failed."""
    said, there = "", set(found.frame["method"])
    if lacking := [label for label in study.labels if label not in there]:
        said = f" There are no records of {listed(lacking)}." if there else ""
    failed = found.frame[found.frame["status"] != "done"]
    if len(failed):
        whose = failed["method"].value_counts()
        named = ", ".join(f"{method} {n}" for method, n in whose.items())
        said += f" {len(failed):,} runs failed ({named}); a failure ranks last."
    return said


def _block(evidence: Evidence, found: StudyRecords) -> Block:
    groups = groups_of(evidence)
    tables = {group: standing_table(evidence, group) for group in groups}
    if any(printed.measure == "win" for printed in evidence.study.published):
        tables["outcomes"] = outcome_table(evidence)
    if evidence.study.kind == "embed":
        tables = {"spaces": space_table(evidence, found)}
    return Block(
        evidence,
        {group: order_in_words(evidence, group) for group in groups},
        tables,
        draw_study(evidence, found),
        lay_out(evidence.scores, _shown(evidence), evidence.properties),
    )


def _shown(evidence: Evidence) -> list[str]:
    there = set(evidence.scores["method"])
    return [label for label in evidence.study.labels if label in there]


def findings_page(contents: StudyContents) -> str:
    """The findings as Markdown."""
    lines = ["# Findings", "", *contents.summary, "", contents.progress, ""]
    for section in contents.sections:
        source = section.study.paper or "ours"
        lines += [f"## {section.study.title} ({source})", "", section.study.asks, ""]
        lines += [section.study.note, ""] if section.study.note else []
        lines += [section.progress, ""]
        for block in section.blocks:
            for group, words in block.orders.items():
                lines += [f"{group.capitalize()}, {block.evidence.source}. {words}", ""]
            for table in block.tables.values():
                lines += [f"{table.caption}:", "", to_markdown(table)]
        for finding in section.findings:
            lines.append(
                f"- **{finding.verdict}** ({finding.source}): {finding.claim.says} "
                f"{finding.words}"
            )
        lines.append("")
    return "\n".join(lines)
