"""A progress bar over epochs, for those who asked for one."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm.auto import tqdm

from modernnca.train.loop import Callback, Epoch


@contextmanager
def progress(title: str, n_epochs: int, *, shown: bool) -> Iterator[list[Callback]]:
    """Give callbacks that draw a bar while the block runs; none unless `shown`.

    >>> with progress("fit", 10, shown=False) as callbacks:
    ...     callbacks
    []
    """
    if not shown:
        yield []
        return
    with tqdm(total=n_epochs, desc=title, unit="epoch", dynamic_ncols=True) as bar:
        best = {"epoch": 0, "score": float("nan")}

        def draw(epoch: Epoch) -> None:
            if epoch.best:
                best.update(epoch=epoch.epoch, score=epoch.score)
            if math.isnan(epoch.score):  # nobody judges
                told = f"loss {epoch.train_loss:.4g}"
            else:
                told = f"score {epoch.score:.4g}, best {best['score']:.4g}"
                told += f" at {best['epoch']}"
            bar.set_postfix_str(told, refresh=False)
            bar.update(epoch.epoch - bar.n)

        yield [draw]
