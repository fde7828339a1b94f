"""How should free text and text with many levels be encoded?

    python experiments/text_features.py run --data DIR --tables a,b --seeds 2 --rows 800
    python experiments/text_features.py report --rows 800
    python experiments/text_features.py --quick

The preset "default" with rare levels that share a code, with a code for each level, and
with the text features that are the default. text_features.md has the results.
"""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from common import Scores, Table, main, ratios

BASE = "rare levels share a code"
WAYS = {
    BASE: {"n_text_features": 0},
    "each level has a code": {"n_text_features": 0, "categorical_encoding": "onehot"},
    "8 text features": {"n_text_features": 8},
    "16 text features": {"n_text_features": 16},
}


def as_text(X: pd.DataFrame) -> pd.DataFrame:
    """Categories as plain text, as a CSV file holds them."""
    names = X.select_dtypes("category").columns
    return X.astype(dict.fromkeys(names, object))


def shown(error: float) -> str:
    """An error with the digits that matter."""
    return f"{error:,.0f}" if error > 100 else f"{error:.3f}"


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """Each way of encoding the text columns."""
    text = replace(table, dataset=replace(table.dataset, X=as_text(table.dataset.X)))
    for label, options in WAYS.items():
        if label not in table.done:
            yield label, text.try_fit(preset="default", **options)[1]


def report(records: pd.DataFrame) -> None:
    """Print what each way gives, over all tables and for each."""
    bases = {label: BASE for label in WAYS if label != BASE}
    print(ratios(records, bases, title=f"where {BASE}"))
    errors = records.astype({"error": float}).pivot_table(
        index="dataset", columns="label", values="error"
    )
    print("\n| error |", " | ".join(WAYS), "|")
    print("| --- " * (1 + len(WAYS)) + "|")
    for name, row in errors.iterrows():
        print(f"| {name} |", " | ".join(shown(row[label]) for label in WAYS), "|")


if __name__ == "__main__":
    main(__doc__, __file__, trials, report)
