"""The public ModernNCA, loaded from the tabarena wheel without its package.

It is tabarena/models/modernnca/_internal/modernNCA.py of tabarena 0.1.0, a copy of
TALENT's model. Importing its package would need a whole benchmark; the file itself
needs torch only.
"""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import torch
from torch import Tensor

from modernnca.core.network import InputShape, Network
from modernnca.estimators.config import ModernNCAConfig
from modernnca.estimators.presets import PRESETS

_PACKAGE = "tabarena.models.modernnca._internal"

# One shape for all parity tests: 3 numbers, two categories of 2 and 3 levels.
D_NUM, LEVELS = 3, (2, 3)
ENCODING = {"n_frequencies": 5, "frequency_scale": 0.3, "d_encoding": 4}
BLOCKS = {"dim": 6, "d_block": 7, "dropout": 0.0}


def load_public_model() -> type[torch.nn.Module] | None:
    """The class ModernNCA, or None where the wheel is not installed."""
    spec = importlib.util.find_spec("tabarena")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    before = set(sys.modules)
    try:
        name, path = "", folder.parent
        for part in _PACKAGE.split("."):
            name, path = f"{name}.{part}".strip("."), path / part
            bare = ModuleType(name)
            bare.__path__ = [str(path)]
            sys.modules[name] = bare
        return importlib.import_module(f"{_PACKAGE}.modernNCA").ModernNCA
    finally:
        for name in set(sys.modules) - before:
            if name.startswith("tabarena"):
                del sys.modules[name]


def build_public(
    model: type[torch.nn.Module], *, d_out: int, n_blocks: int
) -> torch.nn.Module:
    """A small public model; with sample_rate=1 every candidate votes."""
    return model(
        d_in=D_NUM + sum(LEVELS),
        d_num=D_NUM,
        d_out=d_out,
        **BLOCKS,
        n_blocks=n_blocks,
        num_embeddings={
            "type": "PLREmbeddings",
            "n_frequencies": ENCODING["n_frequencies"],
            "frequency_scale": ENCODING["frequency_scale"],
            "d_embedding": ENCODING["d_encoding"],
            "lite": True,
        },
        temperature=1.0,
        sample_rate=1.0,
    )


def our_config(*, n_blocks: int) -> ModernNCAConfig:
    """The preset "paper" with the sizes of the small model; every row votes."""
    sizes = {**ENCODING, **BLOCKS, "n_blocks": n_blocks}
    return PRESETS["paper"].updated({**sizes, "sampler": "all"})


def our_network(weights: dict[str, Tensor], *, n_blocks: int) -> Network:
    """Our network with the public model's weights."""
    shape = InputShape(n_numbers=D_NUM, n_plain=0, n_levels=sum(LEVELS))
    network = Network(our_config(n_blocks=n_blocks), shape)
    d_encoded = D_NUM * ENCODING["d_encoding"]
    linear = weights["encoder.weight"]
    unknown = torch.zeros(1, len(linear))
    ours = {
        "encode.frequencies": weights["num_embeddings.0.frequencies"],
        "encode.linear.weight": weights["num_embeddings.1.weight"],
        "encode.linear.bias": weights["num_embeddings.1.bias"],
        "linear.weight": linear[:, :d_encoded],
        "linear.levels": torch.cat([linear[:, d_encoded:].T, unknown]),
        "linear.bias": weights["encoder.bias"],
        "log_temperature": torch.zeros(()),
    }
    for name, value in weights.items():
        if name.startswith("post_encoder."):
            ours[name.replace("post_encoder", "blocks").replace(".block.", ".")] = value
    network.load_state_dict(ours)
    return network
