"""TabCon: an embedding learned by contrast within the batch, and k-NN in it."""

from modernnca.estimators.family import TabConClassifier, TabConRegressor
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.own import card_of, maker

PEER = Peer(
    name="tabcon",
    title="TabCon",
    paper="Ye et al., 2025, appendix",
    source="this package",
    make=maker(TabConClassifier, TabConRegressor),
    **card_of("tabcon"),
)
