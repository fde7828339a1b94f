"""What tests of several rooms share."""

import os
import subprocess
import sys

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests first: one that starts last keeps one core busy, the others idle."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


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
        )
        assert result.returncode == 0, result.stdout[-3000:]
        assert "passed" in result.stdout

    return run
