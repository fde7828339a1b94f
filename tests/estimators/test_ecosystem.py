"""What other libraries expect of an estimator: scikit-learn, logging, mlflow, skops."""

import logging
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.estimators.models import classifier, regressor

from modernnca import BaselineWarning, ModernNCAClassifier, load
from modernnca.ensemble import feature_importance, progress
from modernnca.estimators import estimator

RNG = np.random.RandomState(0)
X = RNG.randn(200, 5)
Y = X[:, 0] + 2 * X[:, 1] > 0
QUICK = {"max_epochs": 2, "n_members": 2, "random_state": 0, "forest_member": False}
LAZY = {"max_epochs": 1, "learning_rate": 1e-9, "random_state": 0}


def test_log_probabilities_are_the_logarithms():
    model = classifier(**QUICK).fit(X, Y)
    expected = np.log(model.predict_proba(X))
    np.testing.assert_array_equal(model.predict_log_proba(X), expected)


def test_the_columns_that_matter_are_important(tmp_path):
    model = classifier(**{**QUICK, "max_epochs": 8}).fit(X, Y)
    found = model.feature_importances_
    assert found.shape == (5,)
    assert found.sum() == pytest.approx(1)
    assert found.argsort()[::-1][:2].tolist() == [1, 0]
    np.testing.assert_array_equal(found, model.feature_importances_)
    model.save(tmp_path / "m", rows=False)
    assert not hasattr(load(tmp_path / "m"), "feature_importances_")


def test_importances_are_of_the_columns_of_the_table():
    frame = pd.DataFrame({"noise": X[:, 2], "kind": np.where(Y, "a", "b"), "same": 1})
    model = classifier(**QUICK).fit(frame, Y)
    found = dict(zip(frame.columns, model.feature_importances_, strict=True))
    assert found["kind"] > found["noise"] >= found["same"] == 0


def test_importances_are_of_the_votes_of_the_other_rows():
    """A row itself would be near wherever its other cells are."""
    options = {**QUICK, "n_members": 1, "baseline_check": False}
    model, rows = classifier(**options).fit(X, Y), np.arange(20)
    (member,) = model.members_
    expected = member.leave_one_out(torch.from_numpy(rows)).mean
    query = model._encode(model.rows_.table.take(rows))
    found = feature_importance._votes_of_others(model.ensemble_, query, rows)
    torch.testing.assert_close(found.float(), expected, rtol=1e-4, atol=1e-5)


def test_validation_rows_may_be_two_arguments():
    one = classifier(**QUICK).fit(X, Y, eval_set=(X[:50], Y[:50]))
    two = classifier(**QUICK).fit(X, Y, X_val=X[:50], y_val=Y[:50])
    np.testing.assert_array_equal(two.predict_proba(X), one.predict_proba(X))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"X_val": X}, "X_val was given without y_val; give both, or neither."),
        ({"y_val": Y}, "y_val was given without X_val; give both, or neither."),
        (
            {"X_val": X, "y_val": Y, "eval_set": (X, Y)},
            "Validation rows are given twice, as eval_set and as X_val and y_val; keep",
        ),
    ],
)
def test_half_of_the_validation_rows_gets_a_sentence(given, text):
    with pytest.raises(ValueError, match=text):
        classifier(**QUICK).fit(X, Y, **given)


def test_a_pipeline_transforms_the_validation_rows():
    with sklearn.config_context(enable_metadata_routing=True):
        model = classifier(**QUICK, refit="none")
        model = model.set_fit_request(X_val=True, y_val=True)
        scale = StandardScaler()
        pipeline = make_pipeline(scale, model, transform_input=["X_val"])
        pipeline.fit(X * 1000, Y, X_val=X[:50] * 1000, y_val=Y[:50])
    assert pipeline[-1].held_out_.index.tolist() == [*range(200, 250)]
    plain = classifier(**QUICK, refit="none")
    x = StandardScaler().fit_transform(X * 1000)
    plain.fit(x, Y, X_val=x[:50], y_val=Y[:50])
    found = pipeline.predict_proba(X * 1000)
    np.testing.assert_array_equal(found, plain.predict_proba(x))


@pytest.mark.parametrize("n_columns", [3, 40])
def test_transform_keeps_its_width_whatever_was_chosen(n_columns, tmp_path):
    rng = np.random.RandomState(1)
    x = rng.randn(100, 2) @ rng.randn(2, n_columns)
    options = {**LAZY, "n_members": 2, "dim": 16}
    widths = {}
    for check in (True, False):
        model = regressor(**options, temperature=100.0, baseline_check=check)
        model.fit(x, x[:, 0])
        widths[model.baseline_] = model.transform(x).shape[1]
        assert len(model.get_feature_names_out()) == widths[model.baseline_]
        model.save(tmp_path / "m")
        again = load(tmp_path / "m")
        np.testing.assert_array_equal(again.transform(x), model.transform(x))
    assert set(widths.values()) == {32}
    assert set(widths) == {"knn", None}


def test_a_narrow_table_keeps_its_distances_in_another_width():
    model = regressor(**LAZY, temperature=100.0, n_members=1).fit(X, X[:, 0])
    assert model.baseline_ == "knn"
    distances, indices = model.kneighbors(X[:3], n_neighbors=2)
    own, near = model.transform(X[:3]), model.transform(X)
    gaps = np.linalg.norm(near[indices[:, 1]] - own, axis=1)
    np.testing.assert_allclose(gaps, distances[:, 1], rtol=1e-4)


def test_an_embedding_feeds_another_model():
    pipeline = make_pipeline(classifier(**QUICK), LogisticRegression())
    assert pipeline.fit(X, Y).score(X, Y) > 0.9


def test_a_baseline_warns_where_fit_was_called():
    with pytest.warns(BaselineWarning, match="no better than a baseline") as caught:
        model = regressor(**LAZY, n_members=1, temperature=100.0).fit(X, X[:, 0])
    assert model.baseline_ == "knn"
    assert model.fit_report_.baseline == "knn"
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = regressor(**LAZY, n_members=1, temperature=100.0, baseline_check=False)
        assert model.fit(X, X[:, 0]).baseline_ is None


def test_a_fit_is_logged_and_prints_nothing(caplog, capfd):
    with caplog.at_level(logging.INFO, logger="modernnca"):
        classifier(**QUICK).fit(X, Y)
    (record,) = (each for each in caplog.records if each.name == "modernnca")
    assert record.getMessage().startswith("fit: FitReport(")
    assert capfd.readouterr() == ("", "")
    handlers = logging.getLogger("modernnca").handlers
    assert any(isinstance(handler, logging.NullHandler) for handler in handlers)


def test_a_long_fit_shows_progress_if_someone_looks(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    for looks in (False, True):
        monkeypatch.setattr(progress, "someone_looks", lambda looks=looks: looks)
        classifier(**QUICK).fit(X, Y)
        assert ("networks 1 and 2 of 2" in capsys.readouterr().err) == looks
    classifier(**QUICK, verbose=False).fit(X, Y)
    assert capsys.readouterr().err == ""


def test_a_short_fit_shows_nothing(monkeypatch, capsys):
    monkeypatch.setattr(progress, "someone_looks", lambda: True)
    classifier(**{**QUICK, "max_epochs": 1}).fit(X, Y)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("verbose", [True, False, np.True_])
def test_verbose_may_be_a_flag(verbose, capsys):
    classifier(**QUICK, verbose=verbose).fit(X, Y)
    assert ("networks 1 and 2 of 2" in capsys.readouterr().err) == bool(verbose)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"class_weight": "equal"},
            "class_weight must be None, 'balanced', or a dict from class to weight; "
            "got 'equal'.",
        ),
        (
            {"class_weight": [1, 2]},
            "class_weight must be None, 'balanced', or a dict from class to weight; "
            r"got \[1, 2\].",
        ),
        (
            {"class_weight": {True: -1}},
            "class_weight of True must be a number of at least 0; got -1.",
        ),
        (
            {"class_weight": {True: "x"}},
            "class_weight of True must be a number of at least 0; got 'x'.",
        ),
        (
            {"callbacks": print},
            "callbacks must be a list of functions that are called with the record of "
            "each epoch, or None; got <built-in function print>.",
        ),
        (
            {"callbacks": [3]},
            "callbacks must be a list of functions that are called with the record of "
            r"each epoch, or None; got \[3\].",
        ),
        (
            {"checkpoint_dir": 3},
            "checkpoint_dir must be the path of a folder or None; got 3.",
        ),
        (
            {"checkpoint_dir": __file__},
            "checkpoint_dir must be a folder, but '.*' is a file; name another.",
        ),
        (
            {"verbose": "yes"},
            "verbose must be a whole number of at least 0 or True or False or None; "
            "got 'yes'.",
        ),
    ],
)
def test_an_argument_of_the_wrong_kind_gets_a_sentence(arguments, text):
    with pytest.raises(ValueError, match=f"^{text}$"):
        ModernNCAClassifier(random_state=0, **arguments).fit(X, Y)


def test_the_module_is_the_shell():
    command = [sys.executable, "-m", "modernnca", "--version"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=240
    )
    assert done.stdout.startswith("modernnca ")


def test_torch_compiles_nothing_while_the_clock_runs(monkeypatch):
    """Only torch's own optimizers import its compiler; they do so before."""
    from modernnca.estimators import resolve

    imported = []
    monkeypatch.setattr(resolve, "import_module", imported.append)
    for preset, expected in [("default", []), ("nca-v4", ["torch._dynamo"])]:
        resolve.import_ahead(ModernNCAClassifier(preset=preset))
        assert imported == expected
    resolve.import_ahead(classifier(optimizer="lbfgs"))
    assert imported == ["torch._dynamo"] * 2


def test_the_clock_of_a_fit_starts_after_what_is_imported(monkeypatch):
    order, budget = [], estimator.Budget
    monkeypatch.setattr(estimator, "import_ahead", lambda _: order.append("imports"))
    monkeypatch.setattr(
        estimator, "Budget", lambda limit: order.append("clock") or budget(limit)
    )
    classifier(**QUICK, time_limit=100).fit(X, Y)
    assert order == ["imports", "clock"]


def test_skops_stores_a_model():
    import skops.io as skops

    model = classifier(**QUICK).fit(X, Y)
    content = skops.dumps(model)
    types = skops.get_untrusted_types(data=content)
    assert types == ["modernnca.estimators.classifier.ModernNCAClassifier"]
    again = skops.loads(content, trusted=types)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_who_asks_for_the_state_gets_no_tensors():
    """As skops does, and by it mlflow."""
    model = classifier(**QUICK).fit(X, Y)
    state = model.__getstate__()
    assert [type(part) for part in state.values()] == [bytes]
    again = ModernNCAClassifier.__new__(ModernNCAClassifier)
    again.__setstate__(state)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    unfitted = ModernNCAClassifier(dim=7)
    assert unfitted.__getstate__()["dim"] == 7


def test_mlflow_logs_a_model_in_its_default_format(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow.sklearn")
    monkeypatch.chdir(tmp_path)
    model = classifier(**QUICK).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlflow.save_model(
            model,
            tmp_path / "model",
            pip_requirements=[],
            skops_trusted_types=[
                "modernnca.estimators.classifier.ModernNCAClassifier",
            ],
        )
        again = mlflow.load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
