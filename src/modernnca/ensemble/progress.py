"""A progress bar over epochs: if asked for, or if someone looks and it takes long."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tqdm.auto import tqdm

from modernnca.table.metrics import describe_score
from modernnca.train.loop import Callback, Epoch

PATIENCE = 5.0  # seconds after which a fit shows its progress


def if_it_takes_long() -> Callable[[], bool]:
    """Whether to show progress now: after some seconds, in a terminal or notebook."""
    began = time.monotonic()
    return lambda: time.monotonic() - began > PATIENCE and someone_looks()


def someone_looks() -> bool:
    """Whether errors go to a terminal, or this is a notebook."""
    if sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty():
        return True
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and hasattr(running, "kernel")


@contextmanager
def progress(
    title: str,
    n_epochs: int,
    metric: str | Callable,
    *,
    shown: bool | Callable[[], bool],
) -> Iterator[list[Callback]]:
    """Give callbacks that draw a bar while the block runs.

    The bar is there from the start, never, or from the first epoch at which `shown`
    is true.

    >>> with progress("fit", 10, "accuracy", shown=False) as callbacks:
    ...     callbacks
    []
    """
    if shown is False:
        yield []
        return

    def new_bar() -> Any:
        return tqdm(total=n_epochs, desc=title, unit="epoch", dynamic_ncols=True)

    bar = new_bar() if shown is True else None
    best = "none"

    def draw(epoch: Epoch) -> None:
        nonlocal bar, best
        if math.isnan(epoch.score):  # not validated
            text = f"loss {epoch.train_loss:.4g}"
        else:
            text = describe_score(metric, epoch.score)
            if epoch.best:
                best = f"{text.split()[-1]} at {epoch.epoch}"
            text = f"{text}, best {best}"
        if bar is None and callable(shown) and shown():
            bar = new_bar()
        if bar is not None:
            bar.set_postfix_str(text, refresh=False)
            bar.update(epoch.epoch - bar.n)

    try:
        yield [draw]
    finally:
        if bar is not None:
            bar.close()
