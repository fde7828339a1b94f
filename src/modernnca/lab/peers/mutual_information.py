"""The mutual information of each column with the target, in nats."""

import torch
from torch import Tensor

from modernnca.lab.peers.supervised import LabeledRows

_MAX_BINS = 32


def column_information(train: LabeledRows) -> Tensor:
    """Mutual information of columns and target, (P + Q + C,), ordered as tokens are.

    Numbers are counted in quantile bins: the more rows, the more bins.
    """
    rows, y = train
    n_bins = max(2, min(_MAX_BINS, round(len(y) ** (1 / 3))))
    labels = quantile_bins(y[:, None], n_bins)[:, 0] if y.is_floating_point() else y
    numbers = quantile_bins(torch.cat([rows.numbers, rows.plain], 1), n_bins)
    columns = [*numbers.T, *rows.codes.T]
    return torch.stack([mutual_information(column, labels) for column in columns])


def quantile_bins(x: Tensor, n_bins: int) -> Tensor:
    """The bin of each number of each column, (N, P); equal numbers share a bin.

    >>> quantile_bins(torch.tensor([[1.0], [7.0], [5.0], [7.0]]), 2).T
    tensor([[0, 1, 0, 1]])
    """
    index = torch.arange(1, n_bins, device=x.device) * len(x) // n_bins
    edges = x.sort(0).values[index]  # (n_bins - 1, P)
    return torch.searchsorted(edges.T.contiguous(), x.T.contiguous(), right=True).T


def mutual_information(x: Tensor, y: Tensor) -> Tensor:
    """H(x) + H(y) - H(x, y) of integers (N,), at least zero.

    >>> x = torch.arange(1000) % 2
    >>> mutual_information(x, 7 * x).round(decimals=2), mutual_information(x, x * 0)
    (tensor(0.6900), tensor(0.))
    """
    joint = x * (y.max() + 1) + y
    return (entropy(x) + entropy(y) - entropy(joint)).clamp(min=0.0)


def entropy(x: Tensor) -> Tensor:
    """The entropy of integers (N,), with the correction of Miller (1955).

    Counts underestimate the entropy of K values by about (K - 1) / 2N. Without the
    correction, columns of many values would seem too informative.
    """
    counts = x.unique(return_counts=True)[1]
    p = counts / counts.sum()
    return -(p * p.log()).sum() + (len(counts) - 1) / (2 * len(x))
