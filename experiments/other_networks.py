"""Would other networks make better members? Alone, in place of one, and as a fifth.

    python experiments/other_networks.py run --data DIR [--tables a,b] [--seeds 2]
    python experiments/other_networks.py report
    python experiments/other_networks.py --quick

The four networks of the default, each fitted alone, and others that differ from one of
them in one thing, on classification tables. other_networks.md has the results.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from common import Scores, Table, main, ratios
from ingredients import NO_BLOCK, QUANTILE, SLIM, SQUASHED

_SLIM = {**SLIM, "clip_to_range": True}
FOUR = {
    "no block": {**NO_BLOCK, "clip_to_range": True},
    "quantile": {**_SLIM, **QUANTILE},
    "squashed": {**_SLIM, **SQUASHED},
    "slim": _SLIM,
}
OTHERS = {
    **{f"{n}, smoothed": {**c, "label_smoothing": 0.1} for n, c in FOUR.items()},
    "smoothed by 0.05": {**_SLIM, "label_smoothing": 0.05},
    "columns scaled": {**_SLIM, "column_scales": "learned"},
    "dropout 0.3": {**_SLIM, "dropout": 0.3},
    "decay 0.02": {**_SLIM, "weight_decay": 0.02},
    "residual": {**_SLIM, "embedding": "residual"},
    "frequencies of 0.2": {**_SLIM, "frequency_scale": 0.2},
    "PBLD": {**_SLIM, "encoding": "pbld", "n_frequencies": 16},
    "PLE": {**_SLIM, "encoding": "ple"},
    "cosine": {**_SLIM, "distance": "cosine"},
    "stopped by log-loss": {**_SLIM, "eval_metric": "log-loss"},
}
_MEAN = "mean of the four"
# Up to 10,000 rows, and three larger ones.
TABLES = (
    *("satimage", "mozilla4", "in_vehicle_coupon_recommendation", "online_shoppers"),
    *("mammography", "PhishingWebsites", "coil2000", "ringnorm", "twonorm", "texture"),
    *("telco-customer-churn", "sylvine", "churn", "spambase", "kr-vs-kp", "pc3", "pc4"),
    *("predict_students_dropout_and_academic_success", "mfeat-pixel", "mfeat-fourier"),
    *("car-evaluation", "analcatdata_authorship", "kropt", "letter", "MagicTelescope"),
)


def in_place(name: str) -> str:
    """The label of the four with another network in place of the slim one."""
    return f"{name}, for slim"


def fifth(name: str) -> str:
    """The label of the four and another network."""
    return f"{name}, as a fifth"


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """Each network alone, then means of four or five."""
    if table.done or table.regression:
        return
    predictions = {}
    for label, config in {**FOUR, **OTHERS}.items():
        predictions[label], scores = table.try_fit(**config)
        yield label, scores
    four = [predictions[label] for label in FOUR]
    yield _MEAN, table.score(np.mean(four, axis=0))
    for label in OTHERS:
        other = predictions[label]
        yield in_place(label), table.score(np.mean([*four[:3], other], axis=0))
        yield fifth(label), table.score(np.mean([*four, other], axis=0))


def report(records: pd.DataFrame) -> None:
    """Print what each network gives."""
    alone = {label: "slim" for label in (*FOUR, *OTHERS) if label != "slim"}
    sets = {label(name): _MEAN for label in (in_place, fifth) for name in OTHERS}
    for title, bases in (("alone", alone), ("means of networks", sets)):
        print(ratios(records, bases, title=title, by=["dataset"]), "\n")


if __name__ == "__main__":
    main(__doc__, __file__, trials, report, tables=TABLES)
