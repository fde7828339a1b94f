"""What `fit` promises: reproducible, on time, whatever the table."""

import os
import re
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.estimators.models import classifier, regressor
from tests.estimators.tables import classes_of, mixed_table, numbers_of
from tests.processes import start

from modernnca import ModernNCAClassifier, ModernNCARegressor

FRAME = mixed_table()
LABELS, NUMBERS = classes_of(FRAME), numbers_of(FRAME)
QUICK = {
    "max_epochs": 3,
    "patience": 5,
    "random_state": 0,
    "preset": "fast",
    "calibrate": False,
    "baseline_check": False,
    "finetune": 0.0,
    "cooling": False,
}


def test_real_tables_are_learned():
    X, y = load_iris(return_X_y=True)
    scores = cross_val_score(ModernNCAClassifier(random_state=0), X, y, cv=2)
    assert scores.mean() > 0.92


def test_numbers_come_back_in_their_own_units():
    model = ModernNCARegressor(random_state=0, max_epochs=30).fit(FRAME, NUMBERS)
    prediction = model.predict(FRAME)
    assert abs(prediction.mean() - NUMBERS.mean()) < 30
    assert model.score(FRAME, NUMBERS) > 0.8


@pytest.mark.parametrize(
    "convert",
    [pl.from_pandas, pa.Table.from_pandas, lambda frame: frame[FRAME.columns[::-1]]],
    ids=["polars", "pyarrow", "columns in another order"],
)
def test_the_kind_of_table_does_not_matter(convert):
    model = classifier(**QUICK).fit(FRAME, LABELS)
    expected = model.predict_proba(FRAME)
    np.testing.assert_allclose(model.predict_proba(convert(FRAME)), expected)
    again = classifier(**QUICK).fit(convert(FRAME), LABELS)
    if list(again.feature_names_in_) == list(FRAME.columns):
        np.testing.assert_allclose(again.predict_proba(FRAME), expected)


def test_labels_may_be_of_any_type():
    for labels in (
        LABELS,
        LABELS == "yes",
        np.where(LABELS == "yes", 7, -3),
        pd.Series(LABELS, dtype="category"),
        pl.Series(LABELS.tolist()),
        LABELS.tolist(),
    ):
        model = classifier(**QUICK).fit(FRAME, labels)
        assert list(model.classes_) == sorted(set(np.asarray(labels)))
        assert set(model.predict(FRAME)) <= set(np.asarray(labels))


def test_the_same_seed_gives_the_same_bits():
    one = classifier(**QUICK, n_blocks=1).fit(FRAME, LABELS)
    two = classifier(**QUICK, n_blocks=1).fit(FRAME, LABELS)
    assert np.array_equal(one.predict_proba(FRAME), two.predict_proba(FRAME))
    other = ModernNCAClassifier(max_epochs=3, random_state=1).fit(FRAME, LABELS)
    assert not np.array_equal(one.predict_proba(FRAME), other.predict_proba(FRAME))


def test_the_global_random_states_are_left_alone():
    np.random.seed(3)
    torch.manual_seed(3)
    before = np.random.get_state()[1].copy(), torch.get_rng_state()
    ModernNCAClassifier(max_epochs=2, n_blocks=1).fit(FRAME, LABELS)
    assert np.array_equal(before[0], np.random.get_state()[1])
    assert torch.equal(before[1], torch.get_rng_state())


def test_the_arguments_and_the_table_are_left_alone():
    frame, params = FRAME.copy(), classifier(**QUICK).get_params()
    model = classifier(**QUICK).fit(frame, LABELS)
    model.predict(frame)
    pd.testing.assert_frame_equal(frame, FRAME)
    assert model.get_params() == params


def test_the_history_has_a_record_for_each_epoch():
    model = classifier(**QUICK).fit(FRAME, LABELS)
    assert [epoch.epoch for epoch in model.history_] == [1, 2, 3]
    best = model.history_[model.best_epochs_[0] - 1]
    assert best.best
    assert best.score == max(epoch.score for epoch in model.history_)
    assert pd.DataFrame(model.history_).columns[0] == "epoch"
    assert model.ended_ == ["max_epochs"]


@pytest.mark.parametrize("metric", ["log-loss", "auc", "balanced-accuracy"])
def test_the_best_epoch_is_the_best_by_the_chosen_metric(metric):
    model = classifier(eval_metric=metric, **{**QUICK, "max_epochs": 6}).fit(
        FRAME, LABELS
    )
    scores = [epoch.score for epoch in model.history_]
    assert scores[model.best_epochs_[0] - 1] == max(scores)


def test_a_function_may_be_the_metric():
    asked = []

    def always_better(y, probabilities):
        asked.append((y.dtype.kind, probabilities.shape[1]))
        return float(len(asked))

    model = classifier(eval_metric=always_better, **QUICK)
    model.fit(FRAME, LABELS)
    assert model.best_epochs_ == [3]
    assert asked == [("U", 2)] * 4  # each epoch, and the final model


def test_callbacks_see_each_epoch_and_may_end_the_training():
    seen = []

    def stop_at_two(epoch):
        seen.append(epoch.epoch)
        return epoch.epoch == 2

    model = ModernNCAClassifier(callbacks=[stop_at_two], n_members=1, random_state=0)
    model.fit(FRAME, LABELS)
    assert seen == [1, 2]
    assert model.ended_ == ["callback"]


def test_verbose_shows_a_progress_bar(capsys):
    classifier(verbose=1, **{**QUICK, "finetune": 1.0}).fit(FRAME, LABELS)
    said = capsys.readouterr().err
    assert "3/3" in said
    assert "finetune" in said
    assert "nan" not in said  # without validation the loss is shown


def test_the_bar_names_the_score_and_shows_errors_as_errors(capsys):
    model = regressor(verbose=1, **QUICK).fit(FRAME, NUMBERS)
    best = model.history_[model.best_epochs_[0] - 1]
    said = capsys.readouterr().err
    assert f"best {-best.score:.4g} at {best.epoch}" in said
    assert re.search(r"rmse \d", said)


def test_an_eval_set_decides_when_to_stop():
    rows = np.arange(120)
    held = rows % 5 == 0
    model = classifier(**QUICK, refit="none")
    model.fit(FRAME[~held], LABELS[~held], eval_set=(FRAME[held], LABELS[held]))
    right = model.predict(FRAME[held]) == LABELS[held]
    best = model.history_[model.best_epochs_[0] - 1]
    assert best.score == pytest.approx(right.mean())
    assert len(model.rows_.index) == 96


def test_refit_decides_what_becomes_of_the_validation_rows():
    fitted = {
        refit: classifier(**QUICK, refit=refit).fit(FRAME, LABELS)
        for refit in ("none", "remember", "full")
    }
    n_remembered = {refit: len(m.rows_.index) for refit, m in fitted.items()}
    assert n_remembered == {"none": 96, "remember": 120, "full": 120}
    assert sorted(fitted["remember"].rows_.index) == list(range(120))
    same = [fitted[r].transform(FRAME) for r in ("none", "remember")]
    assert np.array_equal(*same)  # remembering changes no weight
    assert not np.array_equal(same[0], fitted["full"].transform(FRAME))


def test_nothing_else_is_learned_from_validation_rows():
    """Whatever they hold, the network and the preprocessor are the same."""
    held = np.arange(120) % 5 == 0
    wild = FRAME[held].assign(weight=1e9, color="purple")
    models = [
        regressor(**QUICK, refit="none").fit(
            FRAME[~held], NUMBERS[~held], eval_set=(table, NUMBERS[held])
        )
        for table in (FRAME[held], wild)
    ]
    first, second = (model.history_ for model in models)
    assert [e.train_loss for e in first] == [e.train_loss for e in second]
    states = [model.preparation_.preprocessor.state() for model in models]
    assert str(states[0]) == str(states[1])


def test_without_validation_rows_each_is_validated_by_the_others():
    model = classifier(validation_fraction=0, **QUICK).fit(FRAME, LABELS)
    assert len(model.rows_.index) == 120
    # No row votes on itself: a leave-one-out score is not perfect here.
    assert 0.3 < model.history_[-1].score < 1


def test_the_prediction_is_the_weighted_mean_of_the_members():
    model = classifier(n_members=3, **QUICK).fit(FRAME, LABELS)
    assert len(model.members_) == 3
    assert {epoch.member for epoch in model.history_} == {0, 1, 2}
    assert sum(model.member_weights_) == pytest.approx(1)
    queries = model._read_queries(FRAME)
    votes = [member.vote(queries).mean.numpy() for member in model.members_]
    mean = np.average(votes, axis=0, weights=model.member_weights_)
    np.testing.assert_allclose(model.predict_proba(FRAME), mean, rtol=1e-6)
    assert model.transform(FRAME).shape == (120, 3 * 64)


@pytest.mark.parametrize("n_before", [1, 3])
@pytest.mark.parametrize("settings", [{}, {"refit": "full", "n_members": 2}])
def test_an_interrupted_fit_resumes_to_the_same_bits(tmp_path, n_before, settings):
    arguments = {"max_epochs": 5, "patience": 5, "random_state": 0, **settings}
    whole = classifier(**arguments).fit(FRAME, LABELS)

    def crash(epoch):
        if epoch.epoch == n_before:
            raise RuntimeError("the lights went out")

    broken = classifier(**arguments, checkpoint_dir=tmp_path, callbacks=[crash])
    with pytest.raises(RuntimeError, match="lights"):
        broken.fit(FRAME, LABELS)
    resumed = classifier(**arguments, checkpoint_dir=tmp_path)
    resumed.fit(FRAME, LABELS)
    assert np.array_equal(whole.predict_proba(FRAME), resumed.predict_proba(FRAME))
    assert [e.train_loss for e in whole.history_] == [
        e.train_loss for e in resumed.history_
    ]


def test_a_checkpoint_of_another_fit_is_refused(tmp_path):
    classifier(**QUICK, checkpoint_dir=tmp_path).fit(FRAME, LABELS)
    with pytest.raises(ValueError, match="holds a checkpoint of another fit"):
        classifier(**QUICK, dim=16, checkpoint_dir=tmp_path).fit(FRAME, LABELS)


SCRIPT = """
import numpy as np
from modernnca import ModernNCARegressor
X = np.random.RandomState(0).randn(3000, 8)
def say(epoch):
    print("epoch", epoch.epoch, "done", flush=True)
model = ModernNCARegressor(
    max_epochs=100_000, patience=float("inf"), random_state=0, callbacks=[say]
)
model.fit(X, X[:, 0])
print("ended", model.ended_[0], model.score(X, X[:, 0]) > 0.5)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_control_c_keeps_the_best_weights_so_far():
    with start(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            if line.startswith("epoch 2 "):
                process.send_signal(signal.SIGINT)
            last = line
    assert process.returncode == 0
    assert last.split() == ["ended", "interrupted", "True"]


def test_weights_count_in_the_loss_and_in_the_vote():
    X = np.random.RandomState(0).randn(200, 2)
    y = np.arange(200) % 2  # noise: only weights can decide
    heavy = np.where(y == 1, 50.0, 1.0)
    model = classifier(**QUICK).fit(X, y, sample_weight=heavy)
    assert model.predict_proba(X + 0.5)[:, 1].mean() > 0.8
    plain = classifier(**QUICK).fit(X, y)
    assert plain.predict_proba(X + 0.5)[:, 1].mean() < 0.7
    by_class = classifier(**QUICK, class_weight={1: 50.0}).fit(X, y)
    assert np.array_equal(by_class.predict_proba(X), model.predict_proba(X))


def test_rows_of_zero_weight_are_left_out():
    X = np.random.RandomState(0).randn(60, 2)
    y = np.arange(60) % 2
    weights = np.r_[np.ones(50), np.zeros(10)]
    with_them = classifier(**QUICK).fit(X, y, sample_weight=weights)
    without = classifier(**QUICK).fit(X[:50], y[:50], sample_weight=np.ones(50))
    assert np.array_equal(with_them.predict_proba(X), without.predict_proba(X))


def test_it_works_in_pipelines_and_searches():
    X, y = load_wine(return_X_y=True)
    more = {**QUICK, "max_epochs": 12}
    pipeline = make_pipeline(StandardScaler(), classifier(**more))
    search = GridSearchCV(pipeline, {"modernncaclassifier__dim": [8, 16]}, cv=2)
    search.fit(X, y)
    assert search.best_score_ > 0.8
    assert clone(search.best_estimator_).get_params()["modernncaclassifier__dim"] in (
        8,
        16,
    )


def test_it_is_a_transformer_too():
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = classifier(**QUICK, dim=4).set_output(transform="pandas")
    embedded = model.fit(X, y).transform(X)
    assert list(embedded.columns) == [f"modernncaclassifier{i}" for i in range(4)]


def test_a_class_with_one_row_is_kept():
    labels = LABELS.astype(object)
    labels[0] = "maybe"
    model = classifier(**QUICK).fit(FRAME, labels)
    assert list(model.classes_) == ["maybe", "no", "yes"]
    assert model.predict_proba(FRAME).shape == (120, 3)


def test_a_last_batch_of_one_row_is_learned():
    for settings in ({"batch_size": 19}, {"batch_size": 1, "max_epochs": 1}):
        model = classifier(**{**QUICK, **settings}, n_blocks=1, refit="none")
        model.fit(FRAME.iloc[:25], LABELS[:25])  # 20 to learn from
        assert np.isfinite(model.history_[-1].train_loss)


def test_columns_that_are_all_constant_give_the_mean():
    X = np.ones((30, 2))
    y = np.arange(30.0)
    model = regressor(**QUICK, refit="remember").fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean(), rtol=1e-5)


def test_many_rows_of_categories_alone_are_learned():
    rng = np.random.RandomState(0)
    X = rng.choice(list("abc"), size=(600, 2)).astype(object)
    y = X[:, 0] == "a"
    model = classifier(n_knots=16, max_epochs=3, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
