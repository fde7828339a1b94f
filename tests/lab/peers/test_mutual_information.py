"""Mutual information equals its definition, and ranks columns as scikit-learn does."""

import math

import torch
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import mutual_info_classif

from modernnca.core.rows import Rows
from modernnca.lab.peers.mutual_information import (
    column_information,
    entropy,
    mutual_information,
    quantile_bins,
)
from modernnca.lab.peers.supervised import LabeledRows


def test_entropy_by_hand():
    x = torch.tensor([0, 0, 0, 5])
    expected = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25)) + 1 / 8
    torch.testing.assert_close(entropy(x), torch.tensor(expected))


def test_mutual_information_equals_its_definition():
    torch.manual_seed(0)
    n_rows = 20_000
    x = torch.randint(4, (n_rows,))
    y = torch.where(torch.rand(n_rows) < 0.6, x % 3, torch.randint(3, (n_rows,)))
    joint = torch.zeros(4, 3).index_put_((x, y), torch.ones(()), accumulate=True)
    joint /= n_rows
    ratio = joint / (joint.sum(1, keepdim=True) * joint.sum(0))
    expected = (joint * ratio.log()).sum()
    torch.testing.assert_close(mutual_information(x, y), expected, atol=5e-4, rtol=0)


def test_noise_is_uninformative_however_many_values_it_has():
    torch.manual_seed(0)
    y = torch.randint(5, (5000,))
    for n_values in (2, 20, 100):
        assert mutual_information(torch.randint(n_values, (5000,)), y) < 0.01


def test_bins_have_equal_counts_and_equal_numbers_share_a_bin():
    x = torch.randn(1000, 2)
    assert quantile_bins(x, 10).T[0].bincount().tolist() == [100] * 10
    few = torch.tensor([0.0, 1.0]).repeat(50)[:, None]
    assert len(quantile_bins(few, 10).unique()) == 2


def test_columns_are_ranked_almost_as_by_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    numbers = torch.tensor(X, dtype=torch.float32)
    none = torch.zeros(len(y), 0)
    train = LabeledRows(Rows(numbers, none, none.long()), torch.tensor(y))
    found = column_information(train)
    expected = torch.tensor(mutual_info_classif(X, y, random_state=0))
    ranks = torch.stack([v.argsort().argsort().float() for v in (found, expected)])
    assert torch.corrcoef(ranks)[0, 1] > 0.95


def test_columns_of_all_kinds_are_in_the_order_of_tokens():
    torch.manual_seed(0)
    y = torch.randint(2, (3000,))
    noise = torch.randn(3000, 1)
    rows = Rows(
        torch.cat([noise, y[:, None] + 0.7 * noise.roll(1, 0)], 1),
        (y ^ (torch.rand(3000) < 0.02))[:, None].float(),
        torch.stack([torch.randint(3, (3000,)), 3 + y], 1),
    )
    found = column_information(LabeledRows(rows, y))
    assert found.argsort(descending=True)[:3].tolist() == [4, 2, 1]
    numbers = column_information(LabeledRows(rows, y + 0.1 * torch.randn(3000)))
    assert numbers.argsort(descending=True)[:3].tolist() == [4, 2, 1]
    assert found[[0, 3]].max() < 0.01
