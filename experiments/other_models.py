"""Do models of other families help as a fifth member, beside four networks?

    python experiments/other_models.py run --data DIR [--tables a,b] [--seeds 3]
    python experiments/other_models.py report
    python experiments/other_models.py --quick

A model that is not made of neighbors becomes a `Member` here: it sees the encoded rows,
and votes with its predictions. other_models.md has the results.
"""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from common import Scores, Table, main, ratios
from modernnca import Member
from modernnca.core.rows import Examples, Rows
from modernnca.core.softnn import Votes
from modernnca.ensemble.member import Remembered, State, unvalidated
from modernnca.ensemble.run import Run
from modernnca.lab.peers import peer
from modernnca.train.loop import History
from n_members import FOUR

BASE = "four networks"
PEERS = ("linear", "random-forest", "lightgbm", "realmlp", "mlp-plr")
_QUICK = ("linear", "random-forest")


class ModelMember(Member):
    """A linear model, or a peer by its name, as a member that cannot be saved."""

    kind = "model"

    def __init__(self, name: str) -> None:
        self.name = name

    def fit(self, train: Examples, valid: Examples | None, run: Run) -> History:
        """Fit the model to encoded rows, with validation rows for early stopping."""
        assert valid is not None
        n_values = train.values.shape[1]
        self.regression_ = n_values == 1
        X, y = as_frame(train.rows), self._target(train)
        if self.name == "linear":
            self.model_ = linear_model(self.regression_).fit(X, y)
            return unvalidated()
        task = {1: "regression", 2: "binclass"}.get(n_values, "multiclass")
        self.model_: Any = peer(self.name).build(task, seed=run.seed)
        self.model_.fit(X, y, eval_set=(as_frame(valid.rows), self._target(valid)))
        return unvalidated()

    def _target(self, rows: Examples) -> np.ndarray:
        values = rows.values.cpu().numpy()
        return values[:, 0].astype(float) if self.regression_ else values.argmax(1)

    def vote(self, query: Rows) -> Votes:
        """Vote with the predictions."""
        X = as_frame(query)
        if self.regression_:
            found = np.asarray(self.model_.predict(X)).reshape(-1, 1)
        else:
            found = np.asarray(self.model_.predict_proba(X))
        mean = torch.as_tensor(found, dtype=torch.float32, device=query.device)
        return Votes(mean, torch.zeros_like(mean[:, :1]))

    def state(self) -> State:
        """Not for files."""
        raise NotImplementedError("A model of another library is not saved.")

    @classmethod
    def from_state(cls, state: State, remembered: Remembered) -> Self:
        """Not from files."""
        raise NotImplementedError("A model of another library is not loaded.")


def as_frame(rows: Rows) -> pd.DataFrame:
    """Encoded rows as a table: numbers, and codes as categories."""
    numbers = torch.cat([rows.numbers, rows.plain], 1).cpu().numpy()
    frame = pd.DataFrame(numbers, columns=[f"x{i}" for i in range(numbers.shape[1])])
    codes = rows.codes.cpu().numpy()
    levels = {f"c{j}": codes[:, j].astype(str) for j in range(codes.shape[1])}
    return frame.assign(**levels).astype(dict.fromkeys(levels, "category"))


def linear_model(regression: bool) -> Any:
    """Ridge or logistic regression on numbers and one-hot categories."""
    onehot = OneHotEncoder(handle_unknown="ignore")
    categories = make_column_selector(dtype_include="category")
    columns = make_column_transformer((onehot, categories), remainder="passthrough")
    return make_pipeline(columns, Ridge() if regression else LogisticRegression())


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """The four networks, each other model alone, and as a fifth member."""
    if table.done:
        return
    names = _QUICK if table.limits else PEERS
    members = [*FOUR, *map(ModelMember, names)]
    votes = table.member_votes(members, preset="default")
    if votes is None:
        return
    yield BASE, votes.of(range(4)).scores()
    for number, name in enumerate(names, start=4):
        yield f"{name} alone", votes.of([number]).scores()
        yield f"with {name}", votes.of([*range(4), number]).scores()


def report(records: pd.DataFrame) -> None:
    """Print what each model gives."""
    labels = [label for name in PEERS for label in (f"{name} alone", f"with {name}")]
    print(ratios(records, dict.fromkeys(labels, BASE), title=f"over {BASE}"))


if __name__ == "__main__":
    main(__doc__, __file__, trials, report)
