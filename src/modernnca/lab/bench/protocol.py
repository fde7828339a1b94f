"""Protocols of studies: the settings that all methods of a study have in common."""

from collections.abc import Callable
from typing import Any

from modernnca.lab.peers import peer

BATCH_SIZE = 1024


def paper_settings(method: str, task: str, trials: int) -> dict[str, Any]:
    """The settings of a method in the paper's protocol, where its defaults differ.

    Networks learn from batches of 1,024 rows, and have the settings of the public
    benchmark; what is tuned is left to the search. Every network stops by accuracy, or
    by RMSE in regression, the measures of the paper's tables. Boosting libraries stop
    by their own loss, as in the public benchmark.

    >>> paper_settings("mlp", "classification", 0)
    {'weight_decay': 1e-05, 'batch_size': 1024}
    >>> paper_settings("mlp", "classification", 100)
    {'batch_size': 1024}
    """
    card = peer(method)
    settings = dict(card.published)
    if trials:
        settings = {n: v for n, v in settings.items() if n not in card.space}
    if card.defaults.get("batch_size", BATCH_SIZE) != BATCH_SIZE:
        settings["batch_size"] = BATCH_SIZE
    return settings | (dict(card.in_regression) if task == "regression" else {})


def no_settings(method: str, task: str, trials: int) -> dict[str, Any]:
    """Every method has its defaults."""
    return {}


PROTOCOLS: dict[str, Callable[[str, str, int], dict[str, Any]]] = {
    "defaults": no_settings,
    "paper": paper_settings,
}
