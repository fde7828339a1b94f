"""One call in a child process, which can be stopped and may crash.

Children are forked from a server that has imported their modules but computed nothing,
so no thread is lost in the fork. A child starts in milliseconds.
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
from modernnca.execute.executor import Kind, Limits, Outcome, attempt, error_outcome

_MEMORY_POLL_SECONDS = 0.1
_MAX_WAIT_SECONDS = 0.25  # not every interrupt ends a wait
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def call_in_child(
    payload: bytes, *, limits: Limits, threads: int = 1, preload: Sequence[str] = ()
) -> Outcome:
    """Call a pickled (function, job) in a child process and return the outcome.

    >>> call_in_child(pickle.dumps((len, "four")), limits=Limits(seconds=60)).value
    4
    """
    child = ChildProcess(payload, limits=limits, threads=threads, preload=preload)
    try:
        while (outcome := child.outcome()) is None:
            wait_for([child])
        return outcome
    finally:
        child.stop()


class ChildProcess:
    """A process that calls a pickled (function, job) once.

    It leads a process group, so stopping it also stops every process it started. It
    kills itself when its parent dies.

    Args:
        threads: number of threads that numerical libraries may use.
        preload: modules for the fork server to import, if it is not running yet.
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
        # A library loaded after the fork would use every core of the machine.
        context.set_forkserver_preload([__name__, "torch", *preload])
        environment = {**os.environ, **dict.fromkeys(_THREAD_VARIABLES, str(threads))}
        # The server must be single-threaded when it forks.
        single_threaded = dict.fromkeys(_THREAD_VARIABLES, "1")
        self._limits = limits
        self._reader, writer = context.Pipe(duplex=False)
        with writer, _hide_main_module(payload), _set_environment(single_threaded):
            self._process = context.Process(
                target=_child_main, args=(writer, payload, environment, threads)
            )
            self._process.start()
        self._deadline = time.monotonic() + (limits.seconds or float("inf"))

    def outcome(self) -> Outcome | None:
        """Return the outcome, or None while the call runs within its limits."""
        # Read the exit code first: the outcome may arrive just before the exit.
        exitcode = self._process.exitcode
        if self._reader.poll():
            try:
                return _load_outcome(self._reader.recv_bytes())
            except (EOFError, OSError):  # the pipe was closed: no outcome will come
                self._process.join(_MAX_WAIT_SECONDS)
                exitcode = self._process.exitcode
        if exitcode is not None:
            return _stopped("died", f"The process {_describe_exit(exitcode)}.")
        if time.monotonic() > self._deadline:
            return _stopped(
                "timeout", f"Stopped after {self._limits.seconds:g} seconds."
            )
        limit = self._limits.memory_bytes
        if limit is not None and (used := _resident_bytes(self._process.pid)) > limit:
            return _stopped(
                "memory",
                f"Stopped with {used / 2**20:,.0f} MiB in memory; "
                f"the limit is {limit / 2**20:,.0f} MiB.",
            )
        return None

    def stop(self) -> None:
        """Kill the process and every process it started."""
        if self._reader.closed:
            return
        assert self._process.pid is not None
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()  # in case it does not lead a group yet
        self._process.join()
        self._process.close()
        self._reader.close()

    def _wait_seconds(self) -> float:
        """Return how long to wait before checking the limits again."""
        longest = (
            _MAX_WAIT_SECONDS
            if self._limits.memory_bytes is None
            else _MEMORY_POLL_SECONDS
        )
        return min(longest, max(0.0, self._deadline - time.monotonic()))


def wait_for(children: Iterable[ChildProcess]) -> None:
    """Wait until one of the children may have an outcome."""
    children = list(children)
    handles = [
        h for child in children for h in (child._reader, child._process.sentinel)
    ]
    wait(handles, timeout=min(child._wait_seconds() for child in children))


def _child_main(
    writer: Connection, payload: bytes, environment: dict[str, str], threads: int
) -> None:
    """Make the call and send its outcome; runs in the child."""
    os.setsid()
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    # The server's environment may be out of date.
    os.environ.clear()
    os.environ.update(environment)
    outcome = attempt(lambda packed: _call(packed, threads), payload)
    try:
        message = pickle.dumps(outcome, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # the value cannot be pickled
        message = pickle.dumps(error_outcome(error))
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    writer.send_bytes(message)


def _load_outcome(message: bytes) -> Outcome:
    try:
        return pickle.loads(message)
    except Exception as error:  # the value cannot be unpickled
        return error_outcome(error)


def _call(payload: bytes, threads: int) -> object:
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    function, job = pickle.loads(payload)
    threadpool_limits(threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)
    return function(job)


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os.killpg(0, signal.SIGKILL)


@contextmanager
def _set_environment(variables: dict[str, str]) -> Iterator[None]:
    """Set environment variables while the block runs."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _hide_main_module(payload: bytes) -> Iterator[None]:
    """Keep a child from running the main script again, unless the payload needs it."""
    main = sys.modules["__main__"]
    if b"__main__" not in payload:
        sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _stopped(kind: Kind, error: str) -> Outcome:
    return Outcome(0, None, error, kind)


def _describe_exit(exitcode: int) -> str:
    if exitcode >= 0:
        return f"exited with code {exitcode} before it returned a value"
    names = {number.value: number.name for number in signal.Signals}
    name = names.get(-exitcode, f"signal {-exitcode}")
    hint = ", possibly because memory ran out" if name == "SIGKILL" else ""
    return f"was killed by {name}{hint}"


def _resident_bytes(pid: int | None) -> int:
    """Return the resident memory of a process and its descendants."""
    try:
        import psutil
    except ImportError as error:
        raise MissingExtraError(
            'A memory limit needs psutil: pip install "modernnca[bench]"'
        ) from error

    total = 0
    with suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss
    return total
