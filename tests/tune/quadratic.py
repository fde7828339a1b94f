"""Objectives that other processes can import."""

import math
import os
import signal
import time
from pathlib import Path

from modernnca.tune.space import Float, LogFloat

SPACE = {"x": Float(-5, 5), "y": LogFloat(1e-4, 1)}


def valley(settings, report):
    """0 at x = 2, y = 0.01; negative elsewhere."""
    return -((settings["x"] - 2) ** 2) - (math.log10(settings["y"]) + 2) ** 2


def slow_valley(settings, report):
    time.sleep(0.15)
    return valley(settings, report)


class Written:
    """A valley that leaves a line for each trial that begins."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, settings, report):
        with open(self.path, "a") as file:
            file.write(f"{settings['x']!r}\n")
        return slow_valley(settings, report)


class Deadly(Written):
    """The process dies wherever x is above 0."""

    def __call__(self, settings, report):
        score = super().__call__(settings, report)
        if settings["x"] > 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return score
