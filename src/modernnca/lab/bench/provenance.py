"""The provenance of a record: versions, machine, commit."""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from modernnca._version import __version__

_PACKAGES = ("torch", "numpy", "scikit-learn", "xgboost", "lightgbm", "catboost")


def now() -> str:
    """Return the current UTC time to the second, in ISO format."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@cache
def provenance() -> dict[str, Any]:
    """Return everything that may explain a difference between two records."""
    return {
        "modernnca": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "packages": {name: found for name in _PACKAGES if (found := _version(name))},
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "gpu": _gpu(),
    }


def _version(package: str) -> str | None:
    for name in (package, f"{package}-cpu"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None


def _commit() -> str | None:
    """Return the commit of the source tree, with a + if modified; None if installed."""
    try:
        result = subprocess.run(
            # Without locks: a git killed by the timeout would leave one behind.
            [
                *("git", "--no-optional-locks", "describe", "--always", "--dirty=+"),
                *("--abbrev=12", "--exclude=*"),
            ],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip() or None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.processor()


def _gpu() -> str | None:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    return torch.cuda.get_device_name()
