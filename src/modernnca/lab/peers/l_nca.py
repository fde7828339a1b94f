"""L-NCA: soft nearest neighbors in a learned linear projection; NCAv4 of the ladder."""

from modernnca.estimators.family import LNCAClassifier, LNCARegressor
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.package_models import package_maker, tuning_fields

PEER = Peer(
    name="l-nca",
    title="L-NCA",
    paper="Goldberger et al., 2004; Ye et al., 2025",
    source="this package",
    make=package_maker(LNCAClassifier, LNCARegressor),
    **tuning_fields("nca-v4"),
)
