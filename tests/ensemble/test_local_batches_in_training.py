"""Training takes local batches, if it is told to and there are rows enough."""

import pytest
import torch

from modernnca.core.samplers import SAMPLERS
from tests.estimators.models import regressor
from tests.estimators.tables import mixed_table, numbers_of

FRAME = mixed_table(1600)
QUICK = {"max_epochs": 2, "n_members": 1, "n_blocks": 0, "random_state": 0}
QUICK |= {"batch_size": 64, "refit": "none", "baseline_check": False}


@pytest.mark.parametrize(("leaf_size", "local"), [(0, False), (16, True), (3, False)])
def test_rows_of_a_batch_are_near(leaf_size, local, monkeypatch):
    """In the embedding of the trained network, which is near that of training."""
    batches = []
    sample = SAMPLERS["batch"]

    def spy(batch, context):
        batches.append(batch)
        return sample(batch, context)

    monkeypatch.setitem(SAMPLERS, "batch", spy)
    model = regressor(**QUICK, leaf_size=leaf_size).fit(FRAME, numbers_of(FRAME))
    keys = model.members_[0].keys_
    nearest = [torch.cdist(keys[b], keys[b]).fill_diagonal_(torch.inf) for b in batches]
    own = torch.cat([each.amin(1) for each in nearest]).mean()
    random = torch.randperm(len(keys), generator=torch.Generator().manual_seed(0))
    apart = torch.cdist(keys[random[:64]], keys[random[:64]]).fill_diagonal_(torch.inf)
    assert (own < 0.8 * apart.amin(1).mean()).item() is local


def test_each_row_is_learned_from_once_in_an_epoch(monkeypatch):
    batches = []
    sample = SAMPLERS["batch"]

    def spy(batch, context):
        batches.append(batch)
        return sample(batch, context)

    monkeypatch.setitem(SAMPLERS, "batch", spy)
    regressor(**QUICK).fit(FRAME, numbers_of(FRAME))
    first = torch.cat(batches[: len(batches) // 2])
    assert len(first) == len(first.unique())
