"""The names of weights in saved files, which stay when an attribute is renamed."""

from collections.abc import Mapping

from torch import Tensor

# Attribute of a module -> its name in files.
FILE_NAMES = {
    "query": "asks",
    "key_value": "tells",
    "ffn": "alone",
    "norm_ffn": "norm_alone",
    "context": "mates",
    "response": "answer",
    "max_distance": "reach",
    "projector": "place",
    "input_layer": "fit_in",
    "diff_in": "bend_in",
    "diff_out": "bend_out",
}
_ATTRIBUTES = {name: attribute for attribute, name in FILE_NAMES.items()}


def to_file(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The entries of a `state_dict` under their names in files.

    >>> list(to_file({"layers.0.ffn.0.bias": Tensor()}))
    ['layers.0.alone.0.bias']
    """
    return _renamed(weights, FILE_NAMES)


def from_file(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The inverse of `to_file`."""
    return _renamed(weights, _ATTRIBUTES)


def _renamed(
    weights: Mapping[str, Tensor], names: Mapping[str, str]
) -> dict[str, Tensor]:
    return {
        ".".join(names.get(part, part) for part in name.split(".")): tensor
        for name, tensor in weights.items()
    }
