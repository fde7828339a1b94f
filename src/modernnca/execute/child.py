"""One call in a process of its own, which can be stopped and may crash.

Children are forked from a server that has imported what they need (and has computed
nothing, so that no thread is lost in the fork): a child starts in milliseconds.
"""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import types
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait

from modernnca.errors import MissingExtraError
from modernnca.execute.executor import Kind, Limits, Outcome, attempt, raised

_LOOK_SECONDS = 0.1  # how often the memory of children is looked at
_NAP_SECONDS = 0.25  # the longest wait: not all that interrupts us ends a wait
_THREADS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def call_within(
    payload: bytes, *, limits: Limits, threads: int = 1, preload: Sequence[str] = ()
) -> Outcome:
    """Call a pickled (function, job) in a child and wait for the outcome.

    >>> call_within(pickle.dumps((len, "four")), limits=Limits(seconds=60)).value
    4
    """
    child = Child(payload, limits=limits, threads=threads, preload=preload)
    try:
        while (outcome := child.outcome()) is None:
            wait_for([child])
        return outcome
    finally:
        child.stop()


class Child:
    """A process that calls a pickled (function, job) once.

    It leads a process group, so that it is stopped together with all that it started;
    when the process that waits for it is gone, it stops itself.

    Args:
        threads: how many threads libraries may compute with.
        preload: modules that the server imports, if it does not run yet.
    """

    def __init__(
        self,
        payload: bytes,
        *,
        limits: Limits,
        threads: int = 1,
        preload: Sequence[str] = (),
    ) -> None:
        context = multiprocessing.get_context("forkserver")
        # A library that is loaded later takes as many threads as the machine has.
        context.set_forkserver_preload([__name__, "torch", *preload])
        environment = {**os.environ, **dict.fromkeys(_THREADS, str(threads))}
        alone = dict.fromkeys(_THREADS, "1")  # the server must not have threads to fork
        self._limits = limits
        self._reader, writer = context.Pipe(duplex=False)
        with writer, _main_hidden(from_payload=payload), _environment(alone):
            self._process = context.Process(
                target=_answer, args=(writer, payload, environment, threads)
            )
            self._process.start()
        self._until = time.monotonic() + (limits.seconds or float("inf"))

    def outcome(self) -> Outcome | None:
        """Return what came of the call, or None while it runs within its limits."""
        exitcode = self._process.exitcode  # first: an answer may come just before it
        if self._reader.poll():
            try:
                return _read(self._reader.recv_bytes())
            except (EOFError, OSError):  # it ends, and will not answer
                self._process.join(_NAP_SECONDS)
                exitcode = self._process.exitcode
        if exitcode is not None:
            return _ended("died", f"The process {_last_words(exitcode)}.")
        if time.monotonic() > self._until:
            return _ended("timeout", f"Stopped after {self._limits.seconds:g} seconds.")
        most = self._limits.memory_bytes
        if most is not None and (used := _resident_bytes(self._process.pid)) > most:
            return _ended(
                "memory",
                f"Stopped with {used / 2**20:,.0f} MiB in memory; "
                f"the limit is {most / 2**20:,.0f} MiB.",
            )
        return None

    def stop(self) -> None:
        """End the process and all that it started."""
        if self._reader.closed:
            return
        assert self._process.pid is not None
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()  # if it had no time yet to lead a group
        self._process.join()
        self._process.close()
        self._reader.close()

    def _look_again(self) -> float:
        """Return in how many seconds a limit may have been passed."""
        nap = _NAP_SECONDS if self._limits.memory_bytes is None else _LOOK_SECONDS
        return min(nap, max(0.0, self._until - time.monotonic()))


def wait_for(children: Iterable[Child]) -> None:
    """Wait until one of the children may have an outcome."""
    children = list(children)
    ends = [end for one in children for end in (one._reader, one._process.sentinel)]
    wait(ends, timeout=min(child._look_again() for child in children))


def _answer(
    writer: Connection, payload: bytes, environment: dict[str, str], threads: int
) -> None:
    """Make the call and send its outcome; what a child does."""
    os.setsid()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # As it is now; the server may be older.
    os.environ.clear()
    os.environ.update(environment)
    outcome = attempt(lambda packed: _call(packed, threads), payload)
    try:
        answer = pickle.dumps(outcome, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # a value that cannot be sent
        answer = pickle.dumps(raised(error))
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    writer.send_bytes(answer)


def _read(answer: bytes) -> Outcome:
    try:
        return pickle.loads(answer)
    except Exception as error:  # a value that can be sent but not read
        return raised(error)


def _call(payload: bytes, threads: int) -> object:
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    function, job = pickle.loads(payload)
    threadpool_limits(threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)
    return function(job)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os.killpg(0, signal.SIGKILL)


@contextmanager
def _environment(settings: dict[str, str]) -> Iterator[None]:
    """Set variables for what is started meanwhile."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _main_hidden(*, from_payload: bytes) -> Iterator[None]:
    """Let a child not run the main script again, unless the payload comes from it."""
    main = sys.modules["__main__"]
    if b"__main__" not in from_payload:
        sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _ended(kind: Kind, why: str) -> Outcome:
    return Outcome(0, None, why, kind)


def _last_words(exitcode: int) -> str:
    if exitcode >= 0:
        return f"ended with exit code {exitcode} before it answered"
    names = {number.value: number.name for number in signal.Signals}
    name = names.get(-exitcode, f"signal {-exitcode}")
    hint = ", as the system does when memory runs out" if name == "SIGKILL" else ""
    return f"was ended by {name}{hint}"


def _resident_bytes(pid: int | None) -> int:
    """Return the memory of a process and of all below it."""
    try:
        import psutil
    except ImportError as error:
        raise MissingExtraError(
            'A limit on memory needs psutil: pip install "modernnca[bench]"'
        ) from error

    total = 0
    with suppress(psutil.NoSuchProcess):
        top = psutil.Process(pid)
        for process in (top, *top.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss
    return total
