"""Modules whose weights come from a file: built only if the file holds them."""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from modernnca._declared import array

Built = TypeVar("Built", bound=nn.Module)

_MIN_LIMIT = 1_000_000  # numbers; a network that small is built in no time
# What makes tensors of a size; an identity has the square of its argument.
_MAKERS = {
    **dict.fromkeys((torch.empty, torch.zeros, torch.ones, torch.full), 1),
    **dict.fromkeys((torch.rand, torch.randn, torch.arange, torch.linspace), 1),
    torch.eye: 2,
}


def build_within(build: Callable[[], Built], weights: dict[str, Tensor]) -> Built:
    """Build a module; raise if it has more numbers than the weights of a file.

    A file that declares a million layers takes no time, and a wide one no memory.

    >>> build_within(lambda: nn.Linear(10**6, 10**6), {"weight": torch.zeros(3)})
    Traceback (most recent call last):
    ...
    ValueError: the network is larger than the file.
    """
    with _Allowance(max(_MIN_LIMIT, 4 * sum(w.numel() for w in weights.values()))):
        return build()


class _Allowance(TorchFunctionMode):
    """Within, tensors may have so many numbers in all; then making more raises."""

    def __init__(self, n_numbers: int) -> None:
        super().__init__()
        self.left = n_numbers

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func in _MAKERS:
            shape = (kwargs or {}).get("size", args)
            shape = shape[0] if shape and isinstance(shape[0], Sequence) else shape
            sizes = [size for size in shape if isinstance(size, int)]
            # A layer takes some time and memory, however small it is.
            self.left -= math.prod(sizes) ** _MAKERS[func] + 100
            if self.left < 0:
                raise ValueError("the network is larger than the file.")
        return func(*args, **(kwargs or {}))


def check_weights(module: nn.Module, weights: dict[str, Tensor]) -> None:
    """Raise unless weights have the module's shapes and dtypes, and are finite.

    Buffers may be infinite: the ends of bins and ranges are.
    """
    learned = dict(module.named_parameters())
    for name, like in module.state_dict().items():
        dtype, shape = str(like.dtype).removeprefix("torch."), tuple(like.shape)
        array(weights[name], name, shape, [dtype], infinite=name not in learned)
        if name.endswith("running_var") and (weights[name] < 0).any():
            raise ValueError(f"{name} holds a negative variance.")
