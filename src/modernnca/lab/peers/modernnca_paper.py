"""ModernNCA with the defaults of the paper's public code."""

from modernnca.estimators.classifier import ModernNCAClassifier
from modernnca.estimators.regressor import ModernNCARegressor
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.package_models import package_maker, tuning_fields

PEER = Peer(
    name="modernnca-paper",
    title="ModernNCA (paper)",
    paper="Ye et al., 2025",
    source='this package, preset="paper"',
    make=package_maker(ModernNCAClassifier, ModernNCARegressor, preset="paper"),
    **tuning_fields("paper"),
)
