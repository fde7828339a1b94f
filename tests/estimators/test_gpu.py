"""On a GPU a network learns what it learns on a CPU: a wrong kernel shows here."""

import numpy as np
import pytest
import torch
from tests.estimators.models import classifier

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.parametrize("n_blocks", [0, 1])
def test_many_classes_are_learned_as_on_a_cpu(n_blocks):
    rng = np.random.RandomState(0)
    centers = rng.randn(26, 16)
    labels = rng.randint(26, size=6000)
    X = centers[labels] + 1.2 * rng.randn(6000, 16)  # hard: losses stay large
    losses = {}
    for device in ("cpu", "cuda"):
        model = classifier(
            device=device,
            n_members=1,
            diversity="alike",
            n_blocks=n_blocks,
            max_epochs=6,
            patience=float("inf"),
            random_state=0,
        ).fit(X[:5000], labels[:5000])
        losses[device] = [epoch.train_loss for epoch in model.history_]
    # Each draws its own rows, so the paths differ a little; a wrong slope differs more.
    assert losses["cuda"][-1] == pytest.approx(losses["cpu"][-1], rel=0.1)
