"""Optimizers, by name."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from modernnca.train.fused_adamw import FusedAdamW, supported


def _groups(module: nn.Module, rate: float, decay: float) -> list[dict[str, Any]]:
    """Parameter groups; a parameter's `rate_factor` multiplies its learning rate.

    A parameter with such a factor (a temperature, a scale) is not decayed, as zero is
    nothing special to it, unless its `decay_factor` says so.
    """
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for parameter in module.parameters():
        factor = getattr(parameter, "rate_factor", 1.0)
        share = getattr(parameter, "decay_factor", 1.0 if factor == 1.0 else 0.0)
        groups.setdefault((factor, share), []).append(parameter)
    return [
        {"params": parameters, "lr": rate * factor, "weight_decay": decay * share}
        for (factor, share), parameters in groups.items()
    ]


def build_adamw(
    module: nn.Module, rate: float, decay: float, *, beta2: float = 0.999
) -> Optimizer:
    """AdamW: decoupled weight decay."""
    groups, betas = _groups(module, rate, decay), (0.9, beta2)
    parameters = list(module.parameters())
    if supported(parameters):
        return FusedAdamW(groups, betas=betas)
    # One kernel for all parameters; on a CPU torch's own choice is as fast.
    on_gpu = parameters[0].device.type == "cuda"
    return torch.optim.AdamW(groups, betas=betas, fused=on_gpu or None)


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


OPTIMIZERS: dict[str, Callable[[nn.Module, float, float], Optimizer]] = {
    "adamw": build_adamw,
    "adamw-95": partial(build_adamw, beta2=0.95),
    "sgd": build_sgd,
    "lbfgs": build_lbfgs,
}
