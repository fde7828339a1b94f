"""Search spaces: where `tune` looks, for each preset."""

from modernnca.table.targets import Task
from modernnca.tune.space import Domain, Float, Int, LogFloat, Maybe, Space

# The space of the paper's public code, in our names.
# PAPER: there the drawn options are tried alone; here the preset's own come first.
MODERNNCA: Space = {
    "dim": Int(64, 1024),
    "n_blocks": Maybe(Int(0, 2), 0),
    "d_block": Int(64, 1024),
    "dropout": Float(0.0, 0.5),
    "n_frequencies": Int(16, 96),
    "frequency_scale": LogFloat(0.005, 10.0),
    "d_encoding": Int(16, 64),
    "sample_rate": Float(0.05, 0.6),
    "learning_rate": LogFloat(1e-5, 0.1),
    "weight_decay": Maybe(LogFloat(1e-6, 1e-3), 0.0),
}

# The preset "linear": without what a linear projection of the columns does not have.
LINEAR: Space = {
    name: MODERNNCA[name]
    for name in ("dim", "sample_rate", "learning_rate", "weight_decay")
}

# The NCA of 2004 and its ladder to L-NCA learn from all rows, by SGD or L-BFGS.
NCA: Space = {
    "dim": MODERNNCA["dim"],
    "learning_rate": LogFloat(1e-3, 1.0),
    "weight_decay": MODERNNCA["weight_decay"],
}

# TabCon learns within the batch, by cosines, which need a temperature.
TABCON: Space = {
    **{name: MODERNNCA[name] for name in MODERNNCA if name != "sample_rate"},
    "temperature": LogFloat(1e-5, 1.0),
}

# The paper's, from smaller encodings on.
_SMALLER: Space = {**MODERNNCA, "d_encoding": Int(4, 64)}

SPACES: dict[str, Space] = {
    "default": _SMALLER,
    "fast": _SMALLER,
    "best": MODERNNCA,
    "paper": MODERNNCA,
    "linear": LINEAR,
    **{f"nca-v{version}": NCA for version in range(5)},
    "tabcon": TABCON,
}

# As in the paper's public code, in regression dropout may be off altogether.
_FOR_REGRESSION: dict[str, Domain] = {"dropout": Maybe(Float(0.0, 0.5), 0.0)}


def space_for(preset: str, task: Task) -> Space:
    """The space of a preset for a task.

    >>> sorted(space_for("linear", "classification"))
    ['dim', 'learning_rate', 'sample_rate', 'weight_decay']
    """
    space = SPACES[preset]
    if task == "classification":
        return dict(space)
    return {name: _FOR_REGRESSION.get(name, domain) for name, domain in space.items()}
