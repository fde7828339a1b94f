"""Run many cases in processes that may crash or hang, and count how each ended."""

import faulthandler
import multiprocessing
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

GOOD = ("refused", "same", "accepted", "recovered")
_MAX_MEMORY = 700 * 2**20  # that one case may take more than those before it
_ADDRESSES = 16 * 2**30


class Ended(NamedTuple):
    """How a case ended: a word, and what was said."""

    case: Any
    how: str
    said: str = ""
    seconds: float = 0.0


def run_all(
    prepare: Callable[[], Callable[[Any], tuple[str, str]]],
    cases: Iterable[Any],
    *,
    max_seconds: float = 30.0,
    on_end: Callable[[Ended], None] = lambda _: None,
) -> list[Ended]:
    """Run each case in a process; a new one begins where the last has died.

    `prepare`, which must be importable, is called once in each process and returns what
    runs a case. A process that takes longer than `max_seconds` for a case is killed. A
    case hangs if that happens twice: the machine may have paused. Processes are new
    ones: a fork has the locks of threads that are not there, and may wait for ever.
    """
    context = multiprocessing.get_context("spawn")
    waiting, ended, slow = list(cases)[::-1], [], set()
    while waiting:
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, prepare), daemon=True)
        process.start()
        theirs.close()
        try:
            while waiting:
                how, said, seconds = _ask(waiting[-1], ours, process, max_seconds)
                if how == "hang" and waiting[-1] not in slow:
                    slow.add(waiting[-1])
                    break
                result = Ended(waiting.pop(), how, said, seconds)
                ended.append(result)
                on_end(result)
                if how in ("crash", "hang"):
                    break
        finally:
            process.kill()
            process.join()
            ours.close()
    return ended


def _ask(
    case: Any, ours: Any, process: Any, max_seconds: float
) -> tuple[str, str, float]:
    began = time.monotonic()
    with suppress(BrokenPipeError):  # of a process that is dead: see below
        ours.send(case)
    deadline = began + max_seconds + 60  # the first case also waits for `prepare`
    while not ours.poll(0.05):
        if not process.is_alive():
            name = (
                signal.Signals(-process.exitcode).name if process.exitcode < 0 else ""
            )
            return "crash", f"{process.exitcode} {name}", time.monotonic() - began
        if time.monotonic() > deadline:
            return "hang", "", time.monotonic() - began
    try:
        how, said, seconds = ours.recv()
    except (EOFError, ConnectionResetError):
        process.join()
        return "crash", str(process.exitcode), time.monotonic() - began
    return ("hang" if seconds > max_seconds else how), said, seconds


def _serve(
    theirs: Any, prepare: Callable[[], Callable[[Any], tuple[str, str]]]
) -> None:
    faulthandler.disable()  # a crash is a result, not a page in the log
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
    run = prepare()
    run_before = _peak()
    while True:
        try:
            case = theirs.recv()
        except EOFError:
            return
        began = time.monotonic()
        how, said = run(case)
        seconds = time.monotonic() - began
        if _peak() - run_before > _MAX_MEMORY:
            how, said = "memory", f"{(_peak() - run_before) >> 20} MiB; {how} {said}"
        run_before = _peak()
        theirs.send((how, said, seconds))


def _peak() -> int:
    """The most memory that this process has had, in bytes."""
    with suppress(OSError), open("/proc/self/status") as lines:  # of Linux
        for line in lines:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    # On Linux a new process would begin with the peak of the one that started it.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def summary(ended: list[Ended], kind_of: Callable[[Any], str]) -> dict[str, Counter]:
    """How many cases of each kind ended how."""
    counts: dict[str, Counter] = {}
    for each in ended:
        counts.setdefault(kind_of(each.case), Counter())[each.how] += 1
    return counts
