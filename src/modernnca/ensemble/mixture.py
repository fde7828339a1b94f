"""The default members: networks that differ, and a forest where rows are few."""

from modernnca.ensemble.ensemble_config import EnsembleConfig
from modernnca.ensemble.forest_member import ForestMember
from modernnca.ensemble.member import Member
from modernnca.ensemble.network_member import NetworkMember

_FINE = 4.5  # times the scale of the frequencies
_BARE = {"n_blocks": 0}
_FEW_ROWS = 3000


def mixed_networks() -> list[NetworkMember]:
    """Eight networks, of which an ensemble takes the first so many.

    A network without a block is the paper's own; where it is better, it is much better,
    and so is a deep one. All eight are better than the
    first four twice (experiments/README.md).
    """
    return [
        NetworkMember(**_BARE),
        NetworkMember(numeric_transform="quantile"),
        NetworkMember(numeric_transform="squashed"),
        NetworkMember(depth=2),
        NetworkMember(**_BARE, numeric_transform="quantile"),
        NetworkMember(numeric_transform="quantile", frequency=_FINE),
        NetworkMember(**_BARE, frequency=_FINE),
        NetworkMember(depth=2),
    ]


def default_members(
    config: EnsembleConfig, n_rows: int, *, classification: bool
) -> list[Member]:
    """The members of an ensemble that learns from so many rows."""
    networks = mixed_networks() if config.diversity == "mixed" else [NetworkMember()]
    members: list[Member] = [
        networks[number % len(networks)] for number in range(config.n_members)
    ]
    # With more rows networks find what trees find, and more (see experiments/). Without
    # weights, a forest would count as much as a network.
    several = config.n_members > 1 and config.combine == "weighted"
    soft = config.prediction == "soft" and classification
    if config.forest_member and several and soft and n_rows < _FEW_ROWS:
        members.append(ForestMember())
    return members
