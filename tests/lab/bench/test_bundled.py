"""The tables that need no data folder."""

import pytest

from modernnca.lab.bench.bundled import BUNDLED, read_bundled


@pytest.mark.parametrize(
    ("name", "task", "shape", "n_classes"),
    [
        ("breast_cancer", "binclass", (569, 30), 2),
        ("diabetes", "regression", (442, 10), None),
        ("digits", "multiclass", (1797, 64), 10),
        ("iris", "multiclass", (150, 4), 3),
        ("wine", "multiclass", (178, 13), 3),
    ],
)
def test_tables_are_what_they_say(name, task, shape, n_classes):
    dataset = read_bundled(name)
    assert (dataset.name, dataset.task, dataset.X.shape) == (
        f"builtin:{name}",
        task,
        shape,
    )
    assert len(dataset.y) == len(dataset.X)
    assert (dataset.classes is None) == (n_classes is None)
    if n_classes:
        assert len(dataset.classes) == n_classes


def test_other_names_are_refused():
    with pytest.raises(ValueError, match="Unknown built-in dataset 'linnerud'; choose"):
        read_bundled("linnerud")
    assert len(BUNDLED) == 5
