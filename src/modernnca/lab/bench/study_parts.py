"""The parts of a study: variants, sizes, groups of tables, printed numbers, claims."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

GROUPS = ("classification", "regression")
MEASURES = ("average rank", "win", "tie", "lose", "fit seconds", "memory GB")
CLAIMS = ("better", "best", "similar", "not better", "faster", "purer")


@dataclass(frozen=True)
class Variant:
    """One of the things that a study compares.

    Attributes:
        method: a peer, or "raw" for the columns themselves where embeddings are asked.
        settings: what differs from the method's defaults.
        untuned: what differs besides, where nothing is searched for.
        tasks: "classification", "regression" or both.
    """

    label: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    untuned: Mapping[str, Any] = field(default_factory=dict)
    none: tuple[str, ...] = ()  # settings that are None, which TOML cannot say
    tasks: tuple[str, ...] = GROUPS
    alias: str = ""  # its name in a file of published scores, if not its label

    def asked(self, trials: int) -> str:
        """The overrides, as the JSON text of a job.

        >>> Variant("M", "modernnca", {"dim": 8}, untuned={"n_blocks": 1}).asked(0)
        '{"dim": 8, "n_blocks": 1}'
        """
        chosen = {**self.settings, **dict.fromkeys(self.none)}
        return json.dumps(
            chosen if trials else {**chosen, **self.untuned}, sort_keys=True
        )


@dataclass(frozen=True)
class Size:
    """On which tables a study runs: a suite, names, or both; and how often."""

    suite: str = ""
    datasets: tuple[str, ...] = ()
    seeds: int = 15
    trials: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Group:
    """Tables that are looked at together, and maybe split in a way of their own."""

    name: str
    datasets: tuple[str, ...]
    split: str = ""


@dataclass(frozen=True)
class Published:
    """What the paper printed: one number for each of some variants."""

    measure: str
    task: str  # "classification", "regression" or "all"
    n_tables: int
    values: Mapping[str, float]


@dataclass(frozen=True)
class Claim:
    """What the paper says of its numbers, so that others can be asked the same.

    Attributes:
        kind: "better", "faster" and "purer": left is, than right; "best": left is, of
            all; "similar": left and right are at most `within` ranks apart; "not
            better": left is at most `within` ranks before right.
        group: only on the tables of this group.
    """

    says: str
    kind: str
    left: str
    right: str = ""
    task: str = "all"
    group: str = ""
    within: float = 0.5
