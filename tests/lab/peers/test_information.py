"""Mutual information equals its definition, and ranks as others rank."""

import math

import torch
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import mutual_info_classif

from modernnca.core.rows import Rows
from modernnca.lab.peers.information import bins, entropy, information, informations
from modernnca.lab.peers.supervised import Examples


def test_entropy_is_that_of_the_counts():
    x = torch.tensor([0, 0, 0, 5])
    expected = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25)) + 1 / 8
    torch.testing.assert_close(entropy(x), torch.tensor(expected))


def test_information_is_the_double_sum_of_its_definition():
    torch.manual_seed(0)
    n_rows = 20_000
    x = torch.randint(4, (n_rows,))
    y = torch.where(torch.rand(n_rows) < 0.6, x % 3, torch.randint(3, (n_rows,)))
    joint = torch.zeros(4, 3).index_put_((x, y), torch.ones(()), accumulate=True)
    joint /= n_rows
    ratio = joint / (joint.sum(1, keepdim=True) * joint.sum(0))
    expected = (joint * ratio.log()).sum()
    torch.testing.assert_close(information(x, y), expected, atol=5e-4, rtol=0)


def test_noise_tells_nothing_however_many_values_it_has():
    torch.manual_seed(0)
    y = torch.randint(5, (5000,))
    for n_values in (2, 20, 100):
        assert information(torch.randint(n_values, (5000,)), y) < 0.01


def test_bins_have_equal_shares_and_equal_numbers_share_one():
    x = torch.randn(1000, 2)
    assert bins(x, 10).T[0].bincount().tolist() == [100] * 10
    few = torch.tensor([0.0, 1.0]).repeat(50)[:, None]
    assert len(bins(few, 10).unique()) == 2


def test_columns_are_ranked_much_as_scikit_learn_does_by_neighbors():
    X, y = load_breast_cancer(return_X_y=True)
    numbers = torch.tensor(X, dtype=torch.float32)
    none = torch.zeros(len(y), 0)
    examples = Examples(Rows(numbers, none, none.long()), torch.tensor(y))
    found = informations(examples)
    theirs = torch.tensor(mutual_info_classif(X, y, random_state=0))
    ranks = torch.stack([v.argsort().argsort().float() for v in (found, theirs)])
    assert torch.corrcoef(ranks)[0, 1] > 0.95


def test_columns_of_all_kinds_are_told_in_the_order_of_tokens():
    torch.manual_seed(0)
    y = torch.randint(2, (3000,))
    noise = torch.randn(3000, 1)
    rows = Rows(
        torch.cat([noise, y[:, None] + 0.7 * noise.roll(1, 0)], 1),
        (y ^ (torch.rand(3000) < 0.02))[:, None].float(),
        torch.stack([torch.randint(3, (3000,)), 3 + y], 1),
    )
    found = informations(Examples(rows, y))
    assert found.argsort(descending=True)[:3].tolist() == [4, 2, 1]
    numbers = informations(Examples(rows, y + 0.1 * torch.randn(3000)))
    assert numbers.argsort(descending=True)[:3].tolist() == [4, 2, 1]
    assert found[[0, 3]].max() < 0.01
