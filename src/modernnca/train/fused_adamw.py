"""AdamW on a GPU, with one kernel launch for each parameter.

torch's fused AdamW gives 65,536 numbers to one processor, which suits many large
matrices: for a network of 75,000 numbers two of 132 processors worked, and the update
took 62 of the 930 microseconds of a step (28,934 rows x 16 columns, H200). Here each
takes a thousand. The state and the arithmetic are torch's own.
"""

import importlib.util
import os
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim import AdamW

_N_AT_ONCE = 1024

if importlib.util.find_spec("triton") is not None:
    from modernnca.train.triton_adamw import update

    _INSTALLED = True
else:
    _INSTALLED = False


def supported(parameters: Sequence[Tensor]) -> bool:
    """Whether the kernel can update these parameters."""
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    return _INSTALLED and all(
        (each.is_cuda or interpreted)
        and each.dtype == torch.float32
        and each.is_contiguous()
        for each in parameters
    )


class FusedAdamW(AdamW):
    """torch's AdamW for float32 parameters, without its options."""

    def __init__(
        self, groups: list[dict[str, Any]], betas: tuple[float, float]
    ) -> None:
        super().__init__(groups, betas=betas, fused=True)  # for the layout of its state

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Update all parameters that have a gradient; return the closure's loss."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        updated = [
            (parameter, group)
            for group in self.param_groups
            for parameter in group["params"]
            if parameter.grad is not None
        ]
        for parameter, _ in updated:
            state = self.state[parameter]
            if not state:
                state["step"] = torch.zeros((), device=parameter.device)
                state["exp_avg"] = torch.zeros_like(parameter)
                state["exp_avg_sq"] = torch.zeros_like(parameter)
        torch._foreach_add_([self.state[each]["step"] for each, _ in updated], 1)
        for parameter, group in updated:
            state, size = self.state[parameter], parameter.numel()
            update[(-(-size // _N_AT_ONCE),)](
                parameter,
                parameter.grad.contiguous(),
                state["exp_avg"],
                state["exp_avg_sq"],
                state["step"],
                group["lr"],
                group["weight_decay"],
                *group["betas"],
                group["eps"],
                size,
                n_at_once=_N_AT_ONCE,
            )
        return loss
