"""ModernNCA with the defaults of this package."""

from modernnca.estimators.classifier import ModernNCAClassifier
from modernnca.estimators.regressor import ModernNCARegressor
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.own import card_of, maker

PEER = Peer(
    name="modernnca",
    title="ModernNCA",
    paper="Ye et al., 2025",
    source="this package",
    differs="the package's defaults; \"modernnca-paper\" has the paper's",
    make=maker(ModernNCAClassifier, ModernNCARegressor),
    **card_of("default"),
)
