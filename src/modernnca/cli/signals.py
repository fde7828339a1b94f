"""Signals in the shell: they end a fit early, and never lose a model."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def shielded() -> Iterator[None]:
    """Within, Ctrl-C and SIGTERM only reach a fit, which then ends early.

    `fit` handles SIGINT itself while it runs. Before and after, both signals are
    ignored, so that a fitted model is saved whatever happens.
    """

    def ignore(number: int, frame: Any) -> None:
        """Do nothing; unlike SIG_IGN, this is not inherited by child processes."""

    def forward(number: int, frame: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, ignore),
        signal.SIGTERM: signal.signal(signal.SIGTERM, forward),
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
