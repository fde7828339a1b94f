"""NCA of 2004, and the steps from it to L-NCA as presets."""

from modernnca.estimators.family import NCAClassifier
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.package_models import package_maker, tuning_fields

PEER = Peer(
    name="nca",
    title="NCA",
    paper="Goldberger et al., 2004",
    source="this package; the setting `preset` goes from nca-v0 (2004) to nca-v4",
    differs="the projection is trained in torch, with early stopping",
    make=package_maker(NCAClassifier, NCAClassifier, preset="nca-v0"),
    tasks=("binclass", "multiclass"),
    # No defaults: the learning rate of v0 (L-BFGS) is far too large for v2 (SGD).
    **tuning_fields("nca-v0"),
)
