"""Bad input gets a sentence that names the value and the way out, word for word."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from tests.estimators.models import classifier, regressor
from tests.estimators.tables import classes_of, mixed_table, numbers_of

import modernnca
from modernnca import ModernNCAClassifier, ModernNCARegressor, TableError

X = np.random.RandomState(0).randn(40, 3)
Y = np.arange(40) % 2
QUICK = {"max_epochs": 1, "random_state": 0}


def says(text: str) -> str:
    return f"^{re.escape(text)}$"


def raises_saying(text: str, error: type[Exception] = ValueError):
    return pytest.raises(error, match=says(text))


CHOICES = {
    "preset": (
        "Unknown preset 'x'; choose one of: best, default, fast, linear, nca-v0, "
        "nca-v1, nca-v2, nca-v3, nca-v4, paper, tabcon."
    ),
    "numeric_transform": (
        "numeric_transform must be one of: quantile, squashed, standard; got 'x'."
    ),
    "categorical_encoding": (
        "categorical_encoding must be one of: grouped, onehot; got 'x'."
    ),
    "encoding": (
        "encoding must be one of: none, pbld, periodic, ple, plr, plr-lite; got 'x'."
    ),
    "embedding": (
        "embedding must be one of: layernorm, linear, mlp, residual; got 'x'."
    ),
    "distance": (
        "distance must be one of: cosine, dot, euclidean, manhattan, "
        "squared-euclidean; got 'x'."
    ),
    "loss": "loss must be one of: log, mcml, sum, t-distribution; got 'x'.",
    "sampler": (
        "sampler must be one of: all, batch, class-wise, distance, random; got 'x'."
    ),
    "prediction": "prediction must be one of: knn, soft; got 'x'.",
    "optimizer": (
        "optimizer must be one of: adamw, adamw-95, lbfgs, muon, sgd; got 'x'."
    ),
    "eval_metric": (
        "eval_metric must be a function, or one of: accuracy, auc, balanced-accuracy, "
        "log-loss, mae, r2, rmse; got 'x'."
    ),
    "refit": "refit must be one of: full, none, remember; got 'x'.",
    "device": "Unknown device 'x'; choose one of: cpu, cuda, mps.",
}


@pytest.mark.parametrize("name", CHOICES)
def test_an_unknown_name_gets_the_list_of_names(name):
    with raises_saying(CHOICES[name]):
        classifier(**{name: "x"}).fit(X, Y)


RANGES = [
    ("dim", 0, "dim must be a whole number of at least 1; got 0."),
    ("dim", 2.5, "dim must be a whole number of at least 1; got 2.5."),
    ("dim", "big", "dim must be a whole number of at least 1; got 'big'."),
    ("dropout", 1, "dropout must be a number of at least 0 and below 1; got 1."),
    ("sample_rate", 0, "sample_rate must be a number above 0 and at most 1; got 0."),
    ("learning_rate", -1, "learning_rate must be a number above 0; got -1."),
    ("temperature", 0, "temperature must be a number above 0 or 'learned'; got 0."),
    (
        "batch_size",
        "huge",
        "batch_size must be a whole number of at least 1; got 'huge'.",
    ),
    (
        "max_sampled",
        -5,
        "max_sampled must be a whole number of at least 1 or inf; got -5.",
    ),
    ("time_limit", 0, "time_limit must be a number above 0 or None; got 0."),
    ("time_limit", "1h", "time_limit must be a number above 0 or None; got '1h'."),
    ("missing_indicators", 1, "missing_indicators must be True or False; got 1."),
    (
        "validation_fraction",
        1.0,
        "validation_fraction must be a number of at least 0 and below 1; got 1.0.",
    ),
]


@pytest.mark.parametrize(("name", "value", "text"), RANGES)
def test_a_number_out_of_range_gets_the_range(name, value, text):
    with raises_saying(text):
        classifier(**{name: value}).fit(X, Y)


def test_regression_names_the_losses_and_samplers_that_it_has():
    with raises_saying(
        "Unknown loss for regression 'mcml'; choose one of: log, t-distribution."
    ):
        regressor(loss="mcml").fit(X, X[:, 0])
    with raises_saying(
        "Unknown sampler for regression 'class-wise'; choose one of: all, batch, "
        "distance, random."
    ):
        regressor(sampler="class-wise").fit(X, X[:, 0])
    with raises_saying(
        "label_smoothing is for classification; leave it at 0 for regression (got 0.1)."
    ):
        regressor(label_smoothing=0.1).fit(X, X[:, 0])
    with raises_saying(
        "class_weight is for classification; leave it at None for regression (got "
        "'balanced') or use sample_weight."
    ):
        ModernNCARegressor(class_weight="balanced").fit(X, X[:, 0])


def test_a_heavy_tailed_kernel_needs_a_length():
    with raises_saying(
        "The loss 't-distribution' needs a distance that is a length; instead of "
        "distance='cosine' choose one of: euclidean, manhattan."
    ):
        classifier(loss="t-distribution", distance="cosine").fit(X, Y)


def test_a_device_that_is_not_there_is_said():
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with raises_saying(
        "device='cuda' is not available on this machine; choose 'cpu', or None."
    ):
        ModernNCAClassifier(device="cuda").fit(X, Y)


def test_gaps_in_the_target_are_named():
    y = numbers_of(mixed_table(40))
    y[3] = np.nan
    with raises_saying(
        "Input y contains NaN: row 3 has no label; drop such rows before fit."
    ):
        ModernNCARegressor().fit(X, y)
    labels = classes_of(mixed_table(40)).astype(object)
    labels[5] = None
    with raises_saying(
        "Input y contains NaN: row 5 has no label; drop such rows before fit."
    ):
        ModernNCAClassifier().fit(X, labels)


def test_infinite_targets_are_named():
    y = X[:, 0].copy()
    y[7] = np.inf
    with raises_saying(
        "Input y contains infinity or a value too large for dtype('float64'): row 7 is "
        "inf; drop or clip such rows before fit."
    ):
        ModernNCARegressor().fit(X, y)


def test_one_class_is_not_enough():
    with raises_saying(
        "y has one class only ('yes'); a classifier needs at least two."
    ):
        ModernNCAClassifier().fit(X, ["yes"] * 40)


def test_a_constant_target_is_predicted():
    model = regressor(**QUICK).fit(X, np.full(40, 42.5))
    assert (model.predict(X) == 42.5).all()


def test_one_row_is_not_enough():
    with raises_saying(
        "Found a table with n_samples=1, but a row needs a neighbor: give at least 2 "
        "rows."
    ):
        ModernNCARegressor().fit(X[:1], [1.0])


def test_two_rows_are_enough():
    model = classifier(**QUICK).fit([[0.0], [1.0]], ["a", "b"])
    assert model.predict([[0.1], [0.9]]).tolist() == ["a", "b"]


def test_a_table_without_columns_is_refused():
    with raises_saying(
        "Found a table with 0 feature(s) (shape=(40, 0)) while a minimum of 1 is "
        "required."
    ):
        ModernNCAClassifier().fit(pd.DataFrame(index=range(40)), Y)


def test_a_name_that_occurs_twice_is_refused():
    frame = pd.DataFrame(X, columns=["a", "b", "a"])
    with raises_saying("The column name 'a' occurs twice; rename one of them."):
        ModernNCAClassifier().fit(frame, Y)


def test_a_missing_column_at_prediction_is_named():
    frame = mixed_table()
    model = classifier(**QUICK).fit(frame, classes_of(frame))
    with raises_saying(
        "The table lacks the column 'size', which was there in fit.", TableError
    ):
        model.predict(frame.drop(columns="size"))
    wrong = pd.DataFrame({"size": [1.0], "height": [2.0]})
    with raises_saying(
        "The table lacks the columns 'weight', 'color', 'old', 'day', 'same', which "
        "were there in fit. It has 'height', not there in fit.",
        TableError,
    ):
        model.predict(wrong)
    with pytest.raises(TableError, match="lacks the columns 'size', 'weight', 'color'"):
        model.predict(wrong[["height"]])


def test_an_unknown_argument_gets_the_closest_one_or_the_way_to_config():
    with raises_saying(
        "ModernNCAClassifier has no argument 'max_epoch'; did you mean 'max_epochs'?",
        TypeError,
    ):
        ModernNCAClassifier(max_epoch=3)
    with raises_saying(
        "ModernNCARegressor has no argument 'distance'; it is an option: "
        "config={'distance': ...}.",
        TypeError,
    ):
        ModernNCARegressor(distance="cosine")
    with raises_saying(
        "LNCAClassifier has no argument 'qqq'; see help(LNCAClassifier).", TypeError
    ):
        modernnca.LNCAClassifier(qqq=1)
    with raises_saying(
        "ModernNCAClassifier takes arguments by name, as in preset=...", TypeError
    ):
        ModernNCAClassifier("fast")


def test_a_column_of_another_kind_at_prediction_is_named():
    frame = mixed_table()
    model = classifier(**QUICK).fit(frame, classes_of(frame))
    with raises_saying(
        "The column 'size' held numbers in fit, but now holds text, such as 'abc'; "
        "convert it first.",
        TableError,
    ):
        model.predict(frame.assign(size="abc"))


def test_a_table_of_another_width_is_refused():
    model = ModernNCAClassifier(**QUICK).fit(X, Y)
    with raises_saying(
        "X has 2 features, but ModernNCAClassifier is expecting 3 features as input; "
        "give the same columns as in fit."
    ):
        model.predict(X[:, :2])
    with raises_saying(
        "The table of eval_set has 2 columns, but X has 3; give the same columns."
    ):
        ModernNCAClassifier(**QUICK).fit(X, Y, eval_set=(X[:, :2], Y))


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "transform", "kneighbors", "explain"]
)
def test_answering_before_fit_says_what_to_call(method):
    with raises_saying(
        "This ModernNCAClassifier is not fitted yet; call fit(X, y) first.",
        NotFittedError,
    ):
        getattr(ModernNCAClassifier(), method)(X)


def test_saving_before_fit_says_what_to_call(tmp_path):
    with raises_saying(
        "This ModernNCARegressor is not fitted yet; call fit(X, y) first.",
        NotFittedError,
    ):
        ModernNCARegressor().save(tmp_path / "m.mnca")


@pytest.mark.parametrize("n", [0, 41])
def test_no_neighbors_and_more_than_rows_are_refused(n):
    model = classifier(**QUICK).fit(X, Y)
    for ask in (model.kneighbors, model.explain):
        with raises_saying(
            "n_neighbors must be between 1 and the number of remembered rows, 40; "
            f"got {n}."
        ):
            ask(X, n_neighbors=n)


def test_an_eval_set_that_is_no_pair_is_refused():
    with raises_saying(
        "eval_set must be a pair (X, y) of validation rows; got ndarray."
    ):
        ModernNCAClassifier().fit(X, Y, eval_set=X)


def test_a_class_that_is_only_in_the_eval_set_is_named():
    with raises_saying("The label 2 is not a class of the training rows: 0, 1."):
        ModernNCAClassifier().fit(X, Y, eval_set=(X, Y + 1))


def test_a_checkpoint_needs_a_seed(tmp_path):
    with raises_saying(
        "checkpoint_dir needs random_state to be a whole number, or a resumed fit "
        "could not continue as it began; got None."
    ):
        ModernNCAClassifier(checkpoint_dir=tmp_path).fit(X, Y)


def test_negative_weights_are_refused():
    with pytest.raises(ValueError, match="Negative values in data passed"):
        ModernNCAClassifier().fit(X, Y, sample_weight=-np.ones(40))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"config": {"distnace": "cosine"}},
            "Unknown option 'distnace' in config; did you mean 'distance'?",
        ),
        (
            {"config": "cosine"},
            "config must be a dict or a ModernNCAConfig; got str 'cosine'.",
        ),
        (
            {"dim": 8, "config": {"dim": 16}},
            "dim is given twice: 8 as an argument and 16 in config; keep one.",
        ),
        (
            {"members": 3},
            "members must be a list of Member objects or of names of kinds; got 3.",
        ),
        (
            {"members": [3]},
            "members must be a list of Member objects or of names of kinds; got [3].",
        ),
        (
            {"members": []},
            "members must be a list of Member objects or of names of kinds; got [].",
        ),
    ],
)
def test_a_bad_config_or_member_gets_a_sentence(arguments, text):
    with raises_saying(text):
        ModernNCAClassifier(**arguments).fit(X, Y)


def test_an_unknown_kind_of_member_gets_the_list_of_kinds():
    with pytest.raises(ValueError, match=r"Unknown kind of member 'net'; .*network"):
        ModernNCAClassifier(members=["net"]).fit(X, Y)


def test_the_public_door_is_complete():
    assert all(hasattr(modernnca, name) for name in modernnca.__all__)
