"""The colors of a map, in light and dark: a palette for levels, a scale for numbers."""

import numpy as np

# Each as it is on light and on dark paper; told apart by people who see few colors
# (after Okabe and Ito, 2008).
PALETTE = (
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#f0883e"),
    ("#008a63", "#2bc79b"),
    ("#b0508a", "#e08cc0"),
    ("#9a7b00", "#e6c229"),
    ("#5b4bc4", "#a79bff"),
    ("#6b4a2b", "#c9a27c"),
    ("#3c7d8f", "#7fd0e0"),
    ("#8f2d2d", "#ff8f8f"),
    ("#4f7a12", "#a6d65a"),
)
MISSING = ("#9a9da3", "#747981")
OTHERS = "other"
# A scale for numbers, from violet to yellow as viridis; on dark paper it is lighter.
SCALE = (
    ("#440154", "#8f78e0"),
    ("#3b528b", "#6d9be0"),
    ("#21918c", "#35b8ac"),
    ("#5ec962", "#86dc78"),
    ("#d4b800", "#fde725"),
)


def levels_of(colors: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The levels, the most frequent first, and the code of each row; -1 is missing.

    Beyond the palette, levels share one.

    >>> levels_of(np.array(["b", "a", "b", None], dtype=object))
    (['b', 'a'], array([ 0,  1,  0, -1]))
    """
    known = np.array([each is not None for each in colors], dtype=bool)
    texts, counts = np.unique(colors[known].astype(str), return_counts=True)
    order = np.lexsort((texts, -counts))
    levels = [str(text) for text in texts[order]]
    if len(levels) > len(PALETTE):
        levels = [*levels[: len(PALETTE) - 1], OTHERS]
    code = {text: place for place, text in enumerate(levels)}
    last = len(levels) - 1
    codes = [-1 if each is None else code.get(str(each), last) for each in colors]
    return levels, np.array(codes, dtype=np.int64)
