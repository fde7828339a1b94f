"""The parts of a study: variants, sizes, dataset groups, printed values, claims."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

GROUPS = ("classification", "regression")
MEASURES = ("average rank", "win", "tie", "lose", "fit seconds", "memory GB")
CLAIMS = (
    *("better", "best", "best but", "similar", "just behind", "not better"),
    *("faster", "purer"),
)


@dataclass(frozen=True)
class Variant:
    """One of the methods, or configurations, that a study compares.

    Attributes:
        method: a peer, or "raw" for the raw columns in a study of embeddings.
        settings: overrides of the method's defaults.
        untuned: further overrides for runs without tuning.
        fixed: overrides that are set after tuning, so that the rest is the same.
        only_tuned: whether it makes sense in tuned runs alone.
        same: other methods and settings that are the same model.
        earlier: settings, as JSON text, that it had under an earlier definition. Their
            records are shown as such and decide nothing.
        tasks: "classification", "regression" or both.
    """

    label: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    untuned: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    only_tuned: bool = False
    same: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    none: tuple[str, ...] = ()  # settings that are None, which TOML cannot express
    tasks: tuple[str, ...] = GROUPS
    alias: str = ""  # its name in a file of published scores, if not its label

    def overrides(self, trials: int, common: Mapping[str, Any] | None = None) -> str:
        """Return the settings as the JSON text of a job, with those `common` to all.

        >>> Variant("M", "modernnca", {"dim": 8}, untuned={"n_blocks": 1}).overrides(0)
        '{"dim": 8, "n_blocks": 1}'
        """
        settings = {**(common or {}), **self.settings, **dict.fromkeys(self.none)}
        if not trials:
            settings |= {**self.untuned, **self.fixed}
        return json.dumps(settings, sort_keys=True)

    def after(self, trials: int) -> str:
        """Return the settings that are set after a search, as the JSON text of a job.

        >>> Variant("M", "modernnca", fixed={"sample_rate": 0.3}).after(100)
        '{"sample_rate": 0.3}'
        """
        return json.dumps(dict(self.fixed) if trials else {}, sort_keys=True)


@dataclass(frozen=True)
class Size:
    """The datasets of a study (a suite, names, or both), seeds and trials."""

    suite: str = ""
    datasets: tuple[str, ...] = ()
    seeds: int = 15
    trials: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Group:
    """Datasets that are reported together, optionally with a split of their own."""

    name: str
    datasets: tuple[str, ...]
    split: str = ""


@dataclass(frozen=True)
class Published:
    """Values printed in the paper, one for each of some variants."""

    measure: str
    task: str  # "classification", "regression" or "all"
    n_tables: int
    values: Mapping[str, float]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, stated so that it can be tested on other results.

    Attributes:
        says: the claim as a sentence.
        kind: "better", "faster" and "purer" compare left with right; "best": left is
            the best of all; "best but": of all but right; "similar": left and right are
            at most `within` ranks apart;
            "just behind": left is behind right, by less than `within` ranks;
            "not better": left is at most `within` ranks ahead of right.
        group: restricts the claim to the datasets of this group.
    """

    says: str
    kind: str
    left: str
    right: str = ""
    task: str = "all"
    group: str = ""
    within: float = 0.5
