"""The contract of a member, as checks that anyone can run on a member of their own.

>>> from modernnca import KNNMember
>>> check_member(KNNMember())

With pytest, `MEMBER_CHECKS` gives one test for each check and task:

    @pytest.mark.parametrize("task", TASKS)
    @pytest.mark.parametrize("check", MEMBER_CHECKS, ids=lambda check: check.__name__)
    def test_my_member(check, task):
        check(MyMember(), task)
"""

import copy
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from modernnca._tree_file import read_tree, write_tree
from modernnca.core.network import InputShape
from modernnca.core.rows import Examples, Rows
from modernnca.ensemble.member import MEMBER_KINDS, Member, Remembered
from modernnca.ensemble.run import Run
from modernnca.estimators.classifier import ModernNCAClassifier
from modernnca.estimators.persistence import load
from modernnca.estimators.presets import PRESETS
from modernnca.estimators.regressor import ModernNCARegressor
from modernnca.table.evaluation import Evaluator
from modernnca.table.targets import TARGETS, Task
from modernnca.train.budget import Budget

TASKS: tuple[Task, Task] = ("classification", "regression")
_SHAPE = InputShape(n_numbers=3, n_plain=1, n_levels=4)
_N_TRAIN, _N_VALID, _N_QUERIES = 60, 20, 7


def make_rows(n_rows: int, *, seed: int = 0, timed: bool = False) -> Rows:
    """Encoded rows of numbers, a plain column and two columns of codes."""
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randn(n_rows, _SHAPE.n_numbers, generator=generator)
    plain = torch.randint(2, (n_rows, 1), generator=generator).float()
    codes = torch.randint(2, (n_rows, 2), generator=generator) + torch.tensor([0, 2])
    return Rows(numbers, plain, codes, torch.arange(n_rows) if timed else None)


def make_examples(
    n_rows: int,
    task: Task,
    *,
    seed: int = 0,
    weighted: bool = False,
    timed: bool = False,
) -> Examples:
    """Rows with targets that depend on them."""
    rows = make_rows(n_rows, seed=seed, timed=timed)
    signal = rows.numbers[:, 0] + rows.plain[:, 0] - 0.5
    values = signal[:, None]
    if task == "classification":
        codes = (signal > 0).long() + (signal > 1).long()
        values = torch.nn.functional.one_hot(codes, 3).float()
    weights = 0.5 + torch.arange(n_rows) / n_rows if weighted else None
    return Examples(rows, values, values, weights)


def make_run(task: Task, valid: Examples, *, seconds: float | None = None) -> Run:
    """A run as `fit` gives it to a member."""
    y = np.array([0, 1, 2])
    target = TARGETS[task]().fit(y if task == "classification" else y.astype(float))
    truth = valid.values.argmax(1) if task == "classification" else valid.values[:, 0]
    metric = "accuracy" if task == "classification" else "rmse"
    config = PRESETS["fast"].updated(
        {"max_epochs": 2, "batch_size": 32, "eval_metric": metric, "dim": 8}
    )
    return Run(
        torch.device("cpu"),
        Budget(seconds),
        task,
        config,
        _SHAPE,
        seeds=[0, 1],
        evaluate=Evaluator(target.decode(truth.numpy()), None, target, metric),
    )


def fit_copy(
    member: Member, task: Task, *, seconds: float | None = None, **options: bool
) -> tuple[Member, Examples]:
    """A fitted copy of the member, and the rows that it remembers."""
    fitted = copy.deepcopy(member)
    train = make_examples(_N_TRAIN, task, **options)
    valid = make_examples(_N_VALID, task, seed=1, **options)
    fitted.fit(train, valid, make_run(task, valid, seconds=seconds))
    fitted.remember(train)
    return fitted, train


def _votes(member: Member, query: Rows) -> Tensor:
    with torch.inference_mode():
        return member.vote(query).mean


def check_votes(member: Member, task: Task) -> None:
    """Votes have the right shape and are finite; those for classes add up to one."""
    fitted, train = fit_copy(member, task)
    for n_queries in (_N_QUERIES, 1, 0):
        query = make_rows(n_queries, seed=2)
        mean, log_weight = fitted.vote(query)
        assert mean.shape == (n_queries, train.values.shape[1]), mean.shape
        assert log_weight.shape == (n_queries, 1), log_weight.shape
        assert mean.isfinite().all()
        assert not log_weight.isnan().any()
        if task == "classification":
            assert (mean > -1e-6).all(), "the vote for a class is negative"
            torch.testing.assert_close(mean.sum(1), torch.ones(n_queries))


def check_reproducible(member: Member, task: Task) -> None:
    """Two fits with the same seeds give the same votes; global generators are kept."""
    state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()  # type: ignore[index]
    query = make_rows(_N_QUERIES, seed=2)
    one, two = (_votes(fit_copy(member, task)[0], query) for _ in range(2))
    assert torch.equal(one, two), "two fits with the same seeds differ"
    assert torch.equal(state, torch.get_rng_state()), "torch's generator was used"
    same = np.array_equal(numpy_state, np.random.get_state()[1])  # type: ignore[index]
    assert same, "numpy's generator was used"


def check_one_by_one(member: Member, task: Task) -> None:
    """The vote on a query does not depend on the other queries, nor on earlier ones."""
    fitted, _ = fit_copy(member, task)
    query = make_rows(_N_QUERIES, seed=2)
    whole = _votes(fitted, query)
    single = torch.cat(
        [_votes(fitted, query.take(slice(i, i + 1))) for i in range(_N_QUERIES)]
    )
    torch.testing.assert_close(single, whole, atol=1e-5, rtol=1e-4)
    assert torch.equal(_votes(fitted, query), whole)


def check_pairs(member: Member, task: Task) -> None:
    """Shares of rows, if there are any, add up to one and to the vote."""
    fitted, train = fit_copy(member, task)
    query = make_rows(_N_QUERIES, seed=2)
    with torch.inference_mode():
        pairs = fitted.pairs(query)
    if pairs is None:
        return
    assert pairs.distances.shape == pairs.shares.shape == (_N_QUERIES, _N_TRAIN)
    torch.testing.assert_close(pairs.shares.sum(1), torch.ones(_N_QUERIES))
    votes = pairs.shares @ train.values
    torch.testing.assert_close(votes, _votes(fitted, query), atol=1e-5, rtol=1e-4)


def check_remember(member: Member, task: Task) -> None:
    """Other rows can be remembered without a fit."""
    fitted, _ = fit_copy(member, task)
    more = make_examples(_N_TRAIN + 5, task, seed=3)
    fitted.remember(more)
    query = make_rows(_N_QUERIES, seed=2)
    assert _votes(fitted, query).isfinite().all()
    pairs = fitted.pairs(query)
    assert pairs is None or pairs.shares.shape == (_N_QUERIES, _N_TRAIN + 5)


def check_finetune(member: Member, task: Task) -> None:
    """Fine-tuning on all rows leaves a member that votes."""
    fitted, _ = fit_copy(member, task)
    rows = make_examples(_N_TRAIN + _N_VALID, task)
    fitted.finetune(rows, make_run(task, rows).but(evaluate=None))
    fitted.remember(rows)
    assert _votes(fitted, make_rows(_N_QUERIES, seed=2)).isfinite().all()


def check_weights(member: Member, task: Task) -> None:
    """Rows may have weights."""
    fitted, _ = fit_copy(member, task, weighted=True)
    assert _votes(fitted, make_rows(_N_QUERIES, seed=2)).isfinite().all()


def check_time(member: Member, task: Task) -> None:
    """Rows may have times; those later than a query have no share."""
    fitted, train = fit_copy(member, task, timed=True)
    query = make_rows(_N_TRAIN, timed=True)
    assert _votes(fitted, query).isfinite().all()
    pairs = fitted.pairs(query)
    if pairs is not None and train.rows.time is not None:
        later = train.rows.time > torch.arange(_N_TRAIN)[:, None]
        assert (pairs.shares[later] == 0).all()


def check_budget(member: Member, task: Task) -> None:
    """A fit without any time left ends soon, with a member that votes."""
    begin = time.monotonic()
    fitted, _ = fit_copy(member, task, seconds=0.0)
    assert time.monotonic() - begin < 30
    assert _votes(fitted, make_rows(_N_QUERIES, seed=2)).isfinite().all()


def check_state(member: Member, task: Task) -> None:
    """A member goes to a file and back, and votes the same."""
    assert MEMBER_KINDS.get(member.kind) is type(member), "the kind is not registered"
    fitted, train = fit_copy(member, task)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "member"
        write_tree(path, {"state": fitted.state()})
        again = type(member).from_state(read_tree(path)["state"], Remembered.of(train))
    query = make_rows(_N_QUERIES, seed=2)
    votes = (
        _votes(again, query),
        _votes(fitted, query),
    )  # the layout may round otherwise
    torch.testing.assert_close(*votes, rtol=1e-6, atol=1e-6)


def check_estimator(member: Member, task: Task) -> None:
    """An estimator takes it as its only member, predicts, is saved and loaded."""
    rng = np.random.RandomState(0)
    X = rng.randn(50, 3)
    classification = task == "classification"
    kind = ModernNCAClassifier if classification else ModernNCARegressor
    model = kind(
        members=[member],
        max_epochs=2,
        random_state=0,
        config={"baseline_check": False},
    )
    model.fit(X, X[:, 0] > 0 if classification else X[:, 0])
    assert [each.kind for each in model.members_] == [member.kind]
    prediction = model.predict(X)
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model")
        again: Any = load(f"{folder}/model", device="cpu")
    if classification:
        assert np.array_equal(again.predict(X), prediction)
    else:
        np.testing.assert_allclose(again.predict(X), prediction, rtol=1e-5, atol=1e-6)


MEMBER_CHECKS: Sequence[Callable[[Member, Task], None]] = (
    check_votes,
    check_reproducible,
    check_one_by_one,
    check_pairs,
    check_remember,
    check_finetune,
    check_weights,
    check_time,
    check_budget,
    check_state,
    check_estimator,
)


def check_member(member: Member, *, tasks: Sequence[Task] = TASKS) -> None:
    """Run all checks on an unfitted member; an AssertionError names what is broken."""
    for task in tasks:
        for check in MEMBER_CHECKS:
            check(member, task)
