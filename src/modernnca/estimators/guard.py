"""What to fall back on where learning was in vain: plain k-NN, or a constant."""

from typing import Any, NamedTuple

import torch

from modernnca.core.net import Net, NetShape
from modernnca.table.encoder import TableEncoder
from modernnca.train.seeding import seeded

_MOST_NUMBERS = 50_000_000  # of a memory of plain rows; beyond, k-NN is not tried
_FAR = 1e30  # at this temperature all distances are alike


class Fallback(NamedTuple):
    """A predictor that has learned nothing."""

    name: str
    settings: dict[str, Any]  # what it changes
    net: Net


def fallbacks(table: TableEncoder, n_rows: int) -> list[Fallback]:
    """The predictors that a learned one must not be worse than.

    Both are neighbor models in the space of the columns themselves: the five nearest
    rows vote, or all rows do alike.
    """
    plain = {"distance": "euclidean", "loss": "log"}
    knn = {**plain, "prediction": "knn", "n_neighbors": min(5, n_rows)}
    found = [Fallback("constant", {**plain, "prediction": "soft"}, _nothing(table))]
    width = table.n_numbers + table.n_plain + table.n_levels
    if n_rows * width <= _MOST_NUMBERS:
        found.insert(0, Fallback("knn", knn, _identity(table, width)))
    return found


def _identity(table: TableEncoder, width: int) -> Net:
    """A net that leaves a row as it is, its categories one-hot."""
    net = _net(table, dim=width)
    d_in = net.linear.weight.shape[1]
    with torch.no_grad():
        net.linear.weight.copy_(torch.eye(width)[:, :d_in])
        net.linear.levels[: width - d_in] = torch.eye(width)[d_in:]
    return net


def _nothing(table: TableEncoder) -> Net:
    """A net to which all rows are alike."""
    return _net(table, dim=1, temperature=_FAR)


def _net(table: TableEncoder, *, dim: int, temperature: float = 1.0) -> Net:
    """A net of zeros."""
    shape = NetShape(
        table.n_numbers,
        table.n_plain,
        table.n_levels,
        encoding="none",
        embedding="linear",
        dim=dim,
        temperature=temperature,
    )
    with seeded(0):  # nobody else's draws are touched
        net = Net(shape)
    for parameter in net.parameters():
        parameter.data.zero_()
    return net.eval().requires_grad_(False)
