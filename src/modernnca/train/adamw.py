"""AdamW, and Muon for the matrices of hidden layers.

Muon (Jordan et al., 2024) replaces the momentum of a matrix by the nearest orthogonal
matrix, so that all directions learn at the same rate. A network then needs about half
of the steps (docs/performance.md).

Why not torch's AdamW: its first step imports torch's compiler (three seconds in a new
process), on a GPU it gives 65,536 numbers to one processor, and its rate cannot change
within a captured step. The arithmetic is the same, and tests hold it to torch's.
"""

import importlib.util
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

_N_AT_ONCE = 1024  # numbers that one program of the kernel updates
_EPS = 1e-8
# The coefficients of steps that bring singular values near 1. Three steps do what five
# do, except for values below 0.02 of the largest, at three fifths of the time.
_NEWTON_SCHULZ, _N_ITERATIONS = (3.4445, -4.7750, 2.0315), 3
_MUON_RATE = 3.0  # an orthogonal matrix is a small step: times the learning rate

if importlib.util.find_spec("triton") is not None:
    from modernnca.train.triton_adamw import update

    _INSTALLED = True
else:
    _INSTALLED = False


def supported(parameters: Sequence[Tensor]) -> bool:
    """Whether the Triton kernel can update these parameters."""
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    return _INSTALLED and all(
        (each.is_cuda or interpreted)
        and each.dtype == torch.float32
        and each.is_contiguous()
        for each in parameters
    )


class AdamW:
    """AdamW with decoupled weight decay; groups with `orthogonal` are updated by Muon.

    Args:
        groups: dicts of params, lr, weight_decay and maybe orthogonal. `lr` and
            `weight_decay` may change between steps.
        betas: the decay of the moments.

    >>> weight = torch.nn.Parameter(torch.ones(2))
    >>> group = {"params": [weight], "lr": 0.1, "weight_decay": 0.0}
    >>> _ = AdamW([group]).step(lambda: weight.sum().backward())
    >>> weight.detach()
    tensor([0.9000, 0.9000])
    """

    def __init__(
        self,
        groups: list[dict[str, Any]],
        betas: tuple[float, float] = (0.9, 0.999),
    ) -> None:
        self.param_groups = [{"orthogonal": False, **group} for group in groups]
        self.defaults = {"betas": betas}
        self.parameters = [p for group in groups for p in group["params"]]
        first = self.parameters[0]
        self.device, self._by_kernel = first.device, supported(self.parameters)
        self.n_steps = torch.zeros((), device=self.device)
        self.moments = [
            torch.zeros_like(p, requires_grad=False) for p in self.parameters
        ]
        self.squares = [
            torch.zeros_like(p, requires_grad=False) for p in self.parameters
        ]
        # On a device, where a captured step reads them: rate and decay of each group.
        self._rates = torch.zeros(len(groups), 2, device=self.device)
        self._pushed: list[list[float]] = []
        self.push_rates()

    def push_rates(self) -> None:
        """Let the next step, maybe a captured one, have the groups' present rates."""
        rates = [[group["lr"], group["weight_decay"]] for group in self.param_groups]
        if rates != self._pushed and (self._by_kernel or self.device.type != "cpu"):
            self._pushed = rates
            self._rates.copy_(torch.tensor(rates), non_blocking=True)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:
        """Update all parameters that have a gradient; return the closure's loss."""
        with torch.enable_grad():
            loss = closure()
        if (
            not torch.cuda.is_available()
            or not torch.cuda.is_current_stream_capturing()
        ):
            self.push_rates()
        self.n_steps += 1
        first = 0
        for number, group in enumerate(self.param_groups):
            places = range(first, first + len(group["params"]))
            first = places.stop
            used = [i for i in places if self.parameters[i].grad is not None]
            if used and group["orthogonal"]:
                self._update_by_muon(used, number)
            elif used and self._by_kernel:
                self._update_by_kernel(used, number)
            elif used:
                self._update(used, number)
        return loss

    def _rate_and_decay(self, number: int) -> tuple[Any, Any]:
        """Of a group: numbers on a CPU, elsewhere tensors."""
        if self.device.type == "cpu":
            group = self.param_groups[number]
            return group["lr"], group["weight_decay"]
        rate, decay = self._rates[number]
        return rate, decay

    def _update(self, used: list[int], number: int) -> None:
        """AdamW with torch's operations."""
        parameters, gradients, moments, squares = self._parts(used)
        (beta1, beta2), (rate, decay) = (
            self.defaults["betas"],
            self._rate_and_decay(number),
        )
        if self.device.type == "cpu":
            self._update_fused(parameters, gradients, moments, squares, rate, decay)
            return
        n_steps = self.n_steps
        # The averages begin at zero and are too small at first.
        correction1, correction2 = 1 - beta1**n_steps, (1 - beta2**n_steps) ** 0.5
        torch._foreach_lerp_(moments, gradients, 1 - beta1)
        torch._foreach_mul_(squares, beta2)
        torch._foreach_addcmul_(squares, gradients, gradients, 1 - beta2)
        steps = torch._foreach_sqrt(squares)
        torch._foreach_div_(steps, correction2)
        torch._foreach_add_(steps, _EPS)
        steps = torch._foreach_div(moments, steps)
        torch._foreach_mul_(steps, rate / correction1)
        torch._foreach_mul_(parameters, 1 - rate * decay)
        torch._foreach_sub_(parameters, steps)

    def _update_fused(
        self,
        parameters: list[Tensor],
        gradients: list[Tensor],
        moments: list[Tensor],
        squares: list[Tensor],
        rate: float,
        decay: float,
    ) -> None:
        """AdamW with torch's fused operation: one pass over each parameter."""
        beta1, beta2 = self.defaults["betas"]
        torch._fused_adamw_(
            parameters,
            gradients,
            moments,
            squares,
            [],
            [self.n_steps] * len(parameters),
            amsgrad=False,
            lr=rate,
            beta1=beta1,
            beta2=beta2,
            weight_decay=decay,
            eps=_EPS,
            maximize=False,
        )

    def _update_by_kernel(self, used: list[int], number: int) -> None:
        """AdamW with one kernel launch for each parameter."""
        for parameter, gradient, moment, square in zip(*self._parts(used), strict=True):
            size = parameter.numel()
            update[(-(-size // _N_AT_ONCE),)](
                parameter,
                gradient.contiguous(),
                moment,
                square,
                self.n_steps,
                self._rates[number],
                *self.defaults["betas"],
                _EPS,
                size,
                n_at_once=_N_AT_ONCE,
            )

    def _update_by_muon(self, used: list[int], number: int) -> None:
        """Muon: a step along the nearest orthogonal matrix."""
        parameters, gradients, moments, _ = self._parts(used)
        rate, decay = self._rate_and_decay(number)
        torch._foreach_lerp_(moments, gradients, 1 - self.defaults["betas"][0])
        torch._foreach_mul_(parameters, 1 - rate * decay)
        for parameter, step in zip(parameters, orthogonalize(moments), strict=True):
            n_out, n_in = parameter.shape[-2:]
            scale = _MUON_RATE * max(1.0, n_in / n_out) ** 0.5
            parameter.sub_(step * (rate * scale))

    def _parts(self, used: list[int]) -> tuple[list[Tensor], ...]:
        """Parameters, gradients and both averages of these parameters."""
        parameters = [self.parameters[i].detach() for i in used]
        gradients = [self.parameters[i].grad for i in used]
        moments, squares = (
            [averages[i] for i in used] for averages in (self.moments, self.squares)
        )
        return parameters, gradients, moments, squares

    def state_dict(self) -> dict[str, Any]:
        """Steps, averages and rates, for a checkpoint; it moves on, so keep a copy."""
        return {
            "n_steps": self.n_steps,
            "moments": self.moments,
            "squares": self.squares,
            "rates": [[g["lr"], g["weight_decay"]] for g in self.param_groups],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        self.n_steps.copy_(state["n_steps"])
        for own, kept in (
            (self.moments, state["moments"]),
            (self.squares, state["squares"]),
        ):
            for average, value in zip(own, kept, strict=True):
                average.copy_(value)
        for group, rates in zip(self.param_groups, state["rates"], strict=True):
            group["lr"], group["weight_decay"] = rates
        self.push_rates()


def orthogonalize(matrices: Sequence[Tensor]) -> list[Tensor]:
    """Bring all singular values of the matrices near 1, by Newton-Schulz iterations.

    Matrices of one shape, or its transpose, are multiplied together. One may as well be
    a stack of matrices, (n, out, in).

    >>> found = orthogonalize([torch.diag(torch.tensor([1.0, 5.0]))])[0]
    >>> bool((found.diag() - 1).abs().max() < 0.35)
    True
    """
    wide = [m if m.shape[-2] <= m.shape[-1] else m.mT for m in matrices]
    found: list[Tensor] = list(matrices)
    for shape in dict.fromkeys(m.shape[-2:] for m in wide):
        places = [i for i, m in enumerate(wide) if m.shape[-2:] == shape]
        parts = [wide[i].reshape(-1, *shape) for i in places]
        x = torch.cat(parts)  # (n, out, in)
        x = x / (torch.linalg.matrix_norm(x, keepdim=True) + math.sqrt(_EPS) / 1e3)
        # Each step multiplies x by a polynomial of x x', so all of them together do:
        # products of small squares, at three fifths of the time of steps on x.
        a, b, c = _NEWTON_SCHULZ
        gram, factors = x @ x.mT, []  # (n, out, out)
        for _ in range(_N_ITERATIONS):
            factor = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
            factor.diagonal(dim1=1, dim2=2).add_(a)
            factors.append(factor)
            if len(factors) < _N_ITERATIONS:
                gram = factor @ gram @ factor
        for factor in factors[1:]:
            factors[0] = factor @ factors[0]
        x = factors[0] @ x
        results = x.split([len(part) for part in parts])
        for place, result in zip(places, results, strict=True):
            same = matrices[place].shape[-2:] == shape
            result = result if same else result.mT
            found[place] = result.reshape(matrices[place].shape)
    return found
