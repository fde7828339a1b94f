"""When should a baseline replace the networks?

    python experiments/baseline_margin.py run --data DIR --rows 1000 [--seeds 2]
    python experiments/baseline_margin.py report --rows 1000
    python experiments/baseline_margin.py --quick

The preset "default", in which plain k-NN or a constant answers if its score on the
validation rows is better at all, or if it also is closer to them (k-NN by a standard
error), or never. baseline_margin.md has the results.
"""

import math
from collections.abc import Iterator

import pandas as pd

from common import Scores, Table, main, ratios

ALWAYS, CLEARLY, NEVER = "if better at all", "if clearly better", "never"
CONFIGS = {
    ALWAYS: {"baseline_margin": -math.inf},
    CLEARLY: {"baseline_margin": 1.0},
    NEVER: {"baseline_check": False},
}


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """Each rule; where no baseline was better at all, they are the same."""
    if set(CONFIGS) <= set(table.done):
        return
    scores: Scores = {}
    for label, config in CONFIGS.items():
        if not scores or scores["answer"] in ("knn", "constant"):
            model = table.fit(preset="default", **config)
            X, _ = table.parts[2]
            asked = model.predict if table.regression else model.predict_proba
            scores = {**table.score(asked(X)), "answer": model.baseline_ or "networks"}
        yield label, scores


def report(records: pd.DataFrame) -> None:
    """Print how often a baseline answers, and what each rule gives where one may."""
    changed = records.groupby(["dataset", "seed"])["answer"].transform(
        lambda answers: (answers != "networks").any()
    )
    for label in CONFIGS:
        own = records[records["label"] == label]
        n_baseline = (own["answer"] != "networks").sum()
        print(f"- {label}: a baseline answers in {n_baseline} of {len(own)} fits")
    rules = dict.fromkeys((CLEARLY, NEVER), ALWAYS)
    print()
    some = records[changed] if changed.any() else records
    print(ratios(some, rules, title=f"over {ALWAYS}", by=["dataset"]))


if __name__ == "__main__":
    main(__doc__, __file__, trials, report)
