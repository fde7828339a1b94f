"""Processes that tests start: none is waited for without end."""

import subprocess
import threading
from typing import Any


def start(
    command: list[Any], *, seconds: float = 240, **options: Any
) -> subprocess.Popen:
    """Start a process that is killed if it still runs after so many seconds.

    Whoever reads from it or waits for it then goes on, and fails.
    """
    process = subprocess.Popen(command, **options)
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    return process
