"""NCA of 2004, and the steps from it to L-NCA, by the setting `version`."""

from modernnca.estimators.family import NCAClassifier
from modernnca.estimators.spaces import SPACES
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.own import maker

PEER = Peer(
    name="nca",
    title="NCA",
    paper="Goldberger et al., 2004",
    source="this package, with the version as a setting: v0 (2004) to v4 (L-NCA)",
    differs="a net of torch learns the projection, with early stopping",
    make=maker(NCAClassifier, NCAClassifier, version="v0"),
    # No defaults: the rate of v0 (L-BFGS) would be far too much for v2 (SGD).
    space=SPACES["nca-v0"],
    searching={"refit": None},
    tasks=("binclass", "multiclass"),
)
