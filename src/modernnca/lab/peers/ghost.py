"""Ghost batch norm: a batch is normalized in small parts, as if it were several."""

import torch
from torch import Tensor, nn


class GhostBatchNorm(nn.BatchNorm1d):
    """Batch norm over at most `n_rows` rows at a time; Hoffer et al. (2017).

    The noise of small batches, at the speed of large ones. In evaluation mode it is
    plain batch norm.

    >>> GhostBatchNorm(2, n_rows=4)(torch.rand(9, 2)).shape
    torch.Size([9, 2])
    """

    def __init__(self, d: int, *, n_rows: int) -> None:
        if n_rows < 3:
            raise ValueError(
                f"Parts of {n_rows=} may be a single row, which has no variance; take "
                "3 at least."
            )
        super().__init__(d)
        self.n_rows = n_rows

    def forward(self, x: Tensor) -> Tensor:
        """Normalize (B, d)."""
        normalize = super().forward
        n_parts = -(-len(x) // self.n_rows) if self.training else 1
        return torch.cat([normalize(part) for part in x.tensor_split(n_parts)])
