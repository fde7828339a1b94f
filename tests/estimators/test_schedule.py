"""How large the steps are, and how many, by the number of rows."""

import pytest

from modernnca.estimators.presets import preset_for
from modernnca.estimators.resolve import _batch_size, _n_epochs


@pytest.mark.parametrize(
    ("task", "n_rows", "batch_size", "n_epochs"),
    [
        ("classification", 100, 32, 20),
        ("classification", 1000, 200, 20),
        ("classification", 1800, 256, 30),  # halfway to all 40
        ("classification", 3000, 256, 40),
        ("classification", 10_000, 256, 15),  # 600 steps
        ("classification", 10**6, 256, 10),
        ("regression", 1600, 256, 40),
        ("regression", 4000, 256, 60),
    ],
)
def test_the_schedule_follows_the_number_of_rows(task, n_rows, batch_size, n_epochs):
    config = preset_for("default", task)
    assert _batch_size(n_rows, config) == batch_size
    config = config.updated({"batch_size": batch_size})
    assert _n_epochs(n_rows, config, task) == n_epochs
