"""Several networks of like shape as one module: each operation is batched over them.

A network for a table is small: it costs the calls of its operations more than their
arithmetic, and G networks cost G times as many calls. A stack holds the parameters of G
networks side by side, so that all of them are trained, or evaluated, by the same calls.
What each learns does not depend on the others. They may differ in depth, in the
transform of numbers and in everything that is drawn at random.

Shapes: G networks, N rows, P numbers, Q plain columns, D dimensions, K knots, d outputs
of the encoding of a number.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm

from modernnca.core.embeddings import Dropout
from modernnca.core.fused_block import BlockWeights, NormState, fused_blocks
from modernnca.core.network import Network
from modernnca.core.row_sum import sum_rows
from modernnca.core.rows import Rows

_MARKS = ("rate_factor", "decay_factor", "hidden_matrix")  # of a parameter


def can_stack(networks: Sequence[Network]) -> bool:
    """Whether a `NetworkStack` can hold these networks."""
    shapes = {
        (
            network.shape,
            network.config.encoding,
            network.config.column_scales == "none",
            *(network.config.n_frequencies, network.config.d_encoding),
            *(network.config.dim, network.config.d_block, network.config.dropout),
            isinstance(network.log_temperature, nn.Parameter),
        )
        for network in networks
    }
    return len(shapes) == 1 and all(
        network.config.encoding in ("plr-lite", "none")
        and network.config.embedding in ("mlp", "linear")
        for network in networks
    )


class NetworkStack(nn.Module):
    """Networks side by side, in training or in evaluation mode.

    The parameters are copies; `write_back` brings them into the networks.

    >>> from modernnca.core.network import InputShape, NetworkConfig
    >>> config = NetworkConfig.defaults().updated({"dim": 8})
    >>> networks = [Network(config, InputShape(2, 0, 0)) for _ in range(3)]
    >>> none = torch.zeros(5, 0)
    >>> stack = NetworkStack(networks)
    >>> stack(Rows(torch.zeros(5, 2), none, none.long())).shape
    torch.Size([3, 5, 8])
    """

    log_temperature: Tensor

    def __init__(self, networks: Sequence[Network]) -> None:
        super().__init__()
        self.networks = tuple(networks)  # not modules of this one
        first = networks[0]
        device = first.log_temperature.device
        self.shape, self.config = first.shape, first.config
        self._transforms, which = _distinct([n.transform for n in networks])
        self._which = torch.tensor(which, device=device)
        self._copied: list[tuple[Tensor, list[Tensor]]] = []
        self._knots: Tensor | None = None
        self.scale = self._stack(lambda n: n.scale)  # (G, P)
        self.frequencies = None
        if first.config.encoding == "plr-lite":
            self.frequencies = self._stack(lambda n: n.encode.frequencies)  # (G, P, F)
            self.encode_weight = self._stack(lambda n: n.encode.linear.weight)
            self.encode_bias = self._stack(lambda n: n.encode.linear.bias)  # (G, d)
        self.weight = self._stack(lambda n: n.linear.weight)  # (G, D, P * d + Q)
        self.bias = self._stack(lambda n: n.linear.bias)  # (G, D)
        self.plain_scale = self._stack(lambda n: n.linear.scale)  # (G, Q)
        self.levels = self._stack(lambda n: n.linear.levels)  # (G, levels + 1, D)
        self.level_scale = self._stack(lambda n: n.linear.level_scale)
        self.blocks = nn.ModuleList(self._stacked_blocks())
        self.log_temperature = self._stack(lambda n: n.log_temperature)  # (G,)
        self.train(first.training)

    def _stack(
        self, part: Callable[[Any], Tensor | None], some: Sequence[Any] | None = None
    ) -> Any:
        """A part of all networks (or of some modules); None if they have none."""
        parts = [part(each) for each in (self.networks if some is None else some)]
        if any(each is None for each in parts):
            return None
        known: list[Tensor] = [each for each in parts if each is not None]
        stacked = torch.stack([each.detach() for each in known])
        if isinstance(known[0], nn.Parameter):
            stacked = nn.Parameter(stacked, requires_grad=known[0].requires_grad)
            for mark in _MARKS:
                if hasattr(known[0], mark):
                    setattr(stacked, mark, getattr(known[0], mark))
        self._copied.append((stacked, known))
        return stacked

    def _stacked_blocks(self) -> Iterator[nn.Module]:
        """The blocks in order, each for the networks so deep; then the norms."""
        lists: list[list[Any]] = [list(n.blocks.children()) for n in self.networks]
        for depth in range(max(len(parts) for parts in lists)):
            deep = [i for i, parts in enumerate(lists) if depth < len(parts) - 1]
            if deep:
                yield _Block(self._stack, deep, [lists[i][depth] for i in deep])
        normed = [i for i, parts in enumerate(lists) if parts]
        if normed:
            yield _Norm(self._stack, normed, [lists[i][-1] for i in normed])

    @torch.no_grad()
    def write_back(self) -> None:
        """Copy the parameters and the running statistics into the networks."""
        for stacked, parts in self._copied:
            for part, value in zip(parts, stacked, strict=True):
                part.copy_(value)

    @property
    def temperature(self) -> Tensor:
        """What the distances of each network are divided by: (G,)."""
        return self.log_temperature.exp()

    def draw_dropout_from(self, generator: torch.Generator | None) -> None:
        """Let dropout draw from `generator`, which is on the device of the stack."""
        for module in self.modules():
            if isinstance(module, Dropout):
                module.generator = generator

    def forward(self, rows: Rows) -> Tensor:
        """Embed N rows with each network: (G, N, D)."""
        encoded = self._encode(self.transformed(rows.numbers)).flatten(2)
        n_first = encoded.shape[2]
        out = torch.bmm(encoded, self.weight[:, :, :n_first].mT)  # (G, N, D)
        return self._embed(out.transpose(0, 1), rows)

    def transformed(self, numbers: Tensor) -> Tensor:
        """What each network sees of numbers (N, P), before its scales: (G, N, P)."""
        seen = torch.stack([transform(numbers) for transform in self._transforms])
        return seen[self._which]

    def _encode(self, seen: Tensor) -> Tensor:
        """Encode transformed numbers (G, N, P): (G, N, P, d)."""
        if self.scale is not None:
            seen = seen * self.scale[:, None]
        if self.frequencies is None:
            return seen[..., None]
        angles = 2 * math.pi * self.frequencies[:, None] * seen[..., None]
        waves = torch.cat([angles.cos(), angles.sin()], -1).flatten(1, 2)
        encoded = torch.baddbmm(self.encode_bias[:, None], waves, self.encode_weight.mT)
        return encoded.relu().unflatten(1, seen.shape[1:])

    def knot_table(self, knots: Tensor) -> Tensor:
        """What a cell that lies on a knot adds to the first layers: (P * K, G * D).

        See `kernels.knots`; `knots` is (K, P).
        """
        if self._knots is not knots:  # transforms do not learn: once is enough
            self._knots, self._seen_knots = knots, self.transformed(knots)
        encoded = self._encode(self._seen_knots)  # (G, K, P, d)
        n_networks, _, n_columns, _ = encoded.shape
        weight = self.weight[:, :, : encoded[0, 0].numel()]
        weight = weight.unflatten(2, (n_columns, -1))  # (G, D, P, d)
        table = torch.bmm(
            encoded.permute(2, 0, 1, 3).flatten(0, 1),  # (P * G, K, d)
            weight.permute(2, 0, 3, 1).flatten(0, 1),  # (P * G, d, D)
        )
        table = table.unflatten(0, (n_columns, n_networks)).transpose(1, 2)
        return table.flatten(2).flatten(0, 1)

    def forward_cells(self, summed: Tensor, rows: Rows) -> Tensor:
        """Embed N rows, given the sums over their encoded numbers (N, G * D)."""
        return self._embed(summed.unflatten(1, (len(self.networks), -1)), rows)

    def _embed(self, out: Tensor, rows: Rows) -> Tensor:
        """From the sums over encoded numbers (N, G, D) to embeddings (G, N, D)."""
        out = out + self.bias
        if n_plain := rows.plain.shape[1]:
            plain = rows.plain.expand(len(self.networks), -1, -1)
            if self.plain_scale is not None:
                plain = plain * self.plain_scale[:, None]
            added = torch.bmm(plain, self.weight[:, :, -n_plain:].mT)
            out = out + added.transpose(0, 1)
        if rows.codes.shape[1]:
            levels = self.levels
            if self.level_scale is not None:
                levels = levels * self.level_scale[..., None]
            n_levels, table = levels.shape[1], levels.transpose(0, 1).flatten(1)
            added = sum_rows(table, rows.codes, padding_idx=n_levels - 1)
            out = out + added.unflatten(1, out.shape[1:])
        if out.device.type == "cpu":
            return self._through_blocks(out)
        for block in self.blocks:
            out = block(out)
        return out.transpose(0, 1).contiguous()

    def _through_blocks(self, out: Tensor) -> Tensor:
        """The same as all `blocks`, network by network, on a CPU: (G, N, D)."""
        parts = list(out.transpose(0, 1).contiguous().unbind(0))
        for block in self.blocks:
            assert isinstance(block, _Norm)
            changed = block.apply_to_each([parts[place] for place in block.which])
            for place, part in zip(block.which, changed, strict=True):
                parts[place] = part
        return torch.stack(parts)


class _Norm(nn.Module):
    """BatchNorm in some of the networks."""

    def __init__(
        self, stack: Callable[..., Any], which: list[int], norms: Sequence[Any]
    ) -> None:
        super().__init__()
        self.which = which
        self.eps, self.momentum = norms[0].eps, norms[0].momentum
        self.weight = stack(lambda n: n.weight, norms)  # (G, D)
        self.bias = stack(lambda n: n.bias, norms)
        self.register_buffer("running_mean", stack(lambda n: n.running_mean, norms))
        self.register_buffer("running_var", stack(lambda n: n.running_var, norms))

    def normalize(self, x: Tensor) -> Tensor:
        """Normalize (N, G, D)."""
        mean, var = self.running_mean, self.running_var
        assert isinstance(mean, Tensor)
        assert isinstance(var, Tensor)
        flat = batch_norm(
            x.flatten(1),
            mean.view(-1),
            var.view(-1),
            self.weight.flatten(),
            self.bias.flatten(),
            training=self.training,
            momentum=self.momentum,
            eps=self.eps,
        )
        return flat.unflatten(1, x.shape[1:])

    def apply_to(self, x: Tensor) -> Tensor:
        """What becomes of the networks that have this part: (N, G, D)."""
        return self.normalize(x)

    def apply_to_each(self, parts: list[Tensor]) -> list[Tensor]:
        """The same for the (N, D) of each of these networks, on a CPU."""
        return list(self.normalize(torch.stack(parts, 1)).unbind(1))

    def forward(self, x: Tensor) -> Tensor:
        """Change (N, G, D) in the networks that have this part."""
        if len(self.which) == x.shape[1]:
            return self.apply_to(x)
        parts = list(x.unbind(1))  # an index would be copied from the CPU
        some = torch.stack([parts[place] for place in self.which], 1)
        changed = self.apply_to(some).unbind(1)
        for place, part in zip(self.which, changed, strict=True):
            parts[place] = part
        return torch.stack(parts, 1)


class _Block(_Norm):
    """Norm, linear, ReLU, dropout, linear in some of the networks."""

    def __init__(
        self, stack: Callable[..., Any], which: list[int], blocks: Sequence[Any]
    ) -> None:
        super().__init__(stack, which, [block[0] for block in blocks])
        self.first_weight = stack(lambda b: b[1].weight, blocks)  # (G, H, D)
        self.first_bias = stack(lambda b: b[1].bias, blocks)
        self.dropout = Dropout(blocks[0][3].p)
        self.last_weight = stack(lambda b: b[4].weight, blocks)  # (G, D, H)
        self.last_bias = stack(lambda b: b[4].bias, blocks)

    def apply_to(self, x: Tensor) -> Tensor:
        """One block of each network: (N, G, D)."""
        x = self.normalize(x).transpose(0, 1)  # (G, N, D)
        hidden = torch.baddbmm(self.first_bias[:, None], x, self.first_weight.mT)
        hidden = self.dropout(hidden.relu_())
        out = torch.baddbmm(self.last_bias[:, None], hidden, self.last_weight.mT)
        return out.transpose(0, 1)

    def apply_to_each(self, parts: list[Tensor]) -> list[Tensor]:
        """One block of each network, (N, D) each."""
        mean, var = self.running_mean, self.running_var
        assert isinstance(mean, Tensor)
        assert isinstance(var, Tensor)
        drops, p = self.training and self.dropout.p > 0, self.dropout.p
        shape = (len(parts), len(parts[0]), self.first_bias.shape[1])
        return fused_blocks(
            parts,
            BlockWeights(
                self.weight,
                self.bias,
                self.first_weight,
                self.first_bias,
                self.last_weight,
                self.last_bias,
            ),
            NormState(mean, var, self.momentum, self.eps, self.training),
            self.dropout.factors(shape) if drops else None,
            1 - p,
        )


def _distinct(transforms: Sequence[nn.Module]) -> tuple[list[nn.Module], list[int]]:
    """The transforms that differ, and for each network which of them is its own."""
    found: list[nn.Module] = []
    which = []
    for transform in transforms:
        place = next((i for i, f in enumerate(found) if _equal(f, transform)), None)
        if place is None:
            place = len(found)
            found.append(transform)
        which.append(place)
    return found, which


def _equal(one: nn.Module, other: nn.Module) -> bool:
    """Whether two transforms are of one kind and have learned the same."""
    states = one.state_dict(), other.state_dict()
    return type(one) is type(other) and all(
        torch.equal(states[0][name], states[1][name]) for name in states[0]
    )
