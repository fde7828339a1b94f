"""What tests of several rooms share."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import psutil
import pytest

# Longer than any test takes on a busy machine. `faulthandler_timeout` in pyproject.toml
# is longer still: it ends a worker whose test goes on all the same.
_MAX_SECONDS = 600.0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """End the processes that a test started if it takes too long, and so the test."""
    timer = threading.Timer(_MAX_SECONDS, end_processes)
    timer.daemon = True
    timer.start()
    try:
        return (yield)
    finally:
        timer.cancel()


def end_processes() -> None:
    """Kill all processes below this one: who waits for one of them goes on."""
    for process in psutil.Process().children(recursive=True):
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests first: one that starts last keeps one core busy, the others idle."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Torch computes with two threads, and afterwards with as many as before."""
    import torch  # here: not every test needs it

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def interpreted():
    """Run tests with kernels in Triton's interpreter, in a process of their own.

    The interpreter is chosen when kernels are first imported.
    """

    def run(*arguments: str) -> None:
        result = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *arguments],
            env={**os.environ, "TRITON_INTERPRET": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        assert result.returncode == 0, result.stdout[-3000:]
        assert "passed" in result.stdout

    return run
