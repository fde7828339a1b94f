"""Jobs with every kind of outcome, defined at module level so they can be pickled."""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


class Unreadable:
    """A value that can be sent but not read."""

    def __reduce__(self):
        return int, ("no number",)


def call(job):
    function, argument = job
    return function(argument)


def square(number):
    return number * number


def uneven(number):
    """Later jobs end earlier; multiples of 3 fail."""
    time.sleep(0.02 * (3 - number % 4))
    if number % 3 == 0:
        raise ValueError(f"{number} is a multiple of 3")
    return number * number


def large(n_bytes):
    return b"\1" * n_bytes


def exit_with(code):
    sys.exit(code)


def run_out_of_memory(words):
    raise MemoryError(words) if words is None else RuntimeError(words)


def unsendable(_):
    return lambda: None


def unreadable(_):
    return Unreadable()


def sleep(seconds):
    time.sleep(seconds)
    return seconds


def segfault(_):
    ctypes.string_at(0)


def kill_oneself(_):
    os.kill(os.getpid(), signal.SIGKILL)


def kill_who_waits(_):
    """Kill the process that waits for this one, as when a worker is lost."""
    os.kill(multiprocessing.parent_process().pid, signal.SIGKILL)
    time.sleep(60)


def close_all_and_sleep(seconds):
    """As a job that becomes a service does; it can no longer answer."""
    os.closerange(3, 256)
    time.sleep(seconds)


def leave(code):
    os._exit(code)


def hold(n_bytes):
    """Take memory, in a process below this one, and keep it."""
    code = f"held = b'1' * {n_bytes}; import time; time.sleep(60)"
    subprocess.run([sys.executable, "-c", code])


def threads(_):
    import numpy as np
    import torch
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    pools = {pool["num_threads"] for pool in threadpool_info()}
    return os.environ["OMP_NUM_THREADS"], torch.get_num_threads(), pools


def variable(name):
    return os.environ.get(name)


def main_file(_):
    return getattr(sys.modules["__main__"], "__file__", None)


def sleep_beside_another(folder):
    """Write down one's own number and that of a process below, and sleep."""
    other = subprocess.Popen(["sleep", "60"])
    path = Path(folder) / f"{os.getpid()}.pids"
    path.with_suffix(".tmp").write_text(f"{os.getpid()} {other.pid}")
    path.with_suffix(".tmp").rename(path)
    time.sleep(60)


def squares_in_a_pool(numbers):
    from modernnca.execute import Pool

    return sorted(outcome.value for outcome in Pool(2).map(square, numbers))


def sleep_and_note(job):
    """Note in a folder that the job ran, once it has."""
    folder, number, seconds = job
    time.sleep(seconds)
    (Path(folder) / f"{number}-{time.monotonic_ns()}").touch()
    return number * number
