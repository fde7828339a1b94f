"""Records and scores made by hand, small enough to judge them by eye."""

import numpy as np
import pandas as pd

CLASSES = ("accuracy", "balanced-accuracy", "log-loss", "auc", "ece")
NUMBERS = ("rmse", "mae", "r2")
COLUMNS = [
    *("dataset", "task", "method", "settings", "split", "seed", "status", "error"),
    *(*CLASSES, *NUMBERS),
    *("fit_seconds", "predict_seconds", "peak_bytes", "model_bytes"),
    *("n_train", "n_columns"),
]


def run(dataset="iris", method="knn", score=0.9, *, task="binclass", **other):
    """One record; the score is the accuracy, or the RMSE."""
    metric = "rmse" if task == "regression" else "accuracy"
    base = dict.fromkeys(COLUMNS, np.nan) | {
        **{"dataset": dataset, "task": task, "method": method, "settings": "default"},
        **{"split": "given", "seed": 0, "status": "done", "error": None},
        **{"fit_seconds": 2.0, "predict_seconds": 0.5, "peak_bytes": 3 * 2.0**20},
        **{"model_bytes": 1000.0, "n_train": 100, "n_columns": 4, metric: score},
    }
    return base | other


def failed(dataset="iris", method="knn", status="failed", error="Boom.", **other):
    """A record without a result, as a store keeps it: not even the task is known."""
    unknown = dict.fromkeys(("fit_seconds", "peak_bytes", "n_train", "n_columns"))
    told = {"task": "", "status": status, "error": error, **unknown}
    return run(dataset, method, np.nan) | told | other


def records_of(*rows):
    return pd.DataFrame(list(rows), columns=COLUMNS)


def scores_of(*rows):
    """Scores from (dataset, task, method, mean), each of 3 runs without spread."""
    frame = pd.DataFrame(rows, columns=["dataset", "task", "method", "mean"])
    frame = frame.astype({"mean": float})
    return frame.assign(std=0.0, n=3, higher=frame["task"] != "regression")


def benchmark(n_datasets=9, methods=("modernnca", "knn", "xgboost", "svm"), n_seeds=3):
    """Records of several methods, in this order of skill, on tables of all tasks."""
    rng = np.random.default_rng(0)
    rows = []
    for place in range(n_datasets):
        task = ("binclass", "multiclass", "regression")[place % 3]
        facts = {"n_train": 10 ** (2 + place % 3), "n_columns": 5 * (place + 1)}
        for skill, method in enumerate(methods):
            error = 0.1 + 0.02 * skill + rng.normal(0, 0.015)
            for seed in range(n_seeds):
                score = error + rng.normal(0, 0.003)
                other = {"balanced-accuracy": 1 - 1.1 * score, "mae": 60 * score}
                value = 100 * score if task == "regression" else 1 - score
                times = {"fit_seconds": 9.0 / (1 + 3 * skill), "peak_bytes": 2.0**27}
                rows.append(
                    run(f"table-{place}", method, value, task=task)
                    | {"seed": seed, **facts, **times}
                    | {
                        k: v
                        for k, v in other.items()
                        if (k == "mae") == (place % 3 == 2)
                    }
                )
    return records_of(*rows)
