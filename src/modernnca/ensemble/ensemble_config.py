"""The options of an ensemble: its networks, how they are trained and combined."""

from collections.abc import Callable
from dataclasses import dataclass

from modernnca._config import COUNT, FLAG, FRACTION, Number, OneOf, Satisfies, option
from modernnca.core.rows import Examples
from modernnca.ensemble.learner import MethodConfig
from modernnca.table.metrics import METRICS
from modernnca.table.split import VALIDATION_SPLITS
from modernnca.train.loop import TrainingConfig

COMBINE = ("weighted", "mean")
DIVERSITY = ("mixed", "alike")
REFIT = ("remember", "full", "none")


def _is_metric(value: object) -> bool:
    return callable(value) or (isinstance(value, str) and value in METRICS)


@dataclass(frozen=True, kw_only=True)
class EnsembleConfig(MethodConfig, TrainingConfig):
    """All options of an ensemble."""

    def n_voters(self, rows: Examples) -> int:
        """How many rows vote on a batch in training."""
        n_rows, n_batch = rows.n_rows, min(self.batch_size, rows.n_rows)
        if self.sampler == "batch":
            return n_batch
        if self.sampler == "all":
            return n_rows
        sampled = min(self.sample_rate * (n_rows - n_batch), self.max_sampled)
        return n_batch + int(sampled)

    n_members: int = option(4, COUNT, "How many networks vote.")
    diversity: str = option(
        "mixed",
        OneOf(DIVERSITY),
        "mixed: the networks differ in depth and in how they see numbers (see "
        "ensemble.mixture); alike: only in their seeds.",
    )
    forest_member: bool = option(
        True,
        FLAG,
        "In classification with several networks and fewer than 3,000 training rows, "
        "add a member in which rows are near that share leaves of a forest.",
    )
    combine: str = option(
        "weighted",
        OneOf(COMBINE),
        "weighted: members count by their votes for validation rows, and one whose "
        "number is unusually far from the others' counts less; mean: all count alike.",
    )
    refit: str = option(
        "remember",
        OneOf(REFIT),
        "What happens to validation rows in the end: remember (they join the memory), "
        "full (everything is retrained on all rows), none (they stay out).",
    )
    finetune: float = option(
        0.3,
        Number(0),
        "Before validation rows are remembered, fine-tune the networks on all rows, at "
        "a learning rate that falls to a twentieth, for this share of the epochs that "
        "led to their best; 0 does not.",
    )
    finetune_max_sampled: float = option(
        256,
        Number(1, integer=True, also=(float("inf"),)),
        "The most rows drawn to vote on a batch in fine-tuning.",
    )
    finetune_batch_size: int = option(
        512,
        COUNT,
        "Rows in a step of fine-tuning, at most an eighth of all.",
    )
    dense_rounds: int = option(
        2,
        Number(0, integer=True),
        "Where rows lie dense, train on for at most so many rounds, with more and more "
        "sampled rows, as long as that pays (see ensemble.dense_rounds).",
    )
    cooling: bool = option(
        True,
        FLAG,
        "Lower the temperature of each network in prediction, where all rows vote, if "
        "that is better on the validation rows.",
    )
    calibrate: bool = option(
        True, FLAG, "Calibrate class probabilities on the validation rows."
    )
    baseline_check: bool = option(
        True,
        FLAG,
        "Where plain k-NN, or a constant, is better on the validation rows by its "
        "score and by its squared errors, predict with it instead; `baseline_` names "
        "it.",
    )
    baseline_margin: float = option(
        1.0,
        Number(float("-inf"), also=(float("-inf"), float("inf"))),
        "Standard errors by which the squared errors of k-NN must be less than those "
        "of the networks; -inf: by the score alone.",
    )
    eval_metric: str | Callable = option(
        None,
        Satisfies(_is_metric, f"a function, or one of: {', '.join(sorted(METRICS))}"),
        "The metric of early stopping: a name, or a function of (y, probabilities or "
        "predictions), higher is better; None: accuracy, or rmse in regression.",
    )
    validation_fraction: float = option(
        0.2,
        FRACTION,
        "The share of rows held out for validation; with 0 (and in tables of less than "
        "10 rows) each row is validated by the votes of all others.",
    )
    validation_split: str = option(
        "random",
        OneOf(VALIDATION_SPLITS),
        "Which rows these are: random, or by the time column the last, or blocks, the "
        "last ones of each of ten blocks of time.",
    )
    max_validation_rows: float = option(
        2048,
        Number(1, integer=True, also=(float("inf"),)),
        "Validate with at most so many rows while training.",
    )
