"""What methods are called on the page: one spelling, wherever a score comes from."""

from collections.abc import Iterable

from modernnca.lab.bench.published import DISPLAY_NAMES

_OURS = ("L-NCA", "ModernNCA (paper)", "NCA", "TabCon", "TabM", "Linear SVM")


def key(name: str) -> str:
    """Letters and digits alone, so that modernNCA, modernnca and Modern-NCA are one.

    >>> key("mlp_plr") == key("MLP-PLR")
    True
    """
    return "".join(letter for letter in name.casefold() if letter.isalnum())


_SPELLED = {key(name): shown for name, shown in DISPLAY_NAMES.items()} | {
    key(shown): shown for shown in _OURS
}


def spell(names: Iterable[str]) -> dict[str, str]:
    """Map each name to its spelling; names that would become one stay as they are.

    >>> spell(["modernNCA", "mine"])
    {'mine': 'mine', 'modernNCA': 'ModernNCA'}
    >>> spell(["knn", "k-NN"])
    {'k-NN': 'k-NN', 'knn': 'knn'}
    """
    names = sorted(set(names))
    keys = [key(name) for name in names]
    return {
        name: _SPELLED.get(key(name), name) if keys.count(key(name)) == 1 else name
        for name in names
    }


def find(name: str, names: Iterable[str]) -> str | None:
    """Return the one of `names` that is meant: spelled so, or else alike.

    Of a method and its tuned self, the tuned is meant.

    >>> find("modernnca", ["KNN", "ModernNCA", "ModernNCA (tuned)"])
    'ModernNCA (tuned)'
    """
    names = list(names)
    alike = {key(other): other for other in reversed(names)}
    return alike.get(key(f"{name} (tuned)"), alike.get(key(name)))
