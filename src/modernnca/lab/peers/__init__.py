"""The methods of the benchmark: one card in one file for each."""

from importlib import import_module

from modernnca._named import named
from modernnca.lab.peers.card import Peer

# name -> file, imported when the method is first used
PEERS: dict[str, str] = {
    "modernnca": "modernnca",
    "modernnca-paper": "modernnca_paper",
    "l-nca": "l_nca",
    "nca": "nca",
    "tabcon": "tabcon",
    "knn": "knn",
    "svm": "svm",
    "random-forest": "random_forest",
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "catboost": "catboost",
    "mlp": "mlp",
    "resnet": "resnet",
    "dcnv2": "dcnv2",
    "mlp-plr": "mlp_plr",
    "tabm": "tabm",
    "realmlp": "realmlp",
    "node": "node",
    "danets": "danets",
    "tabcaps": "tabcaps",
    "tangos": "tangos",
    "ft-t": "ft_t",
    "saint": "saint",
    "excelformer": "excelformer",
    "switchtab": "switchtab",
    "tabr": "tabr",
    "ptarl": "ptarl",
}


def peer(name: str) -> Peer:
    """Return the card of the method called `name`; an unknown name is an error.

    >>> peer("knn").title
    'KNN'
    """
    return import_module(f"modernnca.lab.peers.{named('method', name, PEERS)}").PEER
