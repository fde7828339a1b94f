"""What a member costs: seconds for a row, and for a pair of rows of which one votes."""

import math
from dataclasses import dataclass

from modernnca.core.rows import Examples
from modernnca.ensemble.cooling import N_FACTORS, n_cooling_queries
from modernnca.ensemble.ensemble_config import EnsembleConfig

_MIN_EPOCHS, _MIN_STEPS = 3, 50  # of a network that is worth its time
_STEP_ROWS = 500  # whose votes take as long as all else in a step
RESERVED = 0.5  # for fine-tuning, of the time that all its epochs would take
_N_ENOUGH = 2048  # validation rows, to combine members and to check baselines


@dataclass(frozen=True)
class Costs:
    """Seconds; all zero if there is no time limit, as nothing needs to be reserved.

    >>> costs = Costs(embed=0.5, pair=0.25)
    >>> costs.remember(1000), costs.votes(10, 1000)
    (500.0, 2505.0)
    """

    start: float = 0.0  # of a row, in training before the first epoch
    epoch: float = 0.0  # of a row, in an epoch
    embed: float = 0.0  # of a row that is remembered or that asks
    pair: float = 0.0  # of a row that asks and a row that votes
    knn: float = 0.0  # of such a pair in plain k-NN

    def remember(self, n_rows: int) -> float:
        """To remember rows."""
        return self.embed * n_rows

    def votes(self, n_asked: int, n_rows: int) -> float:
        """To let remembered rows vote on others."""
        return self.embed * n_asked + self.pair * n_asked * n_rows

    def cooling(self, n_train: int, n_valid: int) -> float:
        """To find the temperature of a trained network."""
        n_pairs = n_train * min(n_valid, n_cooling_queries(n_train))
        return self.remember(n_train) + N_FACTORS * self.pair * n_pairs

    def training(self, n_train: int, n_valid: int, batch_size: int) -> float:
        """The least training of a network that is worth its time."""
        epoch = self.epoch * n_train
        epoch += self.votes(min(n_valid or n_train, _N_ENOUGH), n_train)
        n_epochs = max(_MIN_EPOCHS, _MIN_STEPS * batch_size / max(n_train, 1))
        return self.start * n_train + n_epochs * epoch

    def settling(self, n_train: int, n_valid: int) -> float:
        """All that follows training, for one member."""
        votes = self.votes(min(n_valid, _N_ENOUGH), n_train)
        again = self.remember(n_train) if n_valid else 0.0
        return again + votes + self.remember(n_train + n_valid)

    def baseline(self, n_rows: int, n_valid: int) -> float:
        """To compare with baselines."""
        return self.knn * n_rows * min(n_valid, _N_ENOUGH)

    def n_affordable(self, seconds: float, n_members: int, n_rows: int) -> float:
        """How many validation rows members and baselines can vote on.

        >>> Costs(pair=1e-6).n_affordable(0.5, n_members=1, n_rows=1000)
        500.0
        """
        fixed = n_members * self.remember(n_rows) + self.baseline(n_rows, _N_ENOUGH)
        each = n_members * self.votes(1, n_rows)
        left = max(0.0, seconds - fixed)
        if not left or not each:
            return math.inf if left else 0.0
        return left / each


def finetuning_ratio(config: EnsembleConfig, rows: Examples) -> float:
    """How much longer a pass over these rows takes in fine-tuning.

    More rows vote on a batch; besides, a step takes as long as for so many of them.
    """
    sampled = {"max_sampled": config.finetune_max_sampled}
    sampler = {"sampler": "random"} if config.sampler == "batch" else {}
    more = config.updated({**sampled, **sampler}).n_voters(rows)
    return max(1.0, (_STEP_ROWS + more) / (_STEP_ROWS + config.n_voters(rows)))
