"""How should networks be fine-tuned on all rows: for how long, at which rate?

    python experiments/finetuning.py run --data DIR [--tables a,b] [--seeds 2]
        [--rows N]
    python experiments/finetuning.py report [--rows N]
    python experiments/finetuning.py --quick

Four networks are fitted as the default does, without fine-tuning; then they are
fine-tuned in several ways, each time from the same weights. With --rows there are only
so many rows to learn from and to validate by, and the records are in finetuning_N.csv.
finetuning.md has the results.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pandas as pd

from common import Fitted, Scores, Table, main, ratios, score_votes
from modernnca import NetworkMember
from modernnca.core.rows import Examples
from modernnca.ensemble.learner import NeighborLearner
from modernnca.ensemble.run import Run
from modernnca.train.loop import train

BASE = "no fine-tuning"


class Way(NamedTuple):
    """How networks are fine-tuned."""

    rate: float  # of the learning rate of the fit
    share: float = 1.0  # of the epochs that led to the best
    epochs: int | None = None  # so many instead
    averaged: float = 2.0  # epochs over which the one without a block is averaged


WAYS = {
    "4 epochs, rate 0.3, not averaged": Way(0.3, epochs=4, averaged=0.0),
    "8 epochs, rate 0.3": Way(0.3, epochs=8),
    "8 epochs, rate 1, not averaged": Way(1.0, epochs=8, averaged=0.0),
    "8 epochs, rate 1": Way(1.0, epochs=8),
    "16 epochs, rate 0.5": Way(0.5, epochs=16),
    "half as many, rate 1": Way(1.0, share=0.5),
    "half as many, rate 0.5": Way(0.5, share=0.5),
    "as many, rate 0.6": Way(0.6),
    "as many, rate 0.3": Way(0.3),
    "as many, rate 0.1": Way(0.1),
    "a third as many, rate 0.3": Way(0.3, share=1 / 3),
}


def finetune(member: NetworkMember, rows: Examples, way: Way, run: Run) -> None:
    """Train a network on all rows, without validation."""
    network, generators = member.network_, run.generators()
    config = member.configure(run.config)
    n_epochs = way.epochs or max(2, round(way.share * member.history_.best_epoch))
    config = config.updated(
        {
            "max_epochs": n_epochs,
            "learning_rate": config.learning_rate * way.rate,
            "weight_averaging": config.weight_averaging or way.averaged,
        }
    )
    network.requires_grad_(True).draw_dropout_from(generators.device)
    learner = NeighborLearner(
        network, rows, None, config=config, evaluate=None, generators=generators
    )
    train(learner, config, generators, validated=False)
    network.draw_dropout_from(None)
    network.eval().requires_grad_(False)


@contextmanager
def finetuned(fitted: Fitted, way: Way) -> Iterator[None]:
    """Within, the networks are fine-tuned; afterwards they have their weights back."""
    before = [copy.deepcopy(m.network_.state_dict()) for m in fitted.members]
    try:
        for member, run in zip(fitted.members, fitted.runs(), strict=True):
            finetune(member, fitted.all_rows, way, run)
        yield
    finally:
        for member, weights in zip(fitted.members, before, strict=True):
            member.network_.load_state_dict(weights)


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """No fine-tuning, then each way."""
    if table.done:
        return
    fitted = table.fit_members(preset="default", n_members=4, forest_member=False)
    if fitted is None:
        return
    values = fitted.test.values.cpu().numpy()

    def scores() -> Scores:
        votes = fitted.votes(fitted.test, remembered=fitted.all_rows)
        return score_votes(fitted.model.ensemble_.combine(votes), values)

    yield BASE, scores()
    for label, way in WAYS.items():
        with finetuned(fitted, way):
            yield label, scores()


def report(records: pd.DataFrame) -> None:
    """Print what each way gives."""
    print(ratios(records, dict.fromkeys(WAYS, BASE), title="epochs, rate"))


if __name__ == "__main__":
    main(__doc__, __file__, trials, report)
