"""Words that people write where a value is missing: blanks, NA, null, - and ?."""

import numpy as np

_WORDS = frozenset(
    {
        *("", "na", "n/a", "n.a.", "#n/a", "#na", "<na>", "nan", "-nan", "nat"),
        *("null", "#null!", "none", "nil", "missing", "-", "--", "?", "."),
    }
)
_LONGEST = max(map(len, _WORDS))


def is_gap_word(text: str) -> bool:
    """Return whether a text says that there is no value.

    >>> [is_gap_word(text) for text in (" ", "n/a", "NULL", "?", "0", "no")]
    [True, True, True, True, False, False]
    """
    if len(text) > _LONGEST and not text[0].isspace() and not text[-1].isspace():
        return False
    return text.strip().lower() in _WORDS


def without_gap_words(cells: np.ndarray) -> np.ndarray:
    """Return a column of texts with None in place of the words for missing.

    >>> without_gap_words(np.array(["a", " ", None, "?"], dtype=object))
    array(['a', None, None, None], dtype=object)
    """
    gaps = {text for text in set(cells) - {None} if is_gap_word(text)}
    if not gaps:
        return cells
    return np.array([None if cell in gaps else cell for cell in cells], dtype=object)
