"""L-NCA: a learned linear projection, and soft nearest neighbors in it."""

from modernnca.estimators.family import LNCAClassifier, LNCARegressor
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.own import card_of, maker

PEER = Peer(
    name="l-nca",
    title="L-NCA",
    paper="Goldberger et al., 2004; Ye et al., 2025",
    source="this package",
    make=maker(LNCAClassifier, LNCARegressor),
    **card_of("linear"),
)
