"""The embedding phi behind the encoding: a linear layer and blocks, by name."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from modernnca._config import COUNT, FRACTION, Config, Number, option
from modernnca.core.init import Linear, uniform
from modernnca.core.row_sum import sum_rows

Generator = torch.Generator | None
_POOL_SIZE = 2**20 + 7  # odd, so that rows do not meet the same draws again


class CodedLinear(nn.Module):
    """A linear layer over numbers and one-hot levels that never builds the one-hots.

    Equal to `nn.Linear` on [numbers, one-hot levels]: a one-hot row picks a row of the
    weight, so it is looked up. All columns share the levels 0..n_levels-1; the code
    n_levels means "unknown" and adds nothing. The last `n_scaled` numbers and all
    levels can have a learned scale.

    >>> layer = CodedLinear(d_in=2, n_levels=5, d_out=3)
    >>> layer(torch.zeros(4, 2), torch.tensor([[0, 5]] * 4)).shape
    torch.Size([4, 3])
    """

    def __init__(
        self,
        *,
        d_in: int,
        n_levels: int,
        d_out: int,
        n_scaled: int | None = None,
        generator: Generator = None,
    ) -> None:
        super().__init__()
        bound = max(d_in + n_levels, 1) ** -0.5  # as nn.Linear on all of them
        self.weight = uniform((d_out, d_in), bound, generator)
        # One more row than levels: the unknown level, which is never summed.
        self.levels = uniform((n_levels + 1, d_out), bound, generator)
        self.bias = uniform((d_out,), bound, generator)
        self.scale: nn.Parameter | None = None  # of the last numbers; of the levels
        self.level_scale: nn.Parameter | None = None
        if n_scaled is not None:
            self.scale = learned_scale(n_scaled)
            self.level_scale = learned_scale(n_levels + 1)

    @torch.no_grad()
    def init_scales(self, numbers: Tensor, columns: Tensor, codes: Tensor) -> None:
        """Set the scales of the last numbers, and of the columns of codes (N, C)."""
        assert self.scale is not None
        assert self.level_scale is not None
        self.scale.copy_(numbers)
        self.level_scale[codes] = columns.expand_as(codes)

    def forward(self, x: Tensor, codes: Tensor) -> Tensor:
        """Map numbers (N, d_in) and codes (N, C) to (N, d_out)."""
        if self.scale is not None and len(self.scale):
            first = x.shape[1] - len(self.scale)
            x = torch.cat([x[:, :first], x[:, first:] * self.scale], 1)
        return self._add_levels(linear(x, self.weight, self.bias), codes)

    def add_last(self, out: Tensor, x: Tensor, codes: Tensor) -> Tensor:
        """Add the bias, the last numbers (N, d <= d_in) and codes to `out`, in place.

        What `forward` gives if `out` holds the sum over all earlier numbers.
        """
        out = out.add_(self.bias)
        if x.shape[1]:
            x = x if self.scale is None else x * self.scale
            out = out.addmm_(x, self.weight[:, self.weight.shape[1] - x.shape[1] :].T)
        return self._add_levels(out, codes)

    def known_levels(self) -> Tensor:
        """What each level adds, (n_levels + 1, d_out); the unknown level nothing."""
        levels = self._scaled_levels()
        return torch.cat([levels[:-1], torch.zeros_like(levels[-1:])])

    def _scaled_levels(self) -> Tensor:
        if self.level_scale is None:
            return self.levels
        return self.levels * self.level_scale[:, None]

    def _add_levels(self, out: Tensor, codes: Tensor) -> Tensor:
        if codes.shape[1] == 0:
            return out
        levels = self._scaled_levels()
        return out.add_(sum_rows(levels, codes, padding_idx=len(levels) - 1))


def learned_scale(n_columns: int) -> nn.Parameter:
    """A factor for each column, 1 at first; it learns fast, as it acts on many weights.

    >>> learned_scale(2)
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """
    scale = nn.Parameter(torch.ones(n_columns))
    scale.rate_factor = 6.0  # type: ignore[attr-defined]
    return scale


@dataclass(frozen=True, kw_only=True)
class BlockConfig(Config):
    """The blocks behind the first linear layer."""

    dim: int = option(64, COUNT, "Size of the embedding.")
    n_blocks: int = option(
        1, Number(0, integer=True), "Blocks of phi; with none it is linear."
    )
    d_block: int = option(256, COUNT, "Width of the blocks.")
    dropout: float = option(0.1, FRACTION, "Dropout in the blocks.")


class Dropout(nn.Dropout):
    """Dropout from a generator of its own; on a CPU, from a pool of draws.

    There random numbers took a quarter of a step. So a million of them are drawn once,
    and each call takes a part of them that begins at a random place. `generator` must
    be on the device of the rows.
    """

    generator: Generator = None

    def forward(self, x: Tensor) -> Tensor:
        """Zero some of `x` (N, D) and scale the rest up."""
        if not self.training or self.p == 0:
            return x
        if x.device.type == "cpu":
            return x * self.factors(x.shape)
        draws = torch.rand(x.shape, device=x.device, generator=self.generator)
        return x * (draws >= self.p).to(x.dtype).mul_(1 / (1 - self.p))

    def factors(self, shape: Sequence[int]) -> Tensor:
        """Factors, zeros and others, from a random place of the pool."""
        pool, n = _pool(self.p), math.prod(shape)
        first = int(torch.randint(_POOL_SIZE, (), generator=self.generator))
        if first + n <= len(pool):
            return pool[first : first + n].view(*shape)
        n_times = -(-(first + n) // len(pool))
        return pool.repeat(n_times)[first : first + n].view(*shape)


@cache
def _pool(p: float) -> Tensor:
    """The factors of dropout, twice over; the same in every process."""
    draws = torch.rand(_POOL_SIZE, generator=torch.Generator().manual_seed(0))
    return (draws >= p).float().mul_(1 / (1 - p)).repeat(2)


def _block(
    norm: Callable[[int], nn.Module], config: BlockConfig, generator: Generator
) -> nn.Sequential:
    """g(x) = Linear(Dropout(ReLU(Linear(norm(x))))): equation 5 of the paper."""
    first = Linear(config.dim, config.d_block, generator)
    last = Linear(config.d_block, config.dim, generator)
    for layer in (first, last):  # what Muon may orthogonalize
        layer.weight.hidden_matrix = True  # type: ignore[attr-defined]
    return nn.Sequential(
        norm(config.dim), first, nn.ReLU(), Dropout(config.dropout), last
    )


class Residual(nn.Module):
    """A block with a link from its input to its output."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: Tensor) -> Tensor:
        """Add the output of the block to `x`, (N, D)."""
        return x + self.block(x)


def _stack(
    norm: Callable[[int], nn.Module],
    config: BlockConfig,
    generator: Generator,
    *,
    residual: bool = False,
) -> nn.Module:
    """The blocks one after another and a last norm; without blocks, nothing."""
    if config.n_blocks == 0:
        return nn.Identity()
    blocks: list[nn.Module] = [
        _block(norm, config, generator) for _ in range(config.n_blocks)
    ]
    if residual:
        blocks = [Residual(block) for block in blocks]
    return nn.Sequential(*blocks, norm(config.dim))


def build_linear(config: BlockConfig, generator: Generator = None) -> nn.Module:
    """Nothing behind the first linear layer."""
    return nn.Identity()


def build_mlp(config: BlockConfig, generator: Generator = None) -> nn.Module:
    """The paper's blocks, with BatchNorm."""
    return _stack(nn.BatchNorm1d, config, generator)


def build_layernorm(config: BlockConfig, generator: Generator = None) -> nn.Module:
    """The same with LayerNorm."""
    return _stack(nn.LayerNorm, config, generator)


def build_residual(config: BlockConfig, generator: Generator = None) -> nn.Module:
    """The paper's blocks, each with a residual link."""
    return _stack(nn.BatchNorm1d, config, generator, residual=True)


EMBEDDINGS: dict[str, Callable[[BlockConfig, Generator], nn.Module]] = {
    "linear": build_linear,
    "mlp": build_mlp,
    "layernorm": build_layernorm,
    "residual": build_residual,
}
