"""No test waits for ever: neither for a process, nor for one below that."""

import subprocess
import sys
import time
from pathlib import Path

from tests.processes import start

ROOT = Path(__file__).parents[1]
ENDLESS = [
    sys.executable,
    "-c",
    "import time; print('begun', flush=True); time.sleep(99)",
]
STUCK = f"""
import subprocess, threading
from tests import conftest
threading.Timer(0.2, conftest.end_processes).start()
below = subprocess.Popen({ENDLESS!r}, stdout=subprocess.PIPE)
print(len(below.stdout.read()), below.wait())
"""


def test_a_process_ends_when_its_time_is_over():
    began = time.monotonic()
    with start(ENDLESS, seconds=0.5, stdout=subprocess.PIPE) as process:
        process.stdout.read()
    assert process.returncode != 0
    assert time.monotonic() - began < 60


def test_who_waits_for_a_process_goes_on_when_the_time_of_a_test_is_over():
    command = [sys.executable, "-c", STUCK]
    done = subprocess.run(command, capture_output=True, cwd=ROOT, timeout=200)
    assert done.stdout.split()[-1] == b"-9"


def test_a_test_that_waits_all_the_same_ends_its_worker(pytestconfig):
    assert float(pytestconfig.getini("faulthandler_timeout")) > 600
    assert pytestconfig.getini("faulthandler_exit_on_timeout")
