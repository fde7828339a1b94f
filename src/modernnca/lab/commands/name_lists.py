"""Comma-separated lists of names in one argument of a command."""


def split_names(text: str) -> list[str]:
    """Split a list of names at its commas.

    >>> split_names("knn, svm")
    ['knn', 'svm']
    """
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise ValueError(f"Expected a list of names like a,b,c; got {text!r}.")
    return names
