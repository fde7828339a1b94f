"""Networks are fine-tuned on all rows, carefully."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.estimators.models import classifier
from tests.estimators.tables import classes_of, mixed_table, numbers_of

from modernnca import ModernNCARegressor
from modernnca.ensemble.run import Run
from modernnca.train.budget import Budget

FRAME = mixed_table()
LABELS, NUMBERS = classes_of(FRAME), numbers_of(FRAME)
HELD = np.arange(120) % 5 == 0
QUICK = {"max_epochs": 3, "n_members": 2, "random_state": 0, "baseline_check": False}
QUICK |= {"patience": 5, "final_rate": 1.0}


def fit(labels=LABELS, **settings):
    """A model that is validated by every fifth row."""
    model = classifier(**{**QUICK, **settings})
    held_out = (FRAME[HELD], labels[HELD])
    return model.fit(FRAME[~HELD], labels[~HELD], eval_set=held_out)


def same_networks(one, other):
    return np.array_equal(one.transform(FRAME), other.transform(FRAME))


def test_it_learns_from_the_validation_rows():
    """With one epoch there is one to choose, whatever the validation rows are."""
    turned = LABELS.copy()
    turned[HELD] = np.roll(LABELS[HELD], 1)
    assert same_networks(
        *(fit(labels, max_epochs=1, finetune=0.0) for labels in (LABELS, turned))
    )
    assert not same_networks(
        *(fit(labels, max_epochs=1) for labels in (LABELS, turned))
    )


def test_what_was_validated_is_the_same():
    finished, stopped = fit(), fit(finetune=0.0)
    assert not same_networks(finished, stopped)
    told = [
        ([(e.train_loss, e.score) for e in model.history_], model.member_weights_)
        for model in (finished, stopped)
    ]
    assert told[0] == told[1]
    assert str(finished.calibration_) == str(stopped.calibration_)


@pytest.mark.parametrize("refit", ["none", "full"])
def test_there_is_no_fine_tuning_without_remembering(refit):
    assert same_networks(fit(refit=refit), fit(refit=refit, finetune=0.0))


@pytest.mark.parametrize("share", [0.5, 3.0])
def test_it_takes_a_share_of_the_epochs_that_led_to_the_best(share):
    seen = []
    model = fit(finetune=share, callbacks=[seen.append])
    unjudged = [epoch for epoch in seen if np.isnan(epoch.score)]
    assert len(seen) - len(unjudged) == len(model.history_)
    expected = sum(max(2, round(share * best)) for best in model.best_epochs_)
    assert len(unjudged) == expected


def test_the_learning_rate_falls():
    """Two epochs of three steps of plain descent, at a rate that falls to 1/20."""
    plain = {
        "n_members": 1,
        "diversity": "alike",
        "n_blocks": 0,
        "optimizer": "sgd",
        "weight_decay": 0.0,
        "sampler": "all",
        "batch_size": 1000,
        "max_epochs": 1,
        "weight_averaging": 1e-9,  # the last weights, as they are
        "warmup": 0.0,
        "finetune_batch_size": 1000,  # of 120 rows at least 32
    }
    born, stopped, finished = (
        fit(**plain, learning_rate=rate, finetune=share).members_[0].network_
        for rate, share in ((1e-12, 0.0), (1e-3, 0.0), (1e-3, 1.0))
    )
    first = (stopped.linear.weight - born.linear.weight).norm()
    rest = (finished.linear.weight - stopped.linear.weight).norm()
    rates = [1 - 0.95 * step / 6 for step in range(6)]
    assert (rest / first).item() == pytest.approx(sum(rates), rel=0.1)


def test_without_time_the_weights_stay():
    model = fit(finetune=0.0)
    member = model.members_[0]
    before = copy.deepcopy(member.network_.state_dict())
    device = torch.device("cpu")
    raw = replace(model.rows_, y=LABELS[np.argsort(np.argsort(HELD, kind="stable"))])
    rows = model.preparation_.part(raw, device).encoded
    shape, config = model.preparation_.shape, model.config_
    over = Budget(0.0)
    member.finetune(rows, Run(device, over, "classification", config, shape, [0]))
    after = member.network_.state_dict()
    assert all(torch.equal(after[name], before[name]) for name in before)
    assert not member.network_.training
    assert not any(part.requires_grad for part in member.network_.parameters())


def test_a_crash_in_fine_tuning_resumes_to_the_same_bits(tmp_path):
    whole = fit()

    def crash(epoch):
        if np.isnan(epoch.score):
            raise RuntimeError("the lights went out")

    with pytest.raises(RuntimeError, match="lights"):
        fit(checkpoint_dir=tmp_path, callbacks=[crash])
    resumed = fit(checkpoint_dir=tmp_path)
    assert np.array_equal(whole.predict_proba(FRAME), resumed.predict_proba(FRAME))


def test_an_interruption_in_fine_tuning_keeps_what_was_learned():
    def stop(epoch):
        if np.isnan(epoch.score):
            raise KeyboardInterrupt

    model = fit(callbacks=[stop], finetune=5.0)
    assert model.score(FRAME, LABELS) > 0.5
    assert len(model.rows_.index) == 120


def test_regression_is_fine_tuned_too():
    """Rows that are not remembered are predicted as well."""
    model = ModernNCARegressor(max_epochs=40, n_members=1, random_state=0)
    rows = np.random.RandomState(0).permutation(120)
    model.fit(FRAME.iloc[rows[:90]], NUMBERS[rows[:90]])
    assert model.score(FRAME.iloc[rows[90:]], NUMBERS[rows[90:]]) > 0.5
