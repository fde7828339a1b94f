"""Tasks in a forked process, which shares the rows and nothing that changes.

Python runs one thread at a time. The steps of small networks are so short that two
threads wait for each other more than they compute: on two cores a fit with two threads
took 0.8 to 1.2 times as long as with one, with two processes 0.55 times.

A forked process inherits the locks that other threads held, and so might wait for ever.
It has to give a sign of life first, or it is given up. Whatever goes wrong with it, its
tasks are left to the caller.
"""

import ctypes
import gc
import os
import pickle
import signal
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, NoReturn

import torch

from modernnca.train.budget import Budget

Tasks = Mapping[int, Callable[[], Any]]
_SIGN_OF_LIFE = 10.0  # seconds to wait for it
_POLL = 0.05  # seconds between looks at the budget
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux


def can_fork() -> bool:
    """Whether torch can train in a forked process: on Linux, without a GPU."""
    return sys.platform == "linux" and not torch.cuda.is_available()


class ForkedTasks:
    """Tasks that run in a process of their own, with one thread.

    >>> forked = ForkedTasks({3: lambda: "result"}, Budget())
    >>> forked.collect()
    {3: 'result'}
    """

    def __init__(self, tasks: Tasks, budget: Budget) -> None:
        self._tasks, self._budget = tasks, budget
        self._pid = 0
        self._connection, writer = Pipe(duplex=False)
        parent = os.getpid()
        with suppress(OSError), warnings.catch_warnings():
            # Python warns that other threads may hold locks: see above.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
            if self._pid == 0:
                _run_and_exit(tasks, budget, writer, parent)
        writer.close()

    def collect(self) -> dict[int, Any]:
        """The results, by the numbers of the tasks; those that failed are missing."""
        found: dict[int, Any] = {}
        patience: float | None = time.monotonic() + _SIGN_OF_LIFE
        told = not self._pid
        try:
            while self._pid and len(found) < len(self._tasks):
                # Only after its sign of life does it listen to signals.
                if self._budget.interrupted and patience is None and not told:
                    os.kill(self._pid, signal.SIGINT)
                    told = True
                if self._connection.poll(_POLL):
                    message = pickle.loads(self._connection.recv_bytes())
                    patience = None
                    found.update(message)
                elif patience is not None and time.monotonic() > patience:
                    break
        except (EOFError, OSError, pickle.UnpicklingError):
            pass  # it died, or could not send a result
        finally:
            self.stop()
        return found

    def stop(self) -> None:
        """End the process."""
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
        self._pid = 0
        self._connection.close()


def _run_and_exit(
    tasks: Tasks, budget: Budget, writer: Connection, parent: int
) -> NoReturn:
    """Run the tasks and send their results; never return into the caller's stack."""
    try:
        for kind in (signal.SIGINT, signal.SIGTERM):  # as the caller does
            signal.signal(kind, lambda *_: budget.interrupt())
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:  # it died before that
            os._exit(1)
        gc.freeze()  # nothing of the caller's is finalized here
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        torch.set_num_threads(1)
        _try_a_step()
        writer.send_bytes(pickle.dumps({}))  # the sign of life
        for number, task in tasks.items():
            writer.send_bytes(pickle.dumps({number: task()}))
    except BaseException:
        os._exit(1)
    os._exit(0)


def _try_a_step() -> None:
    """Take the locks that training takes."""
    x = torch.ones(256, 256, requires_grad=True)
    (x @ x).sum().backward()
    torch.randn(8, generator=torch.Generator().manual_seed(0))
