"""Validation rows that were drawn at random vote on each other, never on themselves."""

import numpy as np
import pytest
import torch

from modernnca.core.network import InputShape
from modernnca.core.rows import Examples, Rows
from modernnca.ensemble.baselines import KNNMember
from modernnca.ensemble.ensemble_config import EnsembleConfig
from modernnca.ensemble.fitting import _validation_votes
from modernnca.ensemble.run import Run
from modernnca.train.budget import Budget

CPU = torch.device("cpu")
TRAIN, VALID = [9.0, 9.1, 9.2], [0.0, 0.1, 0.3]


def examples(places, values, group=None):
    x = torch.tensor(places)[:, None]
    codes = torch.zeros(len(x), 0, dtype=torch.long)
    values = torch.tensor(values)[:, None]
    groups = None if group is None else torch.tensor(group)
    return Examples(Rows(x, x[:, :0], codes, group=groups), values, values)


def votes(drawn, valid_values=(1.0, 2.0, 4.0), group=None, kind=KNNMember, **options):
    config = EnsembleConfig.defaults().updated(options)
    run = Run(CPU, Budget(), "regression", config, InputShape(1, 0, 0), [0])
    member = kind(1)
    train = examples(TRAIN, [7.0, 8.0, 9.0], None if group is None else [5, 6, 7])
    member.fit(train, None, run)
    valid = examples(VALID, list(valid_values), group)
    return _validation_votes([member], train, valid, run.but(drawn=drawn))


def test_drawn_rows_vote_on_each_other_and_given_ones_do_not():
    found = votes(drawn=True)
    np.testing.assert_allclose(found.votes[0, :, 0], [2.0, 1.0, 2.0])
    np.testing.assert_allclose(found.squares[0], [4.0, 1.0, 4.0])
    np.testing.assert_allclose(votes(drawn=False).votes[0, :, 0], [7.0, 7.0, 7.0])


@pytest.mark.parametrize("row", range(3))
def test_the_own_target_says_nothing(row):
    values = [1.0, 2.0, 4.0]
    before = votes(drawn=True, valid_values=values).votes[0, row]
    values[row] = 1000.0
    assert votes(drawn=True, valid_values=values).votes[0, row] == before


def test_rows_of_the_own_group_are_silent():
    found = votes(drawn=True, group=[1, 1, 2])
    np.testing.assert_allclose(found.votes[0, :, 0], [4.0, 4.0, 2.0])


def test_rows_that_will_not_be_remembered_do_not_vote():
    found = votes(drawn=True, refit="none")
    np.testing.assert_allclose(found.votes[0, :, 0], [7.0, 7.0, 7.0])


def test_a_member_that_cannot_leave_a_row_out_is_asked_as_before():
    class Whole(KNNMember):
        leave_one_out = KNNMember.__mro__[2].leave_one_out  # that of `Member`

    found = votes(drawn=True, kind=Whole)
    np.testing.assert_allclose(found.votes[0, :, 0], [7.0, 7.0, 7.0])
