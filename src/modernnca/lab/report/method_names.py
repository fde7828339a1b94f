"""Display names of methods: one spelling for every source of scores."""

from collections.abc import Iterable

from modernnca.lab.bench.published import DISPLAY_NAMES

_OURS = ("L-NCA", "ModernNCA (paper)", "NCA", "TabCon", "TabM", "Linear SVM")


def normalize(name: str) -> str:
    """Keep letters and digits only, so that modernNCA and Modern-NCA are equal.

    >>> normalize("mlp_plr") == normalize("MLP-PLR")
    True
    """
    return "".join(letter for letter in name.casefold() if letter.isalnum())


_KNOWN = {normalize(name): shown for name, shown in DISPLAY_NAMES.items()} | {
    normalize(shown): shown for shown in _OURS
}


def display_names(names: Iterable[str]) -> dict[str, str]:
    """Map each name to its display name; names that would collide stay unchanged.

    >>> display_names(["modernNCA", "mine"])
    {'mine': 'mine', 'modernNCA': 'ModernNCA'}
    >>> display_names(["knn", "k-NN"])
    {'k-NN': 'k-NN', 'knn': 'knn'}
    """
    names = sorted(set(names))
    keys = [normalize(name) for name in names]
    return {
        name: _KNOWN.get(key, name) if keys.count(key) == 1 else name
        for name, key in zip(names, keys, strict=True)
    }


def match_method(name: str, names: Iterable[str]) -> str | None:
    """Return the one of `names` that matches in any spelling, preferably tuned.

    >>> match_method("modernnca", ["KNN", "ModernNCA", "ModernNCA (tuned)"])
    'ModernNCA (tuned)'
    """
    by_key = {normalize(other): other for other in reversed(list(names))}
    return by_key.get(normalize(f"{name} (tuned)"), by_key.get(normalize(name)))
