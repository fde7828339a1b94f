"""A progress bar over epochs."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm.auto import tqdm

from modernnca.table.metrics import describe_score
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
            if math.isnan(epoch.score):  # not validated
                text = f"loss {epoch.train_loss:.4g}"
            else:
                text = describe_score(metric, epoch.score)
                if epoch.best:
                    best = f"{text.split()[-1]} at {epoch.epoch}"
                text = f"{text}, best {best}"
            bar.set_postfix_str(text, refresh=False)
            bar.update(epoch.epoch - bar.n)

        yield [draw]
