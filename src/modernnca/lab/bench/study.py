"""A study: a table or figure of the paper as a file, read and expanded to jobs.

A study file says what is asked, which variants are compared on which tables, what the
paper printed, and what it claims; see `docs/studies.md`.
"""

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from modernnca._named import named
from modernnca.lab.bench.job import KINDS, Job
from modernnca.lab.bench.study_parts import (
    CLAIMS,
    GROUPS,
    MEASURES,
    Claim,
    Group,
    Published,
    Size,
    Variant,
)
from modernnca.lab.bench.suites import Chosen, choose
from modernnca.lab.peers import PEERS

FOLDER = Path(__file__).parents[1] / "studies"
_ORDER = (
    *("main", "nca-ladder", "architecture", "architecture-fixed", "plr"),
    *("sampling-rate", "sampling-strategy", "distance", "loss", "tabcon"),
    *("visualise", "beyond"),
)


@dataclass(frozen=True)
class Study:
    """All that a study file says."""

    name: str
    title: str
    paper: str
    asks: str
    variants: tuple[Variant, ...]
    full: Size
    quick: Size
    kind: str = "fit"  # of its jobs
    figure: str = "ranks"
    note: str = ""  # what a reader should know before believing it
    baseline: str = ""  # the variant that ratios are over; else the first
    published: tuple[Published, ...] = ()
    claims: tuple[Claim, ...] = ()
    groups: tuple[Group, ...] = ()

    @property
    def labels(self) -> list[str]:
        """What the variants are called, in the order of the paper."""
        return [variant.label for variant in self.variants]

    def tables(
        self,
        asked: str | Sequence[str] | None = None,
        *,
        quick: bool = False,
        data: Path | None = None,
        **filters: Any,
    ) -> Chosen:
        """The tables to run on: those asked for, or those of the study's size."""
        if asked is not None:
            return choose(asked, data=data, **filters)
        size = self.quick if quick else self.full
        parts = [choose(size.suite, data=data, **filters)] if size.suite else []
        for name in size.datasets:
            try:
                parts.append(choose([name], data=data, **filters))
            except ValueError:  # as of a suite: what is not here is missing
                parts.append(Chosen((), (name,)))
        names, missing = zip(*parts, strict=True) if parts else ((), ())
        return Chosen(tuple(dict.fromkeys(sum(names, ()))), sum(missing, ()))

    def jobs(
        self,
        datasets: Iterable[str],
        *,
        data: Path | None = None,
        seeds: int | None = None,
        trials: Sequence[int] | None = None,
        quick: bool = False,
    ) -> list[Job]:
        """Every table with every variant that is for its task, trials and seed."""
        size = self.quick if quick else self.full
        ways = size.trials if trials is None else trials
        names = list(datasets)
        numbers = set(choose(names, data=data, task="regression").names)
        return [
            Job(
                dataset,
                variant.method,
                self.split_of(dataset),
                seed,
                n_trials,
                variant.asked(n_trials),
                variant.label,
                self.kind,
            )
            for dataset in choose(names, data=data).names
            for variant in self.variants
            if GROUPS[dataset in numbers] in variant.tasks
            for n_trials in ((0,) if self.kind == "embed" else ways)
            for seed in range(size.seeds if seeds is None else seeds)
        ]

    def split_of(self, dataset: str) -> str:
        """The split of a table: that of its group, or the given one."""
        ways = [group.split for group in self.groups if dataset in group.datasets]
        return next((way for way in ways if way), "given")


def study_names() -> list[str]:
    """The studies that come with the package, in the order of the paper."""
    found = sorted(path.stem for path in FOLDER.glob("*.toml"))
    return sorted(found, key=lambda name: (*_ORDER, name).index(name))


def read_study(name: str | Path) -> Study:
    """Read a study by its name, or from a file of one's own.

    >>> read_study("loss").labels
    ['Log', 'Sum (NCA)', 'MCML', 't-distribution']
    """
    path = Path(name)
    if path.suffix != ".toml":
        files = {each: FOLDER / f"{each}.toml" for each in study_names()}
        path = named("study", str(name), files)
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(
            f"The study file {str(path)!r} cannot be read: {error.strerror}."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"The study file {str(path)!r} is not TOML: {str(error).rstrip('.')}."
        ) from error
    try:
        return _checked(_build(Study, {"name": path.stem, **told}))
    except ValueError as error:
        raise ValueError(f"The study file {path.name!r}: {error}") from error


_PARTS: dict[str, type] = {
    "variants": Variant,
    "published": Published,
    "claims": Claim,
    "groups": Group,
    "full": Size,
    "quick": Size,
}


def _build(kind: Any, told: Any, where: str = "it") -> Any:
    """Make a part of a study of what its file says, or say what is wrong with it."""
    if not isinstance(told, dict):
        raise ValueError(f"{where} must be a table of names and values; got {told!r}.")
    known = {part.name: part for part in fields(kind)}
    for name in told:
        named(f"entry of {where}", name, known)
    lacking = [
        name
        for name, part in known.items()
        if name not in told and part.default is part.default_factory is MISSING
    ]
    if lacking:
        raise ValueError(f"{where} must say {', '.join(lacking)}.")
    return kind(**{name: _value(name, value) for name, value in told.items()})


def _value(name: str, value: Any) -> Any:
    if name in _PARTS:
        if isinstance(value, list):
            return tuple(_build(_PARTS[name], each, name) for each in value)
        return _build(_PARTS[name], value, name)
    return tuple(value) if isinstance(value, list) else value


def _checked(study: Study) -> Study:
    """Return the study, if what it names exists."""
    named("kind of job", study.kind, dict.fromkeys(KINDS))
    labels = dict.fromkeys(study.labels)
    if len(labels) < len(study.variants):
        raise ValueError("two variants have the same label; give each its own.")
    for variant in study.variants:
        if not (study.kind == "embed" and variant.method == "raw"):
            named("method", variant.method, PEERS)
        for task in variant.tasks:
            named("task", task, dict.fromkeys(GROUPS))
    for printed in study.published:
        named("measure", printed.measure, dict.fromkeys(MEASURES))
        for label in printed.values:
            named("variant", label, labels)
    groups = dict.fromkeys(group.name for group in study.groups)
    for claim in study.claims:
        named("kind of claim", claim.kind, dict.fromkeys(CLAIMS))
        named("task", claim.task, dict.fromkeys((*GROUPS, "all")))
        for label in (claim.left, *([claim.right] if claim.kind != "best" else [])):
            named("variant", label, labels)
        if claim.group:
            named("group", claim.group, groups)
    if study.baseline:
        named("variant", study.baseline, labels)
    return study
