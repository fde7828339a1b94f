"""Optimizers, by name."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from modernnca.train.adamw import AdamW


def _groups(
    module: nn.Module, rate: float, decay: float, *, muon: bool = False
) -> list[dict[str, Any]]:
    """Parameter groups; a parameter's `rate_factor` multiplies its learning rate.

    A parameter with such a factor (a temperature, a scale) is not decayed, as zero is
    nothing special to it, unless its `decay_factor` says so. With `muon`, parameters
    that are `hidden_matrix` have a group of their own.
    """
    groups: dict[tuple[float, float, bool], list[nn.Parameter]] = {}
    for parameter in module.parameters():
        factor = getattr(parameter, "rate_factor", 1.0)
        share = getattr(parameter, "decay_factor", 1.0 if factor == 1.0 else 0.0)
        orthogonal = muon and getattr(parameter, "hidden_matrix", False)
        groups.setdefault((factor, share, orthogonal), []).append(parameter)
    return [
        {"params": parameters, "lr": rate * factor, "weight_decay": decay * share}
        | ({"orthogonal": True} if orthogonal else {})
        for (factor, share, orthogonal), parameters in groups.items()
    ]


def build_adamw(
    module: nn.Module,
    rate: float,
    decay: float,
    *,
    beta2: float = 0.999,
    muon: bool = False,
) -> AdamW:
    """AdamW: decoupled weight decay; with `muon`, Muon for hidden matrices."""
    return AdamW(_groups(module, rate, decay, muon=muon), betas=(0.9, beta2))


def build_sgd(module: nn.Module, rate: float, decay: float) -> Optimizer:
    """Plain stochastic gradient descent, without momentum, as in the paper's NCAv2."""
    return torch.optim.SGD(_groups(module, rate, decay))


def build_lbfgs(module: nn.Module, rate: float, decay: float) -> Optimizer:
    """L-BFGS with a line search, for full batches.

    It has no weight decay and no rates of single parameters.
    """
    parameters: Iterable[nn.Parameter] = module.parameters()
    return torch.optim.LBFGS(
        parameters, lr=rate, max_iter=10, line_search_fn="strong_wolfe"
    )


OPTIMIZERS: dict[str, Callable[[nn.Module, float, float], AdamW | Optimizer]] = {
    "adamw": build_adamw,
    "adamw-95": partial(build_adamw, beta2=0.95),
    "muon": partial(build_adamw, muon=True),
    "sgd": build_sgd,
    "lbfgs": build_lbfgs,
}
