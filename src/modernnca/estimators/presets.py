"""Presets: named configs that mean the same model on every machine."""

from modernnca._named import named
from modernnca.estimators.config import ModernNCAConfig
from modernnca.table.targets import Task

_INF = float("inf")
_DEFAULT = ModernNCAConfig.defaults()

# One network, for a first look.
_FAST = _DEFAULT.updated({"n_members": 1, "diversity": "alike", "forest_member": False})

# Eight wider networks that learn from many sampled rows until the validation rows say
# stop; for a GPU.
_BEST = _DEFAULT.updated(
    {
        "n_members": 8,
        "dim": 128,
        "d_block": 512,
        "n_frequencies": 77,
        "frequency_scale": 0.0443136,
        "d_encoding": 34,
        "n_knots": 128,
        "patience": 5,
        "final_rate": 1.0,
        "max_sampled": 8192,
        "leaf_size": 0,
        "dense_rounds": 0,
        "finetune": 0.5,
        "finetune_batch_size": 1024,
        "finetune_max_sampled": 8192,
    }
)

# The defaults of the paper's public code.
_PAPER = _DEFAULT.updated(
    {
        "categorical_encoding": "onehot",
        "missing_indicators": False,
        "max_plain_values": 0,
        "clip_to_range": False,
        "column_scales": "none",
        "feature_selection": False,
        "n_knots": 0,
        "temperature": 1.0,
        "sampler": "random",
        "max_sampled": _INF,
        "leaf_size": 0,
        "optimizer": "adamw",
        "learning_rate": 0.01,
        "batch_size": 1024,
        "n_frequencies": 77,
        "frequency_scale": 0.0443136,
        "d_encoding": 34,
        "drop_last": False,
        "warmup": 0.0,
        "max_epochs": 200,
        "patience": 20,
        "min_gain": 0.0,
        "final_rate": 1.0,
        "eval_metric": "mae",  # in regression; in classification the accuracy
        "tie_break": "later",
        "max_validation_rows": _INF,
        "time_features": "column",
        "past_only": "never",
        "dim": 128,
        "n_blocks": 0,
        "d_block": 512,
        "weight_averaging": 0.0,
        "n_members": 1,
        "diversity": "alike",
        "forest_member": False,
        "combine": "mean",
        "refit": "none",
        "finetune": 0.0,
        "dense_rounds": 0,
        "cooling": False,
        "calibrate": False,
        "baseline_check": False,
    }
)

# A linear projection of the columns themselves, trained as M-NCA is; squared distances
# as in NCA.
_LINEAR = _PAPER.updated(
    {"encoding": "none", "embedding": "linear", "distance": "squared-euclidean"}
)

# The ladder of the paper's table "L-NCA": each step changes one thing, and
# the last is L-NCA.
_NCA_V4 = _LINEAR.updated({"sampler": "all", "optimizer": "sgd", "learning_rate": 0.1})
_NCA_V3 = _NCA_V4.updated({"prediction": "knn"})
_NCA_V2 = _NCA_V3.updated({"loss": "sum"})
_NCA_V1 = _NCA_V2.updated(
    {"optimizer": "lbfgs", "learning_rate": 1.0, "max_epochs": 50, "batch_size": None}
)
_NCA_V0 = _NCA_V1.updated({"cap_dim": True})

_TABCON = _PAPER.updated(
    {
        "n_blocks": 1,
        "distance": "cosine",
        "temperature": 0.1,
        "loss": "mcml",
        # PAPER: "label values are discretized", without a number; ten quantile bins.
        "target_bins": 10,
        "sampler": "batch",
        "prediction": "knn",
        "learning_rate": 0.001,
    }
)

PRESETS: dict[str, ModernNCAConfig] = {
    "default": _DEFAULT,
    "fast": _FAST,
    "best": _BEST,
    "paper": _PAPER,
    "linear": _LINEAR,
    "nca-v0": _NCA_V0,
    "nca-v1": _NCA_V1,
    "nca-v2": _NCA_V2,
    "nca-v3": _NCA_V3,
    "nca-v4": _NCA_V4,
    "tabcon": _TABCON,
}

# What the modern presets do otherwise in classification: votes for classes want more
# voters than a batch has, and fewer steps.
_MODERN = ("default", "fast", "best")
_IN_CLASSIFICATION = {"sampler": "random"}


def preset_for(name: str, task: Task) -> ModernNCAConfig:
    """A preset as it is for a task."""
    config = named("preset", name, PRESETS)
    modern = task == "classification" and name in _MODERN
    return config.updated(_IN_CLASSIFICATION) if modern else config
