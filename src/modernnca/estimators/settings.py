"""What can be chosen, the presets that choose it, and the checks of each choice.

A preset is a named set of values; an argument that the user gives overrides it. An
argument left at "auto" means: as the preset says.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from modernnca._named import named
from modernnca.core.distances import DISTANCES
from modernnca.core.embed import EMBEDDINGS
from modernnca.core.encode import ENCODINGS
from modernnca.core.losses import LOSSES
from modernnca.core.samplers import SAMPLERS
from modernnca.table.categories import CATEGORIES
from modernnca.table.encoder import TIME_FEATURES
from modernnca.table.metrics import METRICS
from modernnca.table.numbers import NUMBERS
from modernnca.table.split import WAYS
from modernnca.train.optim import OPTIMIZERS

Task = Literal["classes", "numbers"]
PREDICTIONS = {"soft": None, "knn": None}
SCALES = {"none": None, "learned": None, "forest": None}
REFITS = {"remember": None, "full": None}
TIES = {"loss": None, "later": None}
_YES_OR_NO = frozenset(
    ("indicators", "clip", "wide", "forest_member", "weigh", "calibrate", "guard")
)
HEADS = {"fused": None, "plain": None}
VARIETY = {"alike": None, "mixed": None}
# Each does what those before it do, and more.
PAST_ONLY = {"never": 0, "prediction": 1, "judging": 2, "always": 3}


@dataclass(frozen=True)
class Settings:
    """All that a preset decides. The values here are the preset "default"."""

    numbers: str = "standard"
    categories: str = "grouped"
    indicators: bool = True
    few_values: int = 2
    clip: bool = True
    scale_columns: str = "forest"
    wide: bool = True
    encoding: str = "plr-lite"
    n_frequencies: int = 77
    frequency_scale: float = 0.0443136
    d_encoding: int = 34
    n_bins: int = 48
    n_knots: int | None = 256
    embedding: str = "mlp"
    dim: int = 128
    n_blocks: int = 1
    d_block: int | str = "by-machine"
    dropout: float = 0.1
    distance: str = "euclidean"
    temperature: float | str = "learned"
    loss: str = "log"
    label_smoothing: float = 0.0
    head: str = "fused"
    sampler: str = "random"
    sample_rate: float = 0.5
    max_sampled: int | str | None = "by-machine"
    sample_exponent: float = 1.0
    prediction: str = "soft"
    n_neighbors: int = 5
    optimizer: str = "adamw"
    learning_rate: float = 0.003
    weight_decay: float = 2e-4
    batch_size: int | str = "by-size"
    max_epochs: int = 200
    patience: int | None = 16
    averaging: float = 2.0
    # A name for both tasks, one for classes and one for numbers, or a function.
    stopping_metric: str | tuple[str, str] | Callable = ("accuracy", "rmse")
    ties: str = "loss"
    max_judges: int | None = 8192
    validation_fraction: float = 0.2
    # The next three matter where there is a time_column: see experiments/drift.py.
    validation_rows: str = "random"
    time_features: str = "seasons"
    past_only: str = "prediction"
    n_members: int | str = "by-machine"
    variety: str = "mixed"
    forest_member: bool = True
    weigh: bool = True
    refit: str | None = "remember"
    finishing: float = 1.0
    calibrate: bool = True
    guard: bool = True


# The defaults of the paper's public code.
_PAPER = Settings(
    categories="onehot",
    indicators=False,
    few_values=0,
    clip=False,
    scale_columns="none",
    wide=False,
    n_knots=None,
    temperature=1.0,
    max_sampled=None,
    learning_rate=0.01,
    batch_size=1024,
    patience=20,
    stopping_metric=("accuracy", "mae"),
    ties="later",
    max_judges=None,
    time_features="column",
    past_only="never",
    n_blocks=0,
    d_block=512,
    averaging=0.0,
    n_members=1,
    variety="alike",
    forest_member=False,
    weigh=False,
    refit=None,
    finishing=0.0,
    calibrate=False,
    guard=False,
)

# L-NCA: a linear projection of the columns themselves; squared distances as in NCA.
_LINEAR = replace(
    _PAPER, encoding="none", embedding="linear", distance="squared-euclidean"
)

# The ladder of the paper's table "L-NCA": each rung changes one thing.
_NCA_V4 = replace(_LINEAR, sampler="all", optimizer="sgd", learning_rate=0.1)
_NCA_V3 = replace(_NCA_V4, prediction="knn")
_NCA_V2 = replace(_NCA_V3, loss="sum")
_NCA_V1 = replace(_NCA_V2, optimizer="lbfgs", learning_rate=1.0, max_epochs=50)

PRESETS: dict[str, Settings] = {
    "default": Settings(),
    # One network without blocks, as few parts as can be: for a first look.
    "fast": replace(
        Settings(),
        n_blocks=0,
        max_sampled=4096,
        patience=6,
        averaging=1.0,
        n_members=1,
        variety="alike",
        forest_member=False,
        finishing=0.0,
    ),
    "paper": _PAPER,
    "linear": _LINEAR,
    "nca-v0": _NCA_V1,  # and no more dimensions than columns: see NCAClassifier
    "nca-v1": _NCA_V1,
    "nca-v2": _NCA_V2,
    "nca-v3": _NCA_V3,
    "nca-v4": _NCA_V4,
    "tabcon": replace(
        _PAPER,
        n_blocks=1,
        distance="cosine",
        temperature=0.1,
        loss="mcml",
        sampler="batch",
        prediction="knn",
        learning_rate=0.001,
    ),
}

_CHOICES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "numbers": ("treatment of numbers", NUMBERS),
    "categories": ("treatment of categories", CATEGORIES),
    "encoding": ("encoding", ENCODINGS),
    "scale_columns": ("way to scale columns", SCALES),
    "embedding": ("embedding", EMBEDDINGS),
    "distance": ("distance", DISTANCES),
    "loss": ("loss", LOSSES),
    "sampler": ("sampler", SAMPLERS),
    "prediction": ("prediction", PREDICTIONS),
    "optimizer": ("optimizer", OPTIMIZERS),
    "ties": ("way to resolve ties", TIES),
    "head": ("head", HEADS),
    "variety": ("variety", VARIETY),
    "validation_rows": ("way to choose validation_rows", WAYS),
    "time_features": ("treatment of the time column", TIME_FEATURES),
    "past_only": ("past_only", PAST_ONLY),
}


@dataclass(frozen=True)
class _Range:
    """Numbers from `low` to `high`; the ends count unless said otherwise."""

    whole: bool = False
    low: float = 0.0
    high: float = math.inf
    above: bool = False  # low itself does not count
    below: bool = False  # high itself does not count

    def holds(self, value: Any) -> bool:
        """Whether `value` is such a number."""
        if isinstance(value, bool) or not hasattr(value, "__float__"):
            return False
        number = float(value)
        whole = not self.whole or number == int(number)
        low = number > self.low if self.above else number >= self.low
        high = number < self.high if self.below else number <= self.high
        return math.isfinite(number) and whole and low and high

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        low = f"{'above' if self.above else 'of at least'} {self.low:g}"
        if math.isinf(self.high):
            return f"{kind} {low}"
        return f"{kind} {low} and {'below' if self.below else 'at most'} {self.high:g}"


_COUNT = _Range(whole=True, low=1)
_POSITIVE = _Range(above=True)
_SHARE = _Range(high=1, below=True)
_RANGES: dict[str, _Range] = {
    "few_values": _Range(whole=True),
    "n_frequencies": _COUNT,
    "frequency_scale": _POSITIVE,
    "d_encoding": _Range(whole=True, low=2),
    "n_bins": _Range(whole=True, low=2),
    "n_knots": _Range(whole=True, low=2),
    "max_judges": _COUNT,
    "dim": _COUNT,
    "n_blocks": _Range(whole=True),
    "d_block": _COUNT,
    "dropout": _SHARE,
    "temperature": _POSITIVE,
    "label_smoothing": _SHARE,
    "sample_rate": _Range(above=True, high=1),
    "max_sampled": _COUNT,
    "sample_exponent": _Range(),
    "n_neighbors": _COUNT,
    "learning_rate": _POSITIVE,
    "weight_decay": _Range(),
    "batch_size": _COUNT,
    "max_epochs": _COUNT,
    "patience": _Range(whole=True),
    "averaging": _Range(),
    "finishing": _Range(),
    "validation_fraction": _SHARE,
    "n_members": _COUNT,
    "time_limit": _POSITIVE,
    "verbose": _Range(whole=True),
}
# Words that may stand where a number is asked for.
_WORDS: dict[str, tuple[Any, ...]] = {
    "temperature": ("learned",),
    "max_sampled": (None, "by-machine"),
    "d_block": ("by-machine",),
    "n_members": ("by-machine",),
    "n_knots": (None,),
    "max_judges": (None,),
    "batch_size": ("by-size",),
    "patience": (None,),
    "time_limit": (None,),
}


def resolve(
    preset: str, given: Mapping[str, Any], task: Task, *, learns_from: Task
) -> Settings:
    """The preset's values, overridden by those given that are not "auto".

    `learns_from` is what the loss compares: TabCon predicts numbers from learned bins.

    >>> resolve("paper", {"dim": 32}, "classes", learns_from="classes").dim
    32
    >>> resolve("paper", {"dim": 0}, "classes", learns_from="classes")
    Traceback (most recent call last):
    ...
    ValueError: dim must be a whole number of at least 1; got 0.
    """
    base = named("preset", preset, PRESETS)
    names = {field.name for field in fields(Settings)}
    chosen = {
        name: value
        for name, value in given.items()
        if name in names and not (isinstance(value, str) and value == "auto")
    }
    # Who says how numbers are seen has said it for every member.
    if "numbers" in chosen:
        chosen.setdefault("variety", "alike")
    settings = replace(base, **chosen)
    for name, value in asdict(settings).items():
        check_value(name, value)
    _check_labels(settings, learns_from)
    return replace(settings, stopping_metric=_metric_for(settings, task))


def check_value(name: str, value: Any) -> None:
    """Say what is wrong with one value, and what would be right."""
    if name in _CHOICES:
        named(_CHOICES[name][0], value, _CHOICES[name][1])
    elif name == "refit" and value is not None:
        named("refit", value, REFITS)
    elif name in _YES_OR_NO and not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False; got {value!r}.")
    elif name in _RANGES:
        words = _WORDS.get(name, ())
        if any(value is word or value == word for word in words):
            return
        if not _RANGES[name].holds(value):
            extra = "".join(f" or {word!r}" for word in words)
            raise ValueError(f"{name} must be {_RANGES[name]}{extra}; got {value!r}.")


def _metric_for(settings: Settings, task: Task) -> str | Callable:
    """The stopping metric for the kind of target."""
    metric = settings.stopping_metric
    if isinstance(metric, tuple):
        metric = metric[0 if task == "classes" else 1]
    if not callable(metric):
        for_task = {name: part for name, part in METRICS.items() if part.task == task}
        named("stopping_metric", metric, for_task)
    return metric


def _check_labels(settings: Settings, learns_from: Task) -> None:
    """Check what depends on what the loss compares, and on two choices at once."""
    if learns_from == "numbers":
        losses = {name: part for name, part in LOSSES.items() if part.numbers}
        named("loss for regression", settings.loss, losses)
        samplers = {n: part for n, part in SAMPLERS.items() if n != "class-wise"}
        named("sampler for regression", settings.sampler, samplers)
        if settings.label_smoothing:
            raise ValueError(
                "label_smoothing is for classes; leave it at 0 for regression "
                f"(got {settings.label_smoothing!r})."
            )
    lengths = ("euclidean", "manhattan")
    if settings.loss == "t-distribution" and settings.distance not in lengths:
        raise ValueError(
            "The loss 't-distribution' needs a distance that is a length; instead of "
            f"distance={settings.distance!r} choose one of: {', '.join(lengths)}."
        )


def batch_size_for(settings: Settings, n_rows: int) -> int:
    """The batch size given, or one that grows with the table.

    Steps, not epochs, learn: a small table needs small batches to be seen often enough.
    With a block a step costs more and learns more. L-BFGS looks at all rows at once.

    >>> batch_size_for(Settings(n_blocks=0), 5_000), batch_size_for(Settings(), 5_000)
    (256, 512)
    """
    if settings.optimizer == "lbfgs":
        return n_rows
    if settings.batch_size != "by-size":
        return int(settings.batch_size)
    if n_rows >= 108_000:
        return 1024
    return 256 if n_rows < 32_000 and settings.n_blocks == 0 else 512


def for_machine(settings: Settings, task: Task, *, on_gpu: bool) -> Settings:
    """The same, with a number wherever the machine decides.

    For classes a GPU has time for more than a CPU, and that is worth it: where near
    rows are nearly alike, a vote is better learned among as many as will vote in the
    end, wide blocks suit large tables, and a second turn of members is surer. For
    numbers all that gave little (experiments/README.md).

    >>> here = for_machine(Settings(), "classes", on_gpu=True)
    >>> here.max_sampled, here.d_block, here.n_members
    (12288, 512, 8)
    """
    much = on_gpu and task == "classes"
    values: dict[str, Any] = {
        "max_sampled": 12_288 if much else 4096,
        "d_block": 512 if much else 256,
        "n_members": 8 if much else 4,
    }
    asked = {n: v for n, v in values.items() if getattr(settings, n) == "by-machine"}
    return replace(settings, **asked)
