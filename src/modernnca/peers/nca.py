"""NCA of 2004, and the steps from it to L-NCA, by the setting `version`."""

from modernnca.estimators.family import NCAClassifier
from modernnca.peers.base import Peer
from modernnca.peers.own import card_of, maker

PEER = Peer(
    name="nca",
    title="NCA",
    paper="Goldberger et al., 2004",
    source="this package, with the version as a setting: v0 (2004) to v4 (L-NCA)",
    differs="a net of torch learns the projection, with early stopping",
    make=maker(NCAClassifier, NCAClassifier, version="v0"),
    **card_of("nca-v0"),
    tasks=("binclass", "multiclass"),
)
