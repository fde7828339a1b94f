"""Load a model that any method of the benchmark saved."""

import os
from typing import Any

from modernnca._tree_file import read_tree
from modernnca.errors import ModelFileError
from modernnca.estimators.persistence import load as load_package_model
from modernnca.lab.peers import peer


def load(path: str | os.PathLike, *, device: str | None = None) -> Any:
    """Return the fitted model in the file. No code from the file is run.

    >>> import tempfile
    >>> model = peer("svm").build("binclass", seed=0).fit([[0], [1]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/svm.model")
    ...     load(f"{folder}/svm.model").predict([[2]])
    array(['b'], dtype='<U1')
    """
    tree = read_tree(path)
    if "peer" not in tree:
        return load_package_model(path, device=device)
    settings = dict(tree["settings"])
    if "device" in settings:
        settings["device"] = device
    try:
        model: Any = peer(tree["peer"]).build(
            tree["task"], seed=tree["seed"], settings=settings
        )
        return model.restore(tree)
    except (LookupError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise ModelFileError(
            f"{str(path)!r} does not describe a model: {error}"
        ) from error
