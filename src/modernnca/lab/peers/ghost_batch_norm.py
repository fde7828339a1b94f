"""Ghost batch norm: normalize a large batch in small chunks."""

import torch
from torch import Tensor, nn


class GhostBatchNorm(nn.BatchNorm1d):
    """Batch norm over at most `n_rows` rows at a time; Hoffer et al. (2017).

    It has the noise of small batches at the speed of large ones. In evaluation mode it
    is plain batch norm.

    >>> GhostBatchNorm(2, n_rows=4)(torch.rand(9, 2)).shape
    torch.Size([9, 2])
    """

    def __init__(self, d: int, *, n_rows: int) -> None:
        if n_rows < 3:
            raise ValueError(
                f"With {n_rows=} a chunk may be a single row, which has no variance; "
                "use at least 3."
            )
        super().__init__(d)
        self.n_rows = n_rows

    def forward(self, x: Tensor) -> Tensor:
        """Normalize (B, d)."""
        normalize = super().forward
        n_chunks = -(-len(x) // self.n_rows) if self.training else 1
        return torch.cat([normalize(chunk) for chunk in x.tensor_split(n_chunks)])
