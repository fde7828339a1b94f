"""What a fit tells in the end: how long it took, and what there was no time for."""

from dataclasses import asdict, dataclass
from typing import Any

from modernnca._declared import number, text, texts, whole


@dataclass(frozen=True)
class FitReport:
    """How a fit went.

    >>> FitReport(9.8, None, "complete", 7_000, 4)
    FitReport(9.8 s: 4 members remember 7,000 rows)
    >>> FitReport(9.8, 10.0, "time_limit", 7_000, 1, ("3 of 4 networks",)).left_out
    ('3 of 4 networks',)
    """

    seconds: float
    time_limit: float | None
    ended: str  # "complete", "time_limit" or "interrupted"
    n_rows: int  # that are remembered
    n_members: int  # that vote
    left_out: tuple[str, ...] = ()  # what there was no time for
    baseline: str | None = None  # the kind of the baseline that votes instead

    def __repr__(self) -> str:
        limit = "" if self.time_limit is None else f" of {self.time_limit:g}"
        ended = "" if self.ended == "complete" else f", ended by {self.ended}"
        members = "member remembers" if self.n_members == 1 else "members remember"
        text = f"{self.seconds:.1f}{limit} s{ended}: {self.n_members} {members} "
        text += f"{self.n_rows:,} rows"
        if self.baseline is not None:
            text += f"; a baseline votes: {self.baseline}"
        if self.left_out:
            text += f"; left out: {', '.join(self.left_out)}"
        return f"FitReport({text})"

    def state(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return asdict(self) | {"left_out": list(self.left_out)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "FitReport":
        """Rebuild it from plain values; raise unless they are such."""
        number(state["seconds"], "the seconds of the fit")
        if state["time_limit"] is not None:
            number(state["time_limit"], "time_limit")
        text(state["ended"], "how the fit ended")
        for name in ("n_rows", "n_members"):
            whole(state[name], name)
        if state["baseline"] is not None:
            text(state["baseline"], "baseline")
        left_out = tuple(texts(state["left_out"], "what was left out"))
        return cls(**{**state, "left_out": left_out})
