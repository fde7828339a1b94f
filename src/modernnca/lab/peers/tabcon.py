"""TabCon: k-NN in an embedding learned by a contrastive loss within the batch."""

from modernnca.estimators.family import TabConClassifier, TabConRegressor
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.package_models import package_maker, tuning_fields

PEER = Peer(
    name="tabcon",
    title="TabCon",
    paper="Ye et al., 2025, appendix",
    source="this package",
    make=package_maker(TabConClassifier, TabConRegressor),
    **tuning_fields("tabcon"),
)
