"""Studies: tables and figures of the paper as files, read and expanded to jobs.

A study file holds a question, the variants to compare and the datasets to use, and the
paper's printed values and claims; see `docs/studies.md`.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from modernnca._files import read_regular
from modernnca._named import named
from modernnca.lab.bench.job import KINDS, Job
from modernnca.lab.bench.protocol import PROTOCOLS
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
from modernnca.lab.bench.suites import Selection, select_datasets
from modernnca.lab.peers import PEERS

FOLDER = Path(__file__).parents[1] / "studies"
_ORDER = (
    *("main", "nca-ladder", "architecture", "architecture-fixed", "plr"),
    *("sampling-rate", "sampling-strategy", "distance", "loss", "tabcon"),
    *("visualise", "beyond"),
)


@dataclass(frozen=True)
class Study:
    """The content of a study file."""

    name: str
    title: str
    paper: str
    asks: str
    variants: tuple[Variant, ...]
    full: Size
    quick: Size
    kind: str = "fit"  # of its jobs
    figure: str = "ranks"
    note: str = ""  # caveats for the reader
    protocol: str = "defaults"  # see `protocol.py`
    changed: str = ""  # what was different when earlier records were made
    baseline: str = ""  # denominator of ratios; by default the first variant
    published: tuple[Published, ...] = ()
    claims: tuple[Claim, ...] = ()
    groups: tuple[Group, ...] = ()

    @property
    def labels(self) -> list[str]:
        """The labels of the variants, in the order of the paper."""
        return [variant.label for variant in self.variants]

    def tables(
        self,
        suite: str | Sequence[str] | None = None,
        *,
        quick: bool = False,
        data: Path | None = None,
        **filters: Any,
    ) -> Selection:
        """Select the datasets to run on: `suite`, or those of the study's size.

        `suite` is the name of a suite or a list of datasets.
        """
        if suite is not None:
            return select_datasets(suite, data=data, **filters)
        size = self.quick if quick else self.full
        parts = (
            [select_datasets(size.suite, data=data, **filters)] if size.suite else []
        )
        for name in size.datasets:
            try:
                parts.append(select_datasets([name], data=data, **filters))
            except ValueError:  # missing, as in a suite
                parts.append(Selection((), (name,)))
        names, missing = zip(*parts, strict=True) if parts else ((), ())
        return Selection(tuple(dict.fromkeys(sum(names, ()))), sum(missing, ()))

    def jobs(
        self,
        datasets: Iterable[str],
        *,
        data: Path | None = None,
        seeds: int | None = None,
        trials: Sequence[int] | None = None,
        quick: bool = False,
    ) -> list[Job]:
        """Return a job for every dataset, suitable variant, trial count and seed."""
        size = self.quick if quick else self.full
        trial_counts = size.trials if trials is None else trials
        names = list(datasets)
        regression = select_datasets(names, data=data, task="regression").names
        return [
            self.job(variant, dataset, GROUPS[dataset in regression], seed, n_trials)
            for dataset in select_datasets(names, data=data).names
            for variant in self.variants
            if GROUPS[dataset in regression] in variant.tasks
            for n_trials in ((0,) if self.kind == "embed" else trial_counts)
            if n_trials or not variant.only_tuned
            for seed in range(size.seeds if seeds is None else seeds)
        ]

    def job(
        self, variant: Variant, dataset: str, group: str, seed: int = 0, trials: int = 0
    ) -> Job:
        """Return the job of a variant on a dataset of a task group."""
        return Job(
            dataset,
            variant.method,
            self.split_of(dataset),
            seed,
            trials,
            variant.overrides(trials, self.common(variant, group, trials)),
            variant.label,
            self.kind,
            variant.after(trials),
            pruning=not trials,
        )

    def common(self, variant: Variant, group: str, trials: int) -> dict[str, Any]:
        """Return the settings of a variant that its study's protocol sets."""
        if variant.method == "raw":
            return {}
        protocol = named("protocol", self.protocol, PROTOCOLS)
        return protocol(variant.method, group, trials)

    def split_of(self, dataset: str) -> str:
        """Return the split of a dataset: that of its group, or the given one."""
        splits = [group.split for group in self.groups if dataset in group.datasets]
        return next((split for split in splits if split), "given")


def study_names() -> list[str]:
    """Return the names of the built-in studies, in the order of the paper."""
    names = sorted(path.stem for path in FOLDER.glob("*.toml"))
    return sorted(names, key=lambda name: (*_ORDER, name).index(name))


def read_study(name: str | Path) -> Study:
    """Read a built-in study by its name, or a study file by its path.

    >>> read_study("loss").labels
    ['Log', 'Sum (NCA)', 'MCML', 't-distribution']
    """
    path = Path(name)
    if path.suffix != ".toml":
        files = {each: FOLDER / f"{each}.toml" for each in study_names()}
        path = named("study", str(name), files)
    try:
        content = tomllib.loads(read_regular(path).decode("utf-8"))
    except OSError as error:
        raise ValueError(
            f"The study file {str(path)!r} cannot be read: {error.strerror or error}."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(
            f"The study file {str(path)!r} is not valid TOML: {str(error).rstrip('.')}."
        ) from error
    try:
        study = _build(Study, {"name": path.stem, **content})
        _validate(study)
        return study
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


def _build(cls: Any, content: Any, where: str = "the study") -> Any:
    """Build a part of a study from the content of its file."""
    if not isinstance(content, dict):
        raise ValueError(f"{where} must be a TOML table; got {content!r}.")
    known = {part.name: part for part in fields(cls)}
    for name in content:
        named(f"entry of {where}", name, known)
    missing = [
        name
        for name, part in known.items()
        if name not in content and part.default is part.default_factory is MISSING
    ]
    if missing:
        raise ValueError(f"missing in {where}: {', '.join(missing)}.")
    for name, value in content.items():
        _check_type(value, known[name].type, f"{name} in {where}")
    return cls(**{name: _value(name, value) for name, value in content.items()})


# What TOML has for the types of the fields.
_TYPES: dict[Any, tuple[tuple[type, ...], tuple[type, ...], str]] = {
    str: ((str,), (), "a text"),
    int: ((int,), (), "a whole number"),
    bool: ((bool,), (), "true or false"),
    float: ((int, float), (), "a number"),
    tuple[str, ...]: ((list,), (str,), "a list of texts"),
    tuple[int, ...]: ((list,), (int,), "a list of whole numbers"),
    Mapping[str, float]: ((dict,), (int, float), "a table of numbers"),
    Mapping[str, Any]: ((dict,), (), "a table"),
    Size: ((dict,), (), "a table"),
}


def _check_type(value: Any, annotation: Any, what: str) -> None:
    """Raise unless a value of a file suits the type of its field."""
    kinds, inner, words = _TYPES.get(annotation, ((list,), (dict,), "a list of tables"))
    each = value.values() if isinstance(value, dict) else value
    fits = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
    if not fits or (inner and not all(isinstance(part, inner) for part in each)):
        raise ValueError(f"{what} must be {words}; got {value!r}.")


def _value(name: str, value: Any) -> Any:
    if name in _PARTS:
        if isinstance(value, list):
            return tuple(_build(_PARTS[name], each, name) for each in value)
        return _build(_PARTS[name], value, name)
    return tuple(value) if isinstance(value, list) else value


def _validate(study: Study) -> None:
    """Raise if the study refers to a name that does not exist."""
    named("kind of job", study.kind, dict.fromkeys(KINDS))
    named("protocol", study.protocol, PROTOCOLS)
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
