"""Several networks of like shape, evaluated together: one product for all of them.

For a few rows a network costs the calls of its operations, not their arithmetic, and G
networks cost G times as many calls. Here each operation is batched over the networks.
Shapes: G networks, N rows, P numbers, Q plain columns, D dimensions.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from modernnca.core.network import Network
from modernnca.core.rows import Rows


def can_stack(networks: Sequence[Network]) -> bool:
    """Whether `StackedNetworks` can evaluate these networks together."""
    shapes = {
        (
            network.shape,
            network.config.encoding,
            network.config.column_scales == "none",
            *(network.config.n_frequencies, network.config.d_encoding),
            *(network.config.dim, network.config.d_block),
        )
        for network in networks
    }
    return len(shapes) == 1 and all(
        network.config.encoding in ("plr-lite", "none")
        and network.config.embedding in ("mlp", "linear")
        for network in networks
    )


class StackedNetworks:
    """Fitted networks in evaluation mode; they may differ in depth and transform."""

    def __init__(self, networks: Sequence[Network]) -> None:
        self.networks = tuple(networks)
        first = networks[0]
        self._transforms, self._which = _distinct(
            [network.transform for network in networks], first.log_temperature.device
        )
        self._scale = _stack(networks, lambda n: n.scale)  # (G, P)
        self._frequencies = None
        if first.config.encoding == "plr-lite":
            self._frequencies = _stack(networks, lambda n: n.encode.frequencies)
            self._encode_weight = _stack(networks, lambda n: n.encode.linear.weight)
            self._encode_bias = _stack(networks, lambda n: n.encode.linear.bias)
        self._weight = _stack(networks, lambda n: n.linear.weight)  # (G, D, J)
        self._bias = _stack(networks, lambda n: n.linear.bias)  # (G, D)
        self._plain_scale = _stack(networks, lambda n: n.linear.scale)  # (G, Q)
        self._levels = _stack(networks, _scaled_levels)  # (G, levels + 1, D)
        self._blocks = _stack_blocks(networks)

    def __call__(self, rows: Rows) -> Tensor:
        """Embed N rows with each network: (G, N, D)."""
        seen = torch.stack([transform(rows.numbers) for transform in self._transforms])
        numbers = seen[self._which]  # (G, N, P)
        if self._scale is not None:
            numbers = numbers * self._scale[:, None]
        parts = [self._encode(numbers)]
        if rows.plain.shape[1]:
            plain = rows.plain.expand(len(self.networks), -1, -1)
            scale = self._plain_scale
            parts.append(plain if scale is None else plain * scale[:, None])
        out = torch.baddbmm(self._bias[:, None], torch.cat(parts, 2), self._weight.mT)
        if rows.codes.shape[1]:
            out = out + self._levels[:, rows.codes].sum(2)
        for block in self._blocks:
            out = block(out)
        return out

    def _encode(self, numbers: Tensor) -> Tensor:
        """Encode (G, N, P) as (G, N, P * d)."""
        if self._frequencies is None:
            return numbers
        angles = 2 * math.pi * self._frequencies[:, None] * numbers[..., None]
        waves = torch.cat([angles.cos(), angles.sin()], -1)  # (G, N, P, 2F)
        encoded = torch.baddbmm(
            self._encode_bias[:, None], waves.flatten(1, 2), self._encode_weight.mT
        )
        return encoded.relu().unflatten(1, waves.shape[1:3]).flatten(2)


def _stack(networks: Sequence[Network], part: Callable[[Any], Any]) -> Any:
    """A part of all networks; None if they do not have it."""
    parts = [part(network) for network in networks]
    return None if parts[0] is None else torch.stack([p.detach() for p in parts])


def _scaled_levels(network: Network) -> Tensor:
    """What each level adds; the last, unknown one adds nothing."""
    levels = network.linear.levels.detach().clone()
    if network.linear.level_scale is not None:
        levels *= network.linear.level_scale[:, None]
    levels[-1] = 0.0
    return levels


def _distinct(
    transforms: Sequence[nn.Module], device: torch.device
) -> tuple[list[nn.Module], Tensor]:
    """The transforms that differ, and for each network which of them is its own."""
    found: list[nn.Module] = []
    which = []
    for transform in transforms:
        place = next((i for i, f in enumerate(found) if _equal(f, transform)), None)
        if place is None:
            place = len(found)
            found.append(transform)
        which.append(place)
    return found, torch.tensor(which, device=device)


def _equal(one: nn.Module, other: nn.Module) -> bool:
    """Whether two transforms are of one kind and have learned the same."""
    states = one.state_dict(), other.state_dict()
    return type(one) is type(other) and all(
        torch.equal(states[0][name], states[1][name]) for name in states[0]
    )


class _Affine:
    """x -> x * scale + shift in some of the networks: BatchNorm in evaluation."""

    def __init__(self, which: Tensor, norms: Sequence[Any]) -> None:
        self.which = which
        scales, shifts = [], []
        for norm in norms:
            scales.append(norm.weight / (norm.running_var + norm.eps).sqrt())
            shifts.append(norm.bias - norm.running_mean * scales[-1])
        self.scale, self.shift = torch.stack(scales), torch.stack(shifts)

    def apply(self, x: Tensor) -> Tensor:
        return torch.addcmul(self.shift[:, None], x, self.scale[:, None])

    def __call__(self, x: Tensor) -> Tensor:
        return x.index_copy(0, self.which, self.apply(x[self.which]))


class _Block(_Affine):
    """Norm, linear, ReLU, linear in some of the networks."""

    def __init__(self, which: Tensor, blocks: Sequence[Any]) -> None:
        super().__init__(which, [block[0] for block in blocks])
        first, last = ([block[i] for block in blocks] for i in (1, 4))
        self.weights = [torch.stack([m.weight for m in ms]) for ms in (first, last)]
        self.biases = [torch.stack([m.bias for m in ms]) for ms in (first, last)]

    def apply(self, x: Tensor) -> Tensor:
        x = super().apply(x)
        x = torch.baddbmm(self.biases[0][:, None], x, self.weights[0].mT).relu_()
        return torch.baddbmm(self.biases[1][:, None], x, self.weights[1].mT)


def _stack_blocks(networks: Sequence[Network]) -> list[_Affine]:
    """The blocks in order, each for the networks that are so deep, then the norms."""
    device = networks[0].log_temperature.device
    stacked: list[_Affine] = []
    lists: list[list[Any]] = [list(network.blocks.children()) for network in networks]
    for depth in range(max(len(parts) for parts in lists)):
        deep = [i for i, parts in enumerate(lists) if depth < len(parts) - 1]
        if deep:
            which = torch.tensor(deep, device=device)
            stacked.append(_Block(which, [lists[i][depth] for i in deep]))
    normed = [i for i, parts in enumerate(lists) if parts]
    if normed:
        which = torch.tensor(normed, device=device)
        stacked.append(_Affine(which, [lists[i][-1] for i in normed]))
    return stacked
