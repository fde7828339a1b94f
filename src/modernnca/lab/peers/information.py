"""Mutual information: how much each column says about the target, in nats."""

import torch
from torch import Tensor

from modernnca.lab.peers.supervised import Examples

_MOST_BINS = 32


def informations(examples: Examples) -> Tensor:
    """How much each column tells, (P + Q + C,), in the order of `Tokens`.

    Numbers are counted in bins of about equal share; the more rows, the more bins.
    """
    rows, y = examples
    n_bins = max(2, min(_MOST_BINS, round(len(y) ** (1 / 3))))
    labels = bins(y[:, None], n_bins)[:, 0] if y.is_floating_point() else y
    columns = [
        bins(torch.cat([rows.numbers, rows.plain], 1), n_bins),
        rows.codes,
    ]
    told = [information(column, labels) for part in columns for column in part.T]
    return torch.stack(told)


def bins(x: Tensor, n_bins: int) -> Tensor:
    """The bin of each number of each column, (N, P); equal numbers share one.

    >>> bins(torch.tensor([[1.0], [7.0], [5.0], [7.0]]), 2).T
    tensor([[0, 1, 0, 1]])
    """
    at = torch.arange(1, n_bins, device=x.device) * len(x) // n_bins
    edges = x.sort(0).values[at]  # (n_bins - 1, P)
    return torch.searchsorted(edges.T.contiguous(), x.T.contiguous(), right=True).T


def information(x: Tensor, y: Tensor) -> Tensor:
    """H(x) + H(y) - H(x, y) of whole numbers (N,), and never below zero.

    >>> x = torch.arange(1000) % 2
    >>> information(x, 7 * x).round(decimals=2), information(x, x * 0)
    (tensor(0.6900), tensor(0.))
    """
    both = x * (y.max() + 1) + y
    return (entropy(x) + entropy(y) - entropy(both)).clamp(min=0.0)


def entropy(x: Tensor) -> Tensor:
    """Of whole numbers (N,), by their counts.

    Few counts look more orderly than they are, by (K - 1) / 2N for K values (Miller,
    1955); without this, columns of many values would seem to tell more.
    """
    counts = x.unique(return_counts=True)[1]
    shares = counts / counts.sum()
    return -(shares * shares.log()).sum() + (len(counts) - 1) / (2 * len(x))
