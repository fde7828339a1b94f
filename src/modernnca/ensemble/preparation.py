"""From raw examples to tensors: the preprocessor, the target and the time column."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, overload

import numpy as np
import torch

from modernnca._declared import array, flag, text, whole
from modernnca.core.network import InputShape
from modernnca.core.rows import Examples, Rows
from modernnca.table.evaluation import Evaluator
from modernnca.table.preprocessor import Preprocessor
from modernnca.table.raw_examples import RawExamples
from modernnca.table.read import RawTable
from modernnca.table.targets import (
    TARGETS,
    ClassificationTarget,
    RegressionTarget,
    Task,
    bin_numbers,
)
from modernnca.table.time_column import TimeColumn, learn_times


class Part(NamedTuple):
    """Some rows, raw and encoded."""

    raw: RawExamples
    encoded: Examples

    def take(self, rows: np.ndarray) -> "Part":
        """These rows alone."""
        index = torch.from_numpy(rows).to(self.encoded.values.device)
        return Part(self.raw.take(rows), self.encoded.take(index))

    def sample(self, most: float, seed: int) -> "Part":
        """At most so many of the rows, drawn at random, in order."""
        if len(self.raw) <= most:
            return self
        rows = np.random.RandomState(seed).permutation(len(self.raw))
        return self.take(np.sort(rows[: int(most)]))


@dataclass(frozen=True)
class Preparation:
    """All that is learned about columns and targets before members are fitted."""

    preprocessor: Preprocessor
    target: ClassificationTarget | RegressionTarget
    times: TimeColumn | None
    target_bins: int  # that the loss compares; 0: the target itself
    uses_time: bool  # whether rows later than a query do not vote

    @property
    def shape(self) -> InputShape:
        """The shape of an encoded row."""
        table = self.preprocessor
        return InputShape(
            table.n_numbers, table.n_plain, table.n_levels, table.encodes_numbers
        )

    def rows(self, table: RawTable, device: torch.device) -> Rows:
        """Encode rows, on the device."""
        time = None
        if self.times is not None and self.uses_time:
            time = torch.from_numpy(self.times.rank(table))
        rows = Rows(*map(torch.from_numpy, self.preprocessor.transform(table)))
        return rows._replace(time=time).to(device)

    @overload
    def part(self, rows: RawExamples, device: torch.device) -> Part: ...

    @overload
    def part(self, rows: RawExamples | None, device: torch.device) -> Part | None: ...

    def part(self, rows: RawExamples | None, device: torch.device) -> Part | None:
        """Encode rows with their targets, on the device."""
        if rows is None:
            return None
        values = torch.from_numpy(values_of(self.target, rows.y)).float()
        labels, weights = values, None
        if self.target_bins:
            codes, _ = bin_numbers(self.target.encode(rows.y), self.target_bins)
            labels = torch.from_numpy(_onehot(codes, self.target_bins)).float()
        if rows.weights is not None:
            weights = torch.from_numpy(rows.weights).float().to(device)
        encoded = self.rows(rows.table, device)
        if rows.groups is not None:
            encoded = encoded._replace(group=torch.from_numpy(rows.groups).to(device))
        values, labels = values.to(device), labels.to(device)
        return Part(rows, Examples(encoded, values, labels, weights))

    def evaluator(self, rows: RawExamples, metric: Any) -> Evaluator:
        """What evaluates votes for these rows."""
        return Evaluator(rows.y, rows.weights, self.target, metric)

    def state(self) -> dict[str, Any]:
        """All that was learned: plain values and arrays."""
        return {
            "preprocessor": self.preprocessor.state(),
            "target": self.target.state(),
            "times": None if self.times is None else asdict(self.times),
            "target_bins": self.target_bins,
            "uses_time": self.uses_time,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], task: Task) -> "Preparation":
        """Rebuild it from what was learned."""
        preprocessor = Preprocessor.from_state(state["preprocessor"])
        times = None
        if state["times"] is not None:
            times = TimeColumn.from_state(state["times"])
            _check_times(times, [c.name for c in preprocessor.schema_.columns])
        return cls(
            preprocessor,
            TARGETS[task].from_state(state["target"]),
            times,
            whole(state["target_bins"], "target_bins"),
            flag(state["uses_time"], "uses_time"),
        )


def _check_times(column: TimeColumn, names: list[str]) -> None:
    """Raise unless a time column that was read from a file is one of the table."""
    text(column.name, "the time column", names)
    flag(column.named, "named")
    whole(column.place, "the place of the time column", *[names.index(column.name)] * 2)
    array(column.times, "times", (None,), ["float64"])
    if (np.diff(column.times) <= 0).any():
        raise ValueError("the times are not in order.")


def prepare(
    train: RawExamples, valid: RawExamples | None, config: Any, task: Task, seed: int
) -> Preparation:
    """Learn columns and targets from the training rows.

    Of the validation rows nothing is used but their times, to rank rows in time.
    """
    times = None
    if config.time_column is not None:
        parts = [train] if valid is None else [train, valid]
        times = learn_times([part.table for part in parts], config.time_column)
        config = config.updated({"time_column": times.name})
    target = TARGETS[task]().fit(train.y)
    values = values_of(target, train.y).astype(np.float32)
    preprocessor = Preprocessor(config).fit(train.table, values, seed=seed)
    bins = config.target_bins if task == "regression" else 0
    uses_time = config.past_only != "never"
    return Preparation(preprocessor, target, times, bins, uses_time)


def values_of(target: ClassificationTarget | RegressionTarget, y: Any) -> np.ndarray:
    """What rows vote for: one-hot classes (N, V), or standardized numbers (N, 1)."""
    encoded = target.encode(y)
    if isinstance(target, RegressionTarget):
        return encoded[:, None]
    return _onehot(encoded, target.n_values)


def _onehot(codes: np.ndarray, n_levels: int) -> np.ndarray:
    return np.eye(n_levels)[codes]
