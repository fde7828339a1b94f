"""Networks trained together learn what they would learn alone from these batches."""

import numpy as np
import pytest
import torch

from modernnca.ensemble import joint_training
from modernnca.ensemble.dense_rounds import continue_where_dense
from modernnca.ensemble.network_member import NetworkMember
from tests.estimators.models import classifier, regressor
from tests.estimators.tables import classes_of, mixed_table, numbers_of

FRAME = mixed_table(200)
# Dropout is drawn for all networks of a stack at once, so it would differ.
QUICK = {"max_epochs": 3, "dropout": 0.0, "refit": "none", "random_state": 0}


def embeddings(model):
    return [member.embed(model._read_queries(FRAME)) for member in model.members_]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_together_is_as_alone(task, monkeypatch):
    make, y = (
        (classifier, classes_of(FRAME))
        if task == "classification"
        else (regressor, numbers_of(FRAME))
    )
    options = {**QUICK, "forest_member": False, "baseline_check": False}
    # With leaves, each network alone would have batches of its own.
    options |= {"optimizer": "adamw", "dense_rounds": 0, "leaf_size": 0}
    together = make(**options).fit(FRAME, y)

    losses = []

    def train_alone(members, rows, config, runs, generators):
        """All of them with the batches of the first."""
        own = []
        for member in members:
            fresh = runs[0].generators()
            fresh.rows.set_state(generators.rows.get_state())
            given = member.config_
            history = NetworkMember._train(member, rows, None, given, runs[0], fresh)
            own.append([epoch.train_loss for epoch in history.epochs])
        losses.append(np.sum(own, axis=0))
        return history

    monkeypatch.setattr(joint_training, "_train", train_alone)
    alone = make(**options).fit(FRAME, y)
    # The loss of a stack is the sum of the losses. (Weights may differ where they do
    # not matter: the gradient of a bias is mere rounding where only distances count, or
    # before BatchNorm.)
    found = [[e.train_loss for e in together.history_ if e.member == m] for m in (0, 1)]
    np.testing.assert_allclose(sorted(found), sorted(map(list, losses)), rtol=1e-3)
    bare = [embeddings(model)[0] for model in (together, alone)]  # has no BatchNorm
    distances = [torch.pdist(each) for each in bare]
    torch.testing.assert_close(*distances, rtol=1e-3, atol=1e-3)


def test_pairs_on_a_cpu_join_a_deep_network_with_a_shallow_one(monkeypatch):
    groups = []
    fit = joint_training.fit_together

    def spy(members, *rest):
        groups.append([member.config_ for member in fit_and_return(members, *rest)])
        return [member.history_ for member in members]

    def fit_and_return(members, *rest):
        fit(members, *rest)
        return members

    monkeypatch.setattr("modernnca.ensemble.fitting.fit_together", spy)
    regressor(**QUICK).fit(FRAME, numbers_of(FRAME))
    depths = sorted(sorted(config.n_blocks for config in group) for group in groups)
    assert depths == [[0, 2], [1, 1]]


@pytest.mark.parametrize(
    "options",
    [
        {"patience": 3},
        {"callbacks": [lambda epoch: None]},
        {"config": {"fused": False}},
        {"config": {"sampler": "all"}},
    ],
    ids=lambda options: "-".join([*options, *options.get("config", ())]),
)
def test_some_options_train_each_network_alone(options, monkeypatch):
    def fail(*_):
        raise AssertionError

    monkeypatch.setattr("modernnca.ensemble.fitting.fit_together", fail)
    model = regressor(**{**QUICK, **options}).fit(FRAME, numbers_of(FRAME))
    assert len(model.members_) == 4


def test_callbacks_do_not_change_what_is_kept():
    """They see the scores of all epochs, and the last weights are kept all the same."""
    seen = []
    options = {**QUICK, "n_members": 1, "baseline_check": False}
    y = numbers_of(FRAME)
    plain = regressor(**options).fit(FRAME, y)
    watched = regressor(**options, callbacks=[lambda e: seen.append(e.score) and None])
    watched.fit(FRAME, y)
    assert len(seen) == 3
    assert np.isfinite(seen).all()
    assert plain.best_epochs_ == watched.best_epochs_ == [3]
    np.testing.assert_allclose(plain.predict(FRAME), watched.predict(FRAME), rtol=1e-5)


class _Member:
    """What `continue_where_dense` needs of a member."""

    def __init__(self, cooling, losses, config):
        self.network_, self.config_ = torch.nn.Linear(1, 1), config
        self.cooling_, self.losses = cooling, list(losses)
        self.valid_loss_ = self.losses.pop(0)

    def settle(self, train, valid, run):
        self.valid_loss_ = self.losses.pop(0)


@pytest.mark.parametrize(
    ("cooling", "losses", "n_rounds", "kept"),
    [
        (0.9, [1.0], 0, 1.0),  # not dense
        (0.3, [1.0, 0.97], 1, 0.97),  # the first round gains too little
        (0.3, [1.0, 0.5, 0.6], 2, 0.5),  # the second round is undone
        (0.3, [1.0, 0.8, 0.6], 2, 0.6),  # as many as allowed
    ],
)
def test_rounds_go_on_while_they_pay(cooling, losses, n_rounds, kept):
    model = regressor(**QUICK).fit(FRAME, numbers_of(FRAME))
    config = model.members_[0].config_
    member, configs = _Member(cooling, losses, config), []

    def train_on(changed):
        configs.append(changed)
        torch.nn.init.constant_(member.network_.weight, len(configs))
        return True

    rows = model.preparation_.part(model.rows_, torch.device("cpu")).encoded
    run = type("R", (), {"budget": type("B", (), {"exhausted": lambda self: None})()})
    first = member.network_.weight.item()
    continue_where_dense([member], rows, rows, [run], train_on)
    assert len(configs) == n_rounds
    sampled = [512 * 2**i for i in range(n_rounds)]
    assert [c.max_sampled for c in configs] == sampled
    assert member.valid_loss_ == kept
    best = losses.index(kept)
    assert member.network_.weight.item() == (best or first)
    if best:
        assert member.config_.max_sampled == sampled[best - 1]
        assert member.config_.n_blocks == config.n_blocks
