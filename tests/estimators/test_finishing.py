"""After stopping, networks go on learning from all rows, gently."""

import copy
import time

import numpy as np
import pytest
import torch
from tests.estimators.tables import classes_of, mixed_table, numbers_of

from modernnca import ModernNCAClassifier, ModernNCARegressor
from modernnca.estimators import learning

FRAME = mixed_table()
LABELS, NUMBERS = classes_of(FRAME), numbers_of(FRAME)
HELD = np.arange(120) % 5 == 0
QUICK = {"max_epochs": 3, "n_members": 2, "random_state": 0, "guard": False}


def fit(labels=LABELS, **settings):
    """A model that stops by every fifth row."""
    model = ModernNCAClassifier(**{**QUICK, **settings})
    held_out = (FRAME[HELD], labels[HELD])
    return model.fit(FRAME[~HELD], labels[~HELD], eval_set=held_out)


def same_nets(one, other):
    return np.array_equal(one.transform(FRAME), other.transform(FRAME))


def test_it_learns_from_the_held_out_rows():
    """With one epoch there is one to choose, whatever the held-out rows say."""
    turned = LABELS.copy()
    turned[HELD] = np.roll(LABELS[HELD], 1)
    assert same_nets(
        *(fit(labels, max_epochs=1, finishing=0.0) for labels in (LABELS, turned))
    )
    assert not same_nets(*(fit(labels, max_epochs=1) for labels in (LABELS, turned)))


def test_what_was_judged_is_the_same():
    finished, stopped = fit(), fit(finishing=0.0)
    assert not same_nets(finished, stopped)
    told = [
        ([(e.train_loss, e.score) for e in model.history_], model.member_weights_)
        for model in (finished, stopped)
    ]
    assert told[0] == told[1]
    assert str(finished.calibration_) == str(stopped.calibration_)


@pytest.mark.parametrize("refit", [None, "full"])
def test_rows_left_out_or_learned_anew_are_not_finished_with(refit):
    assert same_nets(fit(refit=refit), fit(refit=refit, finishing=0.0))


@pytest.mark.parametrize(
    ("finishing", "few", "share"), [(3.0, 120, 3), (3.0, 180, 2), (9.0, 3000, 3)]
)
def test_how_long_is_a_share_of_what_led_to_the_best(
    finishing, few, share, monkeypatch
):
    """With few rows it is a smaller one, down to a third."""
    monkeypatch.setattr(learning, "_FEW_ROWS", few)  # of 120
    seen = []
    model = fit(finishing=finishing, callbacks=[seen.append])
    unjudged = [epoch for epoch in seen if np.isnan(epoch.score)]
    assert len(seen) - len(unjudged) == len(model.history_)
    expected = sum(max(2, share * best) for best in model.best_epochs_)
    assert len(unjudged) == expected


def test_it_goes_gently():
    """Two steps of plain descent at three tenths of the rate: 0.6 of the first one."""
    plain = {
        "n_members": 1,
        "variety": "alike",
        "n_blocks": 0,
        "optimizer": "sgd",
        "weight_decay": 0.0,
        "sampler": "all",
        "batch_size": 1000,
        "max_epochs": 1,
        "averaging": 1e-9,  # the last weights, as they are
    }
    born, stopped, finished = (
        fit(**plain, learning_rate=rate, finishing=finishing).members_[0].net
        for rate, finishing in ((1e-12, 0.0), (1e-3, 0.0), (1e-3, 1.0))
    )
    first = (stopped.linear.weight - born.linear.weight).norm()
    rest = (finished.linear.weight - stopped.linear.weight).norm()
    assert (rest / first).item() == pytest.approx(0.6, rel=0.1)


def test_without_time_the_weights_stay():
    model = fit(finishing=0.0)
    nets = model._networks()
    before = [copy.deepcopy(net.state_dict()) for net in nets]
    over = time.monotonic() - 1.0
    model._finish(model.remembered_, nets, [0, 1], (over - 1.0, over))
    for net, state in zip(nets, before, strict=True):
        after = net.state_dict()
        assert all(torch.equal(after[name], state[name]) for name in state)
        assert not net.training
        assert not any(part.requires_grad for part in net.parameters())


def test_an_interruption_while_finishing_resumes_to_the_same_bits(tmp_path):
    whole = fit()

    def crash(epoch):
        if np.isnan(epoch.score):
            raise RuntimeError("the lights went out")

    with pytest.raises(RuntimeError, match="lights"):
        fit(checkpoint_dir=tmp_path, callbacks=[crash])
    resumed = fit(checkpoint_dir=tmp_path)
    assert np.array_equal(whole.predict_proba(FRAME), resumed.predict_proba(FRAME))


def test_control_c_while_finishing_keeps_what_was_learned():
    def stop(epoch):
        if np.isnan(epoch.score):
            raise KeyboardInterrupt

    model = fit(callbacks=[stop], finishing=5.0)
    assert model.score(FRAME, LABELS) > 0.5
    assert len(model.remembered_.origin) == 120


def test_numbers_finish_too():
    """What is remembered is no excuse: a split drawn anew is predicted as well."""
    model = ModernNCARegressor(max_epochs=40, n_members=1, random_state=0)
    rows = np.random.RandomState(0).permutation(120)
    model.fit(FRAME.iloc[rows[:90]], NUMBERS[rows[:90]])
    assert model.score(FRAME.iloc[rows[90:]], NUMBERS[rows[90:]]) > 0.5
