"""Load a model that any method of the benchmark saved."""

import os
from typing import Any

import numpy as np
import pandas as pd

from modernnca._declared import whole
from modernnca._tree_file import Key, read_tree
from modernnca.errors import MissingExtraError, ModelFileError
from modernnca.estimators.device import choose_device
from modernnca.estimators.persistence import load as load_package_model
from modernnca.lab.peers import peer
from modernnca.lab.peers.estimator_model import EstimatorModel, UntrustedFileError
from modernnca.table.restored import probe_table


def load(
    path: str | os.PathLike,
    *,
    device: str | None = None,
    trusted: bool = False,
    key: Key | None = None,
) -> Any:
    """Return the fitted model in the file. No code from the file is run.

    Models of XGBoost, LightGBM and CatBoost are in formats of these libraries, which do
    not check what they read: a file that somebody changed may crash the process. They
    are loaded only if the caller says that the file is `trusted`. With a `key`, the
    file must be signed; see docs/threats.md.

    >>> import tempfile
    >>> model = peer("svm").build("binclass", seed=0).fit([[0], [1]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/svm.model")
    ...     load(f"{folder}/svm.model").predict([[2]])
    array(['b'], dtype='<U1')
    """
    tree = read_tree(path, key=key)
    if "peer" not in tree:
        return load_package_model(path, device=device, key=key)
    choose_device(device)
    try:
        settings = dict(tree["settings"])
        if "device" in settings:
            settings["device"] = device
        seed = whole(tree["seed"], "seed", 0, 2**32 - 1)
        card = peer(tree["peer"])
        model: Any = card.build(tree["task"], seed=seed, settings=settings)
        model.restore(tree, trusted=trusted)
        _check_answers(model)
        return model
    except UntrustedFileError as error:
        raise ModelFileError(f"{str(path)!r} is not loaded: {error}") from error
    except MissingExtraError:
        raise
    except Exception as error:  # what a file declares may be anything
        raise ModelFileError(
            f"{str(path)!r} does not describe a model: {error}"
        ) from error


def _check_answers(model: Any) -> None:
    """Raise unless the model answers a few rows with finite numbers."""
    wrapped = isinstance(model, EstimatorModel)
    schema = (model.encoder if wrapped else model).preprocessor_.schema_
    table = pd.DataFrame(probe_table(schema).columns)
    table = table if schema.named else table.to_numpy()
    with np.errstate(all="ignore"):
        if model.task == "regression":
            answers = np.asarray(model.predict(table))[:, None]
        else:
            answers = np.asarray(model.predict_proba(table))
    expected = (len(table), model.target_.n_values)
    if answers.shape != expected or not np.isfinite(answers).all():
        raise ValueError("its predictions are not finite.")
