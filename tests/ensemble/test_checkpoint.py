"""Checkpoints: a full disk does not end a fit, and only the same fit resumes one."""

import warnings

import numpy as np
import pytest

from modernnca import ModelFileError
from modernnca._tree_file import read_tree, write_tree
from modernnca.ensemble import checkpoint as checkpoint_room
from tests.estimators.models import regressor

X = np.random.RandomState(0).randn(60, 3)
SMALL = {"n_members": 1, "n_blocks": 0, "max_epochs": 3, "random_state": 0}
SMALL["baseline_check"] = False


def fit(**options):
    return regressor(**SMALL, **options).fit(X, X[:, 0])


def test_a_fit_goes_on_without_room_for_its_checkpoint_and_says_so(
    tmp_path, monkeypatch
):
    expected = fit().predict(X)

    def full(path, tree, key):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint_room, "write_tree", full)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fit(checkpoint_dir=tmp_path)
    told = [str(each.message) for each in caught]
    assert len([text for text in told if "fit-0.checkpoint" in text]) == 1
    assert "cannot be written (No space left on device); the fit goes on" in told[0]
    assert np.array_equal(model.predict(X), expected)


def test_a_damaged_checkpoint_says_what_to_do(tmp_path):
    fit(checkpoint_dir=tmp_path)
    path = tmp_path / "fit-0.checkpoint"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ModelFileError, match=r"fit-0\.checkpoint' is damaged; delete"):
        fit(checkpoint_dir=tmp_path)


def test_a_checkpoint_that_somebody_changed_is_not_resumed_from(tmp_path):
    fit(checkpoint_dir=tmp_path)
    path = tmp_path / "fit-0.checkpoint"
    tree = read_tree(path)
    tree["state"]["epochs"][0][2] = 1e9
    for key in (None, "guessed", tree["belongs_to"]):
        write_tree(path, tree, key=key)
        with pytest.raises(ModelFileError, match="is damaged; delete it"):
            fit(checkpoint_dir=tmp_path)
