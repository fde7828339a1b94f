"""Products of matrices on a CPU, by the library that uses all of it.

torch multiplies with MKL, which takes AVX2 on a processor that is not Intel's even if
it has AVX-512. oneDNN, which torch brings along, takes AVX-512 anywhere. Measured on a
core of an AMD EPYC (Zen 5), for products of few columns such as those of a training
step: 112 GFLOP/s and 190 to 240.
"""

import torch
from torch import Tensor

# Of m * k * n, and of the rows: for smaller ones, oneDNN takes longer.
_MIN_SIZE, _MIN_ROWS = 2**20, 16
_ONE_DNN = torch.backends.cpu.get_cpu_capability().startswith("AVX512") and hasattr(
    torch.ops.mkldnn, "_linear_pointwise"
)


def linear(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *, relu: bool = False
) -> Tensor:
    """`relu(x @ weight.T + bias)`, without a gradient: (N, K) and (M, K) to (N, M).

    >>> linear(torch.eye(2), torch.tensor([[1.0, 2.0]]), torch.ones(1))
    tensor([[2.],
            [3.]])
    """
    small = len(x) < _MIN_ROWS or len(x) * weight.numel() < _MIN_SIZE
    if small or not _ONE_DNN or x.device.type != "cpu" or x.dtype != torch.float32:
        out = torch.nn.functional.linear(x, weight, bias)
        return out.relu_() if relu else out
    found: Tensor = torch.ops.mkldnn._linear_pointwise(
        x, weight, bias, "relu" if relu else "none", [], ""
    )
    return found


def matmul(x: Tensor, y: Tensor) -> Tensor:
    """`x @ y`, without a gradient: (N, K) and (K, M) to (N, M)."""
    return linear(x, y.mT)
