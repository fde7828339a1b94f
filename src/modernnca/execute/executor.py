"""The Executor contract: `map`, the resources and limits of a job, and its outcome."""

import traceback
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

Kind = Literal["done", "failed", "timeout", "memory", "died"]

_MAX_TRACEBACK_LINES = 30  # the last ones: they name the error
# Native libraries report a lack of memory only in the text of the error.
_OUT_OF_MEMORY = (
    "can't allocate memory",
    "out of memory",
    "bad_alloc",
    "bad allocation",
)


class Outcome(NamedTuple):
    """The result of one job: a value, or an error and its kind.

    The kind is one of:

    - "done": the function returned; only this kind has a value;
    - "failed": the function raised; the error holds the end of the traceback;
    - "timeout" or "memory": a limit was exceeded, or memory ran out;
    - "died": the process ended without returning a value.
    """

    index: int  # type: ignore[assignment]  # position of the job in `jobs`
    value: Any
    error: str | None
    kind: Kind


@dataclass(frozen=True)
class Limits:
    """The most that one job may use: seconds, and bytes of resident memory."""

    seconds: float | None = None
    memory_bytes: int | None = None

    def __post_init__(self) -> None:
        for name, limit in vars(self).items():
            if limit is not None and not limit > 0:
                raise ValueError(f"The limit {name} is {limit!r}; it must be above 0.")


@dataclass(frozen=True)
class Resources:
    """CPUs and GPUs that one job occupies; a fraction shares a CPU or GPU."""

    cpus: float = 1
    gpus: float = 0

    def __post_init__(self) -> None:
        if not (self.cpus > 0 and self.gpus >= 0):
            raise ValueError(
                f"A job needs more than 0 CPUs and at least 0 GPUs; got {self}."
            )

    @property
    def threads(self) -> int:
        """Number of threads that one job may use."""
        return max(1, int(self.cpus))


NO_LIMITS = Limits()
ONE_CPU = Resources()


class Executor(Protocol):
    """Runs jobs.

    Every executor guarantees (tests/contracts/test_executors.py):

    - each job has exactly one outcome, yielded as soon as it is known, in any order;
    - an error in a job becomes its outcome and does not affect other jobs;
    - jobs start as capacity allows, so there may be very many of them;
    - closing the iterator early stops the jobs that still run.

    The function and the jobs may be sent to other processes: define the function at the
    top level of an importable module, and use picklable jobs and values.
    """

    def map(
        self,
        function: Callable[[Any], Any],
        jobs: Sequence[Any],
        *,
        resources: Resources = ONE_CPU,
        limits: Limits = NO_LIMITS,
    ) -> Iterator[Outcome]:
        """Call the function on each job; yield outcomes as jobs finish."""
        ...


def attempt(function: Callable[[Any], Any], job: Any) -> Outcome:
    """Call the function in this process; return an exception as an outcome.

    >>> attempt(len, "four")
    Outcome(index=0, value=4, error=None, kind='done')
    >>> attempt(len, 4).kind
    'failed'
    """
    try:
        return Outcome(0, function(job), None, "done")
    except (Exception, SystemExit) as error:
        return error_outcome(error)


def error_outcome(error: BaseException) -> Outcome:
    """Return the outcome of a job that raised `error`."""
    trace = error.__traceback__
    while trace is not None and _in_this_package(trace):
        trace = trace.tb_next
    lines = "".join(traceback.format_exception(type(error), error, trace)).splitlines()
    kind: Kind = "memory" if _is_out_of_memory(error) else "failed"
    return Outcome(0, None, "\n".join(lines[-_MAX_TRACEBACK_LINES:]), kind)


def _in_this_package(trace: types.TracebackType) -> bool:
    package = __name__.rpartition(".")[0]
    return str(trace.tb_frame.f_globals.get("__name__")).startswith(f"{package}.")


def _is_out_of_memory(error: BaseException) -> bool:
    message = str(error).lower()
    return isinstance(error, MemoryError) or any(
        phrase in message for phrase in _OUT_OF_MEMORY
    )
