"""ModernNCA with the defaults of this package."""

from modernnca.estimators.classifier import ModernNCAClassifier
from modernnca.estimators.regressor import ModernNCARegressor
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.package_models import package_maker, tuning_fields

PEER = Peer(
    name="modernnca",
    title="ModernNCA",
    paper="Ye et al., 2025",
    source="this package",
    differs='the package\'s defaults; "modernnca-paper" has those of the paper',
    make=package_maker(ModernNCAClassifier, ModernNCARegressor),
    **tuning_fields("default"),
)
