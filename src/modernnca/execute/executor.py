"""Executor: one verb, `map`; and what it is told and what it tells."""

import traceback
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

Kind = Literal["done", "failed", "timeout", "memory", "died"]

_LAST_LINES = 30  # of a traceback; the first ones of a long one tell little
# Libraries below Python say in words that memory ran out.
_OUT_OF_MEMORY = (
    "can't allocate memory",
    "out of memory",
    "bad_alloc",
    "bad allocation",
)


class Outcome(NamedTuple):
    """What became of one job: a value, or how it ended and why.

    "done" has a value. The others have an error: "failed" (the function raised; the
    last lines of the traceback), "timeout" and "memory" (a limit, or no memory left),
    "died" (the process ended without an answer).
    """

    index: int  # type: ignore[assignment]  # the place of the job among the jobs
    value: Any
    error: str | None
    kind: Kind


@dataclass(frozen=True)
class Limits:
    """What one job may take: seconds, and bytes of resident memory."""

    seconds: float | None = None
    memory_bytes: int | None = None

    def __post_init__(self) -> None:
        for name, limit in vars(self).items():
            if limit is not None and not limit > 0:
                raise ValueError(f"The limit {name} is {limit!r}; it must be above 0.")


@dataclass(frozen=True)
class Needs:
    """What one job holds while it runs; parts of a CPU or GPU may be shared."""

    cpus: float = 1
    gpus: float = 0

    def __post_init__(self) -> None:
        if not (self.cpus > 0 and self.gpus >= 0):
            raise ValueError(
                f"A job needs more than 0 CPUs and at least 0 GPUs; got {self}."
            )

    @property
    def threads(self) -> int:
        """How many threads may compute in one job."""
        return max(1, int(self.cpus))


NO_LIMITS = Limits()
ONE_CPU = Needs()


class Executor(Protocol):
    """Where jobs run.

    An executor keeps these promises (tests/contracts/test_executors.py):

    - each job has exactly one outcome, in any order, as soon as it is known;
    - what goes wrong in a job is its outcome, and the other jobs go on;
    - jobs are started as there is room for them, so there may be very many;
    - when the iterator is closed early, what still runs is stopped.

    The function and the jobs travel to other processes: the function must stand at the
    top of a module that can be imported there, and the jobs and values be picklable.
    """

    def map(
        self,
        function: Callable[[Any], Any],
        jobs: Sequence[Any],
        *,
        needs: Needs = ONE_CPU,
        limits: Limits = NO_LIMITS,
    ) -> Iterator[Outcome]:
        """Call the function on each job; yield the outcomes as they come."""
        ...


def attempt(function: Callable[[Any], Any], job: Any) -> Outcome:
    """Call the function here; an exception becomes an outcome.

    >>> attempt(len, "four")
    Outcome(index=0, value=4, error=None, kind='done')
    >>> attempt(len, 4).kind
    'failed'
    """
    try:
        return Outcome(0, function(job), None, "done")
    except (Exception, SystemExit) as error:
        return raised(error)


def raised(error: BaseException) -> Outcome:
    """Return the outcome of a job that raised this."""
    trace = error.__traceback__
    while trace is not None and _is_ours(trace):
        trace = trace.tb_next
    lines = "".join(traceback.format_exception(type(error), error, trace)).splitlines()
    kind: Kind = "memory" if _is_out_of_memory(error) else "failed"
    return Outcome(0, None, "\n".join(lines[-_LAST_LINES:]), kind)


def _is_ours(trace: types.TracebackType) -> bool:
    room = __name__.rpartition(".")[0]
    return str(trace.tb_frame.f_globals.get("__name__")).startswith(f"{room}.")


def _is_out_of_memory(error: BaseException) -> bool:
    said = str(error).lower()
    return isinstance(error, MemoryError) or any(
        words in said for words in _OUT_OF_MEMORY
    )
