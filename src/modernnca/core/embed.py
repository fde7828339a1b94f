"""Encoded columns to the space of neighbors: phi and its blocks, by name."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from modernnca.core.lookup import sum_rows


class CodedLinear(nn.Module):
    """A linear layer over numbers and one-hot levels that never builds the one-hots.

    Equal to `nn.Linear` on [numbers, one-hot levels]: a one-hot row picks a row of the
    weight, so it is looked up. All columns share the levels 0..n_levels-1; the code
    n_levels means "none of the known" and adds nothing. The last `n_scaled` numbers and
    all levels can have a scale of their own, which is learned.

    >>> layer = CodedLinear(d_in=2, n_levels=5, d_out=3)
    >>> layer(torch.zeros(4, 2), torch.tensor([[0, 5]] * 4)).shape
    torch.Size([4, 3])
    """

    def __init__(
        self, *, d_in: int, n_levels: int, d_out: int, n_scaled: int | None = None
    ) -> None:
        super().__init__()
        bound = max(d_in + n_levels, 1) ** -0.5  # as nn.Linear on all of them
        self.weight = nn.Parameter(torch.empty(d_out, d_in).uniform_(-bound, bound))
        # One row more than there are levels: the unknown one, which is never summed.
        self.levels = nn.Parameter(
            torch.empty(n_levels + 1, d_out).uniform_(-bound, bound)
        )
        self.bias = nn.Parameter(torch.empty(d_out).uniform_(-bound, bound))
        self.scale: nn.Parameter | None = None  # of the last numbers; of the levels
        self.level_scale: nn.Parameter | None = None
        if n_scaled is not None:
            self.scale = learned_scale(n_scaled)
            self.level_scale = learned_scale(n_levels + 1)

    @torch.no_grad()
    def start_scales(self, numbers: Tensor, columns: Tensor, codes: Tensor) -> None:
        """Begin with scales of the last numbers, and of the columns of codes (N, C)."""
        assert self.scale is not None
        assert self.level_scale is not None
        self.scale.copy_(numbers)
        self.level_scale[codes] = columns.expand_as(codes)

    def forward(self, x: Tensor, codes: Tensor) -> Tensor:
        """Map numbers (N, d_in) and codes (N, C) to (N, d_out)."""
        if self.scale is not None and len(self.scale):
            first = x.shape[1] - len(self.scale)
            x = torch.cat([x[:, :first], x[:, first:] * self.scale], 1)
        return self._with_levels(linear(x, self.weight, self.bias), codes)

    def add_last(self, out: Tensor, x: Tensor, codes: Tensor) -> Tensor:
        """Add what the last numbers (N, d <= d_in) and codes say to `out`, in place."""
        out = out.add_(self.bias)
        if x.shape[1]:
            x = x if self.scale is None else x * self.scale
            out = out.addmm_(x, self.weight[:, self.weight.shape[1] - x.shape[1] :].T)
        return self._with_levels(out, codes)

    def _with_levels(self, out: Tensor, codes: Tensor) -> Tensor:
        if codes.shape[1] == 0:
            return out
        levels: Tensor = self.levels
        if self.level_scale is not None:
            levels = levels * self.level_scale[:, None]
        return out.add_(sum_rows(levels, codes, silent=len(levels) - 1))


def learned_scale(n_columns: int) -> nn.Parameter:
    """A factor for each column: one at first, and quick, as it stands for many weights.

    >>> learned_scale(2)
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """
    scale = nn.Parameter(torch.ones(n_columns))
    scale.rate_factor = 6.0  # type: ignore[attr-defined]
    return scale


@dataclass(frozen=True)
class BlockShape:
    """Sizes of the blocks behind the first linear layer."""

    dim: int
    n_blocks: int
    d_block: int
    dropout: float


class Dropout(nn.Dropout):
    """torch's dropout; on a CPU, with four lots out of each random number.

    There torch draws 64 bits for each single lot, which took a third of the time of a
    default fit; 16 bits are enough, and three times as fast.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Silence some of `x`, (N, D), and raise the rest."""
        if not self.training or self.p == 0 or x.device.type != "cpu":
            return super().forward(x)
        words = torch.randint(-(2**63), 2**63 - 1, (-(-x.numel() // 4),))
        lots = words.view(torch.int16)[: x.numel()].view(x.shape)
        heard = lots >= round(self.p * 2**16) - 2**15
        return x * heard.to(x.dtype).mul_(1 / (1 - self.p))


def _block(norm: Callable[[int], nn.Module], shape: BlockShape) -> nn.Sequential:
    """g(x) = Linear(Dropout(ReLU(Linear(norm(x))))): equation 5 of the paper."""
    return nn.Sequential(
        norm(shape.dim),
        nn.Linear(shape.dim, shape.d_block),
        nn.ReLU(),
        Dropout(shape.dropout),
        nn.Linear(shape.d_block, shape.dim),
    )


class Residual(nn.Module):
    """A block with a link from its input to its output."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: Tensor) -> Tensor:
        """Add what the block makes of `x` to `x`, (N, D)."""
        return x + self.block(x)


def _stack(
    norm: Callable[[int], nn.Module], shape: BlockShape, *, residual: bool = False
) -> nn.Module:
    """The blocks one after another and a last norm; no block, no norm."""
    if shape.n_blocks == 0:
        return nn.Identity()
    blocks: list[nn.Module] = [_block(norm, shape) for _ in range(shape.n_blocks)]
    if residual:
        blocks = [Residual(block) for block in blocks]
    return nn.Sequential(*blocks, norm(shape.dim))


def build_linear(shape: BlockShape) -> nn.Module:
    """Nothing behind the first linear layer."""
    return nn.Identity()


def build_mlp(shape: BlockShape) -> nn.Module:
    """The paper's blocks, with BatchNorm."""
    return _stack(nn.BatchNorm1d, shape)


def build_layernorm(shape: BlockShape) -> nn.Module:
    """The same with LayerNorm."""
    return _stack(nn.LayerNorm, shape)


def build_residual(shape: BlockShape) -> nn.Module:
    """The paper's blocks, each with a residual link."""
    return _stack(nn.BatchNorm1d, shape, residual=True)


EMBEDDINGS: dict[str, Callable[[BlockShape], nn.Module]] = {
    "linear": build_linear,
    "mlp": build_mlp,
    "layernorm": build_layernorm,
    "residual": build_residual,
}
