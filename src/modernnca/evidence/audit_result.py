"""Audits: what is wrong with a table, as data frames, a page and CSV files."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from modernnca._files import written_whole
from modernnca.evidence.pages import page, part


@dataclass(frozen=True, repr=False)
class Audit:
    """What is wrong with the remembered rows, and with another table.

    Each attribute is a pandas frame, the worst first; without findings it is empty.
    Row numbers are those of the table given to `fit` (`row`, `other`, `voters`), or of
    the table given to `audit` (`row` of `leaks`, `new_labels` and `unlike`).

    Attributes:
        labels: every remembered row, the most suspicious target first: the given
            target, the one that the other rows vote for (`suggested`), the probability
            of the given class or the standardized residual, whether it is `likely`
            wrong, and the rows that say so (`voters`).
        duplicates: pairs of remembered rows; whether their targets are in `conflict`.
        leaks: rows of the other table that are among the remembered ones.
        columns: columns with a problem: leak, identifier, missing, constant.
        drift: the columns of the other table, and how they differ from the remembered
            rows; `p_corrected` is corrected for the number of columns.
        regions: clusters of rows: how many are there, how many of the other table,
            how wrong the votes are (`error`) and the share of rows that are `unlike`.
        influence: the share of all votes that each remembered row has, in units of an
            equal share (0: never used), and how much of it went to rows like it.
        unlike: the rows of the other table that are least like the remembered ones.
        new_labels: as `labels`, for the other table, if its targets were given.
    """

    labels: Any
    duplicates: Any
    leaks: Any
    columns: Any
    drift: Any
    regions: Any
    influence: Any
    unlike: Any
    new_labels: Any
    n_rows: int
    n_new: int | None
    classification: bool

    def frames(self) -> Iterator[tuple[str, Any]]:
        """The frames by name."""
        for each in fields(self):
            if each.name not in ("n_rows", "n_new", "classification"):
                yield each.name, getattr(self, each.name)

    def summary(self) -> dict[str, int]:
        """How many findings there are of each kind.

        Drift counts columns, `unknown` the regions that the model does not know.
        """
        return {
            "likely wrong targets": int(self.labels["likely"].sum()),
            "duplicates": len(self.duplicates),
            "leaks": len(self.leaks),
            "columns": len(self.columns),
            "drift": int(self.drift["drifted"].sum()),
            "unknown regions": int(self.regions["unknown"].sum()),
            "never used": int(self.influence["unused"].sum()),
        }

    def renumbered(self, rows: np.ndarray) -> "Audit":
        """The same, if the other table was these rows (B,) of a larger one."""
        names = ("leaks", "unlike", "new_labels")
        frames = {name: getattr(self, name) for name in names}
        return replace(
            self,
            **{name: f.assign(row=rows[f["row"]]) for name, f in frames.items()},
        )

    def __repr__(self) -> str:
        told = ", ".join(f"{name}: {n:,}" for name, n in self.summary().items())
        return f"Audit of {self.n_rows:,} rows ({told})"

    def _repr_html_(self) -> str:
        # The page needs pandas frames only, so it is imported when one is shown.
        from modernnca.evidence.audit_page import audit_body

        return part(audit_body(self))

    def to_html(self, path: str | os.PathLike) -> None:
        """Write one self-contained page."""
        content = page(f"Audit of {self.n_rows:,} rows", self._repr_html_())
        with written_whole(path) as file:
            file.write(content.encode())

    def to_csv(self, path: str | os.PathLike) -> None:
        """Write the frames as CSV files into a folder, or all findings to one file.

        A path that ends in .csv is one file, in which `part` names the frame of each
        line; another is a folder, which is made if it is not there.
        """
        place = Path(path)
        if place.suffix.lower() != ".csv":
            place.mkdir(parents=True, exist_ok=True)
            for name, held in self.frames():
                _write(held, place / f"{name}.csv")
            return
        from modernnca.evidence.frames import import_pandas

        pd = import_pandas("to_csv")
        parts = [
            held.assign(part=name).astype(object)
            for name, held in self.frames()
            if len(held)
        ]
        whole = pd.concat(parts, ignore_index=True)
        _write(whole[["part", *(n for n in whole.columns if n != "part")]], place)


def _write(held: Any, path: Path) -> None:
    with written_whole(path) as file:
        file.write(held.to_csv(index=False).encode())
