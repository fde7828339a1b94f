"""What is fitted to the reference tables: every preset, and every variant by name."""

from typing import Any, NamedTuple

BOTH = ("mixed_classification", "mixed_regression")
CLASSIFICATION = ("mixed_classification",)
TIME = ("time_regression",)
EVERY = (
    "mixed_classification",
    "mixed_regression",
    "gaps_classification",
    "gaps_regression",
    "time_regression",
    "wide_classification",
)


class Case(NamedTuple):
    """An estimator with its arguments, and the tables it is fitted to."""

    name: str
    tables: tuple[str, ...]
    estimator: str = "ModernNCA"  # and Classifier or Regressor
    arguments: dict[str, Any] = {}  # noqa: RUF012 - never changed
    config: dict[str, Any] = {}  # noqa: RUF012
    sample_weight: bool = False
    eval_set: bool = False


def _variants(option: str, *values: Any, tables: tuple[str, ...] = BOTH) -> list[Case]:
    """One fast network for each value of an option of `config`."""
    return [
        Case(f"{option}={value}", tables, config={option: value}) for value in values
    ]


_INF = float("inf")

CASES = (
    Case("default", EVERY, arguments={"preset": "default", "max_epochs": 6}),
    Case("default, to the end", BOTH,
         arguments={"preset": "default", "max_epochs": 200}),
    Case("fast", EVERY, arguments={"preset": "fast", "max_epochs": 6}),
    Case("best", BOTH, arguments={"preset": "best", "max_epochs": 2}),
    Case("paper", EVERY, arguments={"preset": "paper"}),
    Case("linear", EVERY, arguments={"preset": "linear"}),
    Case("l-nca", EVERY, "LNCA", arguments={"preset": "linear"}),
    Case("tabcon", EVERY, "TabCon"),
    *[
        Case(f"nca-{version}", ("mixed_classification", "gaps_classification"), "NCA",
             arguments={"preset": f"nca-{version}", "max_epochs": 8})
        for version in ("v0", "v1", "v2", "v3", "v4")
    ],
    *_variants("encoding", "plr", "periodic", "pbld", "ple", "none"),
    *_variants("embedding", "linear"),
    *_variants("distance", "squared-euclidean", "manhattan", "cosine", "dot"),
    *_variants("temperature", 0.5),
    *_variants("loss", "t-distribution"),
    *_variants("loss", "sum", "mcml", tables=CLASSIFICATION),
    *_variants("label_smoothing", 0.1, tables=CLASSIFICATION),
    *_variants("fused", False),
    *_variants("n_knots", 0, 20),
    *_variants("sampler", "all", "batch", "distance"),
    *_variants("sampler", "class-wise", tables=CLASSIFICATION),
    *_variants("sample_rate", 0.2),
    *_variants("max_sampled", 10, _INF),
    *_variants("prediction", "knn"),
    *_variants("leaf_size", 8),
    *_variants("optimizer", "adamw-95", "sgd", "lbfgs"),
    *_variants("standardize", False),
    *_variants("categorical_encoding", "onehot"),
    *_variants("missing_indicators", False, tables=("gaps_regression",)),
    *_variants("max_plain_values", 0, 10),
    *_variants("clip_to_range", False),
    *_variants("column_scales", "none", "learned"),
    *_variants("feature_selection", False, tables=("wide_classification",)),
    *_variants("weight_averaging", 0.0),
    *_variants("tie_break", "later"),
    *_variants("max_validation_rows", 20),
    *_variants("baseline_check", False),
    *_variants("finetune", 1.0),
    *_variants("time_features", "column", "fourier", "both", "none", tables=TIME),
    *_variants("past_only", "never", "validation", "always", tables=TIME),
    *_variants("validation_split", "last", "blocks", tables=TIME),
    Case("blocks", BOTH, arguments={"n_blocks": 2, "d_block": 32, "dim": 16}),
    Case("layernorm", BOTH, arguments={"n_blocks": 1},
         config={"embedding": "layernorm"}),
    Case("residual", BOTH, arguments={"n_blocks": 1}, config={"embedding": "residual"}),
    Case("refit=none", BOTH, arguments={"refit": "none"}),
    Case("refit=full", BOTH, arguments={"refit": "full"}),
    Case("refit=full, members", BOTH,
         arguments={"preset": "default", "refit": "full", "max_epochs": 2}),
    Case("validation_fraction=0", BOTH, arguments={"validation_fraction": 0.0}),
    Case("eval_metric=log-loss", CLASSIFICATION, arguments={"eval_metric": "log-loss"}),
    Case("eval_metric=mae", ("mixed_regression",), arguments={"eval_metric": "mae"}),
    Case("calibrate=False", CLASSIFICATION, arguments={"calibrate": False}),
    Case("class_weight", CLASSIFICATION, arguments={"class_weight": "balanced"}),
    Case("patience=inf", BOTH, arguments={"patience": _INF}),
    Case("categorical", BOTH, arguments={"categorical_features": ["rooms"]}),
    Case("alike", BOTH, arguments={"n_members": 2}),
    Case("mean", BOTH, arguments={"preset": "default", "max_epochs": 2},
         config={"combine": "mean", "forest_member": False}),
    Case("sample_weight", BOTH, sample_weight=True),
    Case("eval_set", BOTH, eval_set=True),
    Case("members, weights, eval_set", BOTH, arguments={"preset": "default",
         "max_epochs": 2}, sample_weight=True, eval_set=True),
)  # fmt: skip
