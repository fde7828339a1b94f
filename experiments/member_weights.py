"""How should the votes of members be combined: by which weights, and which mean?

    python experiments/member_weights.py run --data DIR [--tables a,b] [--seeds 2]
    python experiments/member_weights.py report
    python experiments/member_weights.py --quick

The members of the default are fitted once; then rules that learn weights from their
votes for validation rows are compared on the same votes. member_weights.md has the
results.

Shapes: K members, B rows, V numbers in a vote.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from common import MemberVotes, Scores, Table, main, ratios, score_votes

_MIN_PROBABILITY = 1e-4
_N_STEPS = 300
Rule = Callable[[MemberVotes], np.ndarray]  # to the weights (K,)


def equal(votes: MemberVotes) -> np.ndarray:
    """All members count alike."""
    return np.full(len(votes.valid), 1 / len(votes.valid))


def by_error(votes: MemberVotes, power: float) -> np.ndarray:
    """Weights are powers of the inverse errors: RMSEs, or roots of Brier scores."""
    squares = np.square(votes.valid - votes.valid_values)
    errors = np.sqrt(squares.sum(2).mean(1)).clip(1e-9)
    weights = (errors / errors.min()) ** -power
    return weights / weights.sum()


def least_squares(votes: MemberVotes, prior: float = 0.1) -> np.ndarray:
    """Weights with the least squared error, pulled toward equal ones."""
    flat = votes.valid.reshape(len(votes.valid), -1).T  # (B * V, K)
    pull = np.sqrt(prior * len(flat)) * np.eye(len(votes.valid)) * flat.std()
    wanted = np.concatenate([votes.valid_values.ravel(), pull @ equal(votes)])
    weights = nnls(np.vstack([flat, pull]), wanted)[0]
    return weights / weights.sum() if weights.any() else equal(votes)


def mixture(votes: MemberVotes, prior_rows: float) -> np.ndarray:
    """The mixture of members under which the true classes are most likely, by EM.

    `prior_rows` rows that all members explain equally keep few rows from deciding.
    """
    true = (votes.valid * votes.valid_values).sum(2).clip(_MIN_PROBABILITY)  # (K, B)
    weights = equal(votes)
    for _ in range(_N_STEPS):
        joint = weights[:, None] * true
        weights = (joint / joint.sum(0)).sum(1) + prior_rows / len(true)
        weights /= weights.sum()
    return weights


POWERS: dict[str, Rule] = {
    f"power {power}": partial(by_error, power=power) for power in (2, 4, 8)
}
ANY_TASK: dict[str, Rule] = {"equal": equal, **POWERS, "least squares": least_squares}
CLASSES: dict[str, Rule] = {
    f"mixture, {n} prior rows": partial(mixture, prior_rows=n)
    for n in (2, 5, 10, 20, 40, 80)
}
BASE = "power 4"


def geometric(votes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted mean of log-votes (K, B, V), as a vote (B, V)."""
    logs = np.log(votes.clip(_MIN_PROBABILITY))
    pooled = np.exp(np.tensordot(weights, logs, 1))
    return pooled / pooled.sum(1, keepdims=True)


def majority(votes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted share of members that prefer each class."""
    chosen = np.eye(votes.shape[2])[votes.argmax(2)]
    return np.tensordot(weights, chosen, 1)


POOLS = {"mean of logarithms": geometric, "majority": majority}


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """Each rule on the same votes."""
    if table.done:
        return
    votes = table.member_votes(preset="default")
    if votes is None:
        return
    rules = {**ANY_TASK, **(CLASSES if votes.classification else {})}
    for label, rule in rules.items():
        combined = np.tensordot(rule(votes), votes.test, 1)
        yield label, score_votes(combined, votes.test_values)
    if votes.classification:
        weights = mixture(votes, prior_rows=10)
        for label, pool in POOLS.items():
            yield label, score_votes(pool(votes.test, weights), votes.test_values)


def report(records: pd.DataFrame) -> None:
    """Print what each rule gives."""
    labels = (*ANY_TASK, *CLASSES, *POOLS)
    bases = {label: BASE for label in labels if label != BASE}
    print(ratios(records, bases, title=f"over {BASE}"))


if __name__ == "__main__":
    main(__doc__, __file__, trials, report)
