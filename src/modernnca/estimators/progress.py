"""A progress bar over epochs, for those who asked for one."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm.auto import tqdm

from modernnca.table.metrics import in_words
from modernnca.train.loop import Callback, Epoch


@contextmanager
def progress(
    title: str, n_epochs: int, metric: str | Callable, *, shown: bool
) -> Iterator[list[Callback]]:
    """Give callbacks that draw a bar while the block runs; none unless `shown`.

    >>> with progress("fit", 10, "accuracy", shown=False) as callbacks:
    ...     callbacks
    []
    """
    if not shown:
        yield []
        return
    with tqdm(total=n_epochs, desc=title, unit="epoch", dynamic_ncols=True) as bar:
        best = "none"

        def draw(epoch: Epoch) -> None:
            nonlocal best
            if math.isnan(epoch.score):  # nobody judges
                told = f"loss {epoch.train_loss:.4g}"
            else:
                told = in_words(metric, epoch.score)
                if epoch.best:
                    best = f"{told.split()[-1]} at {epoch.epoch}"
                told = f"{told}, best {best}"
            bar.set_postfix_str(told, refresh=False)
            bar.update(epoch.epoch - bar.n)

        yield [draw]
