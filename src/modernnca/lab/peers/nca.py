"""NCA of 2004, and the steps from it to L-NCA, by the preset."""

from modernnca.estimators.family import NCAClassifier
from modernnca.estimators.search_space import SPACES
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.own import maker

PEER = Peer(
    name="nca",
    title="NCA",
    paper="Goldberger et al., 2004",
    source="this package, with the preset as a setting: nca-v0 (2004) to nca-v4",
    differs="a net of torch learns the projection, with early stopping",
    make=maker(NCAClassifier, NCAClassifier, preset="nca-v0"),
    # No defaults: the rate of v0 (L-BFGS) would be far too much for v2 (SGD).
    space=SPACES["nca-v0"],
    searching={"refit": "none"},
    tasks=("binclass", "multiclass"),
)
