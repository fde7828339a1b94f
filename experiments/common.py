"""What the experiments share: tables, fits, votes of members, records and reports.

A script says what it tries on a table (`trials`), and what the records say (`report`);
`main` is its command line. Records are the .csv file beside the script.

Shapes: K members, B rows, V numbers in a vote.
"""

import argparse
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from modernnca import Member, ModernNCAClassifier, ModernNCARegressor
from modernnca.core.rows import Examples, concatenate
from modernnca.ensemble.combine import fit_combiner
from modernnca.ensemble.run import Run, draw_seeds, random_state
from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.provenance import provenance
from modernnca.lab.bench.readers import read_dataset
from modernnca.lab.bench.splits import split_rows
from modernnca.table.raw_examples import read_examples
from modernnca.train.budget import Budget

sys.path.append(str(Path(__file__).parents[1]))
from benchmarks.fits import gain, purpose, tables_in

_FEW_WRONG = 15  # with fewer wrong rows, one more or less decides a ratio
_CLEAR = f"error where over {_FEW_WRONG} are wrong"
_MAX_ROWS = 45_000  # of a table to try things on
_MAX_TEST_ROWS = 3000  # where the training rows are cut
_MIN_ERROR = 0.002  # smaller errors count as this
_MIN_PROBABILITY = 1e-4
# A quick run checks that a script works: one epoch, and nothing is compared.
_QUICK = {"max_epochs": 1, "baseline_check": False}
_QUICK_TABLES = ("builtin:iris", "builtin:diabetes")
# Records keep the words of the time when they were made; these are the present ones.
_WORDS = {
    "ranked": "quantile",
    "bent": "squashed",
    "bare": "no block",
    "learned anew from all": "refit on all rows",
    "not at all": "no fine-tuning",
}
_COLUMNS = {
    "table": "dataset",
    "config": "label",
    "way": "label",
    "split": "seed",
    "log-loss": "log_loss",
    "seconds": "fit_seconds",
}

Part = tuple[pd.DataFrame, np.ndarray]  # X, y
Scores = dict[str, Any]
Trials = Callable[["Table"], Iterator[tuple[str, Scores]]]


class MemberVotes(NamedTuple):
    """What each member of an ensemble votes, and what is true."""

    valid: np.ndarray  # (K, B, V) for validation rows, before fine-tuning
    valid_values: np.ndarray  # (B, V)
    test: np.ndarray  # (K, B, V) after fine-tuning
    test_values: np.ndarray  # (B, V)

    def of(self, members: Sequence[int]) -> "MemberVotes":
        """The votes of some members."""
        chosen = list(members)
        return self._replace(valid=self.valid[chosen], test=self.test[chosen])

    @property
    def classification(self) -> bool:
        """Whether the votes are for classes."""
        return self.test.shape[2] > 1

    def scores(self) -> Scores:
        """The scores of the votes, combined as the estimators do it."""
        combine = fit_combiner(
            self.valid, self.valid_values, classification=self.classification
        )
        return score_votes(combine(self.test), self.test_values)


def score_votes(votes: np.ndarray, values: np.ndarray) -> Scores:
    """The scores of votes (B, V) for rows of values (B, V).

    In regression values are standardized, so the error is a share of the deviation.
    """
    if values.shape[1] == 1:
        return {"error": float(np.sqrt(np.mean((votes - values) ** 2)))}
    wrong = votes.argmax(1) != values.argmax(1)
    true = (votes * values).sum(1).clip(_MIN_PROBABILITY)
    return {
        "error": float(wrong.mean()),
        "wrong": int(wrong.sum()),
        "log_loss": float(-np.log(true).mean()),
    }


@dataclass
class Fitted:
    """An ensemble that is not fine-tuned yet, whose members can be asked one by one."""

    model: Any
    train: Examples
    valid: Examples
    test: Examples
    run: Run

    @cached_property
    def all_rows(self) -> Examples:
        """Training rows, then validation rows."""
        return concatenate(self.train, self.valid)

    @property
    def members(self) -> tuple[Member, ...]:
        """The fitted members."""
        return self.model.ensemble_.members

    def votes(self, rows: Examples, remembered: Examples) -> np.ndarray:
        """The vote of each member for rows if these are remembered: (K, B, V)."""
        for member in self.members:
            member.remember(remembered)
        return self.model.ensemble_.votes(rows.rows)

    def runs(self) -> list[Run]:
        """The run as each member sees it."""
        n_members = len(self.members)
        return [self.run.for_member(k, n_members) for k in range(n_members)]


@dataclass(frozen=True)
class Table:
    """A dataset and a seed to try things with."""

    dataset: Dataset
    seed: int = 0
    n_rows: int | None = None  # learn from so many
    limits: Mapping[str, Any] = field(default_factory=dict)  # of a quick run
    done: Collection[str] = ()  # labels that have a record

    @property
    def regression(self) -> bool:
        """Whether the target is a number."""
        return self.dataset.task == "regression"

    @cached_property
    def parts(self) -> tuple[Part, Part, Part]:
        """Training, validation and test rows."""
        X, y = self.dataset.X, self.dataset.y
        train, valid, test = split_rows(self.dataset, "given")
        if self.n_rows is not None:
            both = np.concatenate([train, valid])
            both = np.random.RandomState(self.seed).permutation(both)[: self.n_rows]
            train, valid = np.split(both, [self.n_rows * 4 // 5])
            test = test[:_MAX_TEST_ROWS]
        if not self.regression:  # a cut may lack a rare class
            valid, test = (rows[np.isin(y[rows], y[train])] for rows in (valid, test))
        train, valid, test = ((X.iloc[rows], y[rows]) for rows in (train, valid, test))
        return train, valid, test

    def fit(self, **arguments: Any) -> Any:
        """Fit an estimator; options may stand beside constructor arguments."""
        kind = ModernNCARegressor if self.regression else ModernNCAClassifier
        model = kind(random_state=self.seed)
        own = set(model.get_params(deep=False))
        options = {**arguments, **self.limits}
        model.set_params(**{n: value for n, value in options.items() if n in own})
        model.set_params(config={n: v for n, v in options.items() if n not in own})
        train, valid, _ = self.parts
        return model.fit(*train, eval_set=valid)

    def try_fit(self, **arguments: Any) -> tuple[np.ndarray, Scores]:
        """Fit; the predictions of the test rows (as in `score`), and their scores."""
        begin = time.perf_counter()
        model = self.fit(**arguments)
        seconds = time.perf_counter() - begin
        X, _ = self.parts[2]
        prediction = model.predict(X) if self.regression else model.predict_proba(X)
        return prediction, {**self.score(prediction), "fit_seconds": seconds}

    def score(self, prediction: np.ndarray) -> Scores:
        """The scores of predictions of the test rows: probabilities, or numbers."""
        y = self.parts[2][1]
        if self.regression:
            return score_votes(prediction[:, None], y[:, None])
        classes = np.unique(self.parts[0][1])
        return score_votes(prediction, (y[:, None] == classes).astype(float))

    def fit_members(
        self, members: Sequence[Member] | None = None, **arguments: Any
    ) -> Fitted | None:
        """Fit members without fine-tuning; None where a baseline is better."""
        model = self.fit(members=members, **{"finetune": 0.0, **arguments})
        if model.baseline_ is not None:
            return None
        device = model.ensemble_.remembered.values.device
        prepared = [
            model.preparation_.part(read_examples(X, y), device).encoded
            for X, y in self.parts
        ]
        run = Run(
            device,
            Budget(),
            "regression" if self.regression else "classification",
            model.config_.updated({"finetune": 1.0}),
            model.preparation_.shape,
            seeds=draw_seeds(random_state(self.seed)),
        )
        return Fitted(model, *prepared, run)

    def member_votes(
        self, members: Sequence[Member] | None = None, **arguments: Any
    ) -> MemberVotes | None:
        """Fit members, fine-tune them as the estimators do, and ask each of them."""
        fitted = self.fit_members(members, **arguments)
        if fitted is None:
            return None
        valid = fitted.votes(fitted.valid, remembered=fitted.train)
        for member, run in zip(fitted.members, fitted.runs(), strict=True):
            member.finetune(fitted.all_rows, run)
        test = fitted.votes(fitted.test, remembered=fitted.all_rows)
        true = [rows.values.cpu().numpy() for rows in (fitted.valid, fitted.test)]
        return MemberVotes(valid, true[0], test, true[1])


@dataclass(frozen=True)
class Records:
    """The records of an experiment: one line for each dataset, seed and label."""

    path: Path
    columns: Sequence[str] | None = None  # None: the first line of the file has them
    words: Mapping[str, str] = field(default_factory=dict)

    def read(self) -> pd.DataFrame:
        """All records, with the present names of columns and labels."""
        if not self.path.exists():
            return pd.DataFrame(columns=["dataset", "seed", "label"])
        header = {} if self.columns is None else {"names": self.columns}
        return normalize(pd.read_csv(self.path, **header), {**_WORDS, **self.words})

    def add(self, lines: list[dict[str, Any]]) -> None:
        """Append records in the columns of the file."""
        found = pd.DataFrame(lines)
        new = not self.path.exists()
        if not new:
            known = self.columns or pd.read_csv(self.path, nrows=0).columns
            names = {_COLUMNS.get(name, name): name for name in known}
            found = found.rename(columns=names).reindex(columns=list(known))
        found.to_csv(self.path, mode="a", header=new, index=False, float_format="%.6g")


def normalize(lines: pd.DataFrame, words: Mapping[str, str]) -> pd.DataFrame:
    """Records with the present names of columns and labels."""
    lines = lines.rename(columns=_COLUMNS)
    patterns = {rf"\b{old}\b": new for old, new in words.items()}
    lines["label"] = lines["label"].replace(patterns, regex=True)
    if "seed" not in lines:
        lines["seed"] = 0
    return lines


def ratios(
    lines: pd.DataFrame,
    bases: Mapping[str, str],
    *,
    title: str = "",
    by: Sequence[str] = ("dataset", "seed"),
) -> str:
    """Each label over its base, as a Markdown table of geometric means of ratios.

    Labels without a record are left out.
    """
    known = set(lines["label"])
    bases = {label: base for label, base in bases.items() if {label, base} <= known}
    if not bases:
        return ""
    regression = lines["log_loss"].isna()
    kinds = {"error": lines[~regression], "log-loss": lines[~regression]}
    if "wrong" in lines:
        clear = _clear(lines, next(iter(bases.values())))
        kinds = {"error": kinds["error"], _CLEAR: clear, **kinds}
    kinds = {**kinds, "RMSE": lines[regression]}
    columns = {
        name: cells
        for name, part in kinds.items()
        if any(cells := [_ratio(part, *pair, name, by) for pair in bases.items()])
    }
    heads = [f"{name} | 95 % | +/-" for name in columns]
    text = [f"| {title} | {' | '.join(heads)} |", "| --- " * (1 + 3 * len(heads)) + "|"]
    for label, *cells in zip(bases, *columns.values(), strict=True):
        filled = [cell or "not run | | " for cell in cells]
        text.append(f"| {label} | {' | '.join(filled)} |")
    return "\n".join(text)


def report_change(records: pd.DataFrame, after: str, base: str) -> None:
    """Print what one label gives over another, and how much longer a fit takes."""
    columns = ["error", "log_loss", "fit_seconds"]
    records = records.astype(dict.fromkeys(columns, float))
    means = records.groupby(["dataset", "label"], as_index=False)[columns].mean()
    means["seed"] = 0
    print(ratios(means, {after: base}, title=f"over {base}"))
    seconds = means.pivot_table(index="dataset", columns="label", values=columns[-1])
    longer = np.exp(np.log(seconds[after] / seconds[base]).mean())
    print(f"\nA fit takes {longer:.2f} times as long.")


def _clear(lines: pd.DataFrame, base: str) -> pd.DataFrame:
    """The records of tables on which enough rows are wrong to tell a difference."""
    key = ["dataset", "seed"]
    wrong = lines[lines["label"] == base].set_index(key)["wrong"]
    rows = lines.set_index(key)
    return rows[rows.index.isin(wrong.index[wrong > _FEW_WRONG])].reset_index()


def _ratio(
    lines: pd.DataFrame, label: str, base: str, kind: str, by: Sequence[str]
) -> str:
    """The mean ratio, its interval, and how often it is better and worse; or ""."""
    column = "log_loss" if kind == "log-loss" else "error"
    floor = _MIN_ERROR if kind in ("error", _CLEAR) else 0.0
    each = lines[["dataset", "seed", "label", column]].dropna()
    values = each.pivot_table(index=["dataset", "seed"], columns="label", values=column)
    if not {label, base} <= set(values.columns):
        return ""
    values = values.clip(lower=floor)
    logs = np.log(values[label] / values[base]).dropna()
    logs = logs.groupby(list(by)).mean().to_numpy()
    return " | ".join(gain(logs)) if len(logs) else ""


def main(
    doc: str,
    script: str,
    trials: Trials,
    report: Callable[[pd.DataFrame], None],
    *,
    records: Mapping[str, Any] | None = None,
    tables: Collection[str] | None = None,
    quick: Callable[[], Iterable[Dataset]] | None = None,
) -> None:
    """The command line of an experiment: `run`, `report` and `--quick`.

    Args:
        doc: the docstring of the script.
        script: its `__file__`.
        records: arguments of `Records`.
        tables: the tables to run; None: those for choosing, up to 45,000 rows.
        quick: the datasets of a quick run; None: two that come with scikit-learn.
    """
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument(
        "--quick", action="store_true", help="try the script itself; keep no record"
    )
    commands = parser.add_subparsers(dest="command")
    running = commands.add_parser("run", help="fit what has no record yet")
    running.add_argument("--data", type=Path, required=True, help="folder of tables")
    running.add_argument("--tables", help="a,b,c instead of those of the experiment")
    running.add_argument("--seeds", type=int, default=1)
    reporting = commands.add_parser("report", help="print what the records say")
    for command in (running, reporting):
        command.add_argument("--rows", type=int, help="learn from so many rows only")
    asked = parser.parse_args()
    if asked.quick:
        report(_run_quick(trials, quick or _quick_datasets))
        return
    if asked.command is None:
        parser.error("choose run, report or --quick")
    path = Path(script).with_suffix(".csv")
    if asked.rows is not None:
        path = path.with_stem(f"{path.stem}_{asked.rows}")
    kept = Records(path, **(records or {}))
    if asked.command == "run":
        _run_missing(trials, kept, asked, tables)
    known = kept.read()
    if known.empty:
        print("There are no records yet.")
        return
    report(known)


def _run_quick(
    trials: Trials, datasets: Callable[[], Iterable[Dataset]]
) -> pd.DataFrame:
    lines = [
        _record(table, label, scores)
        for dataset in datasets()
        for table in [Table(dataset, limits=_QUICK)]
        for label, scores in trials(table)
    ]
    return normalize(pd.DataFrame(lines), {})


def _quick_datasets() -> Iterator[Dataset]:
    for name in _QUICK_TABLES:
        whole = read_dataset(name)
        some = slice(None, None, -(-len(whole.y) // 100))
        yield replace(whole, X=whole.X[some].reset_index(drop=True), y=whole.y[some])


def _run_missing(
    trials: Trials,
    records: Records,
    asked: argparse.Namespace,
    tables: Collection[str] | None,
) -> None:
    """Run what is missing, the smallest tables first, and print it as it is made."""
    names = tables_in(asked.data, asked.tables)
    if asked.tables is None:
        chosen = [name for name in names if purpose(name) == "choose"]
        names = chosen if tables is None else [n for n in names if n in tables]
    named = asked.tables is not None or tables is not None
    max_rows = np.inf if named else _MAX_ROWS
    known = records.read()
    for seed in range(asked.seeds):
        for name in names:
            own = known[(known["dataset"] == name) & (known["seed"] == seed)]
            dataset = read_dataset(name, data=asked.data)
            train, valid, _ = split_rows(dataset, "given")
            if not (asked.rows or 0) - len(valid) <= len(train) <= max_rows:
                continue
            table = Table(dataset, seed, asked.rows, done=frozenset(own["label"]))
            for label, scores in trials(table):
                line = _record(table, label, scores)
                records.add([line])
                print(line, flush=True)


def _record(table: Table, label: str, scores: Scores) -> dict[str, Any]:
    return {
        "dataset": table.dataset.name,
        "seed": table.seed,
        "label": label,
        "task": table.dataset.task,
        "wrong": None,
        "log_loss": None,
        "n_train": len(table.parts[0][1]),
        "machine": provenance().get("gpu") or "CPU",
        **scores,
    }
