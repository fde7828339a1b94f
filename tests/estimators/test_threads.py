"""Fits in several threads of one process give what they give one after the other."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from tests.estimators.models import classifier, regressor
from tests.estimators.tables import classes_of, mixed_table, numbers_of

FRAME = mixed_table()
QUICK = {"max_epochs": 4, "n_members": 3, "n_blocks": 1, "dropout": 0.3}


def fit(seed):
    if seed % 2:
        model = regressor(**QUICK, random_state=seed)
        return model.fit(FRAME, numbers_of(FRAME)).predict(FRAME)
    model = classifier(**QUICK, random_state=seed)
    return model.fit(FRAME, classes_of(FRAME)).predict_proba(FRAME)


def test_threads_do_not_disturb_each_other():
    serial = [fit(seed) for seed in range(8)]
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()
    with ThreadPoolExecutor(4) as pool:
        parallel = list(pool.map(fit, range(8)))
    for one, other in zip(serial, parallel, strict=True):
        assert np.array_equal(one, other)
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert np.array_equal(np.random.get_state()[1], numpy_state)


def test_global_generators_do_not_matter():
    torch.manual_seed(1)
    np.random.seed(1)
    one = fit(2)
    torch.manual_seed(2)
    np.random.seed(2)
    assert np.array_equal(fit(2), one)
