"""Lists in one argument of a command."""


def split_list(text: str) -> list[str]:
    """Cut at commas; an empty list is said to be one.

    >>> split_list("knn, svm")
    ['knn', 'svm']
    """
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise ValueError(f"A list of names like a,b,c is asked for; got {text!r}.")
    return names
