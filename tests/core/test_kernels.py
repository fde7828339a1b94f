"""The GPU kernels, run on the CPU by Triton's interpreter, are held to the plain way.

The interpreter is chosen when the kernels are first imported, so they run in a process
of their own: the tests of the fast paths once more, with kernels in them.
"""

import importlib.util
from pathlib import Path

import pytest
import torch
from torch.nn.functional import one_hot

from modernnca.core import fused, kernels
from modernnca.core.distances import euclidean
from modernnca.core.geometry import GEOMETRIES
from modernnca.core.kernels import usable
from modernnca.core.losses import log_loss_of_votes

HERE = Path(__file__).parent


@pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="pip install 'modernnca[gpu]'"
)
@pytest.mark.slow
def test_the_kernels_pass_the_tests_of_the_fast_paths(interpreted):
    which = "fused_loss_is or coinciding or (streamed and not float64) or kernels"
    interpreted(
        str(HERE / "test_fast_paths.py"),
        str(HERE / "test_bags.py"),
        str(Path(__file__)),
        "-k",
        f"({which}) and not pass_the_tests",
    )


needs_kernels = pytest.mark.skipif(
    not usable(torch.zeros(1, 1), 1), reason="needs TRITON_INTERPRET=1"
)


@needs_kernels
@pytest.mark.parametrize("n_values", [3, 11])
def test_kernels_cut_their_work_up_as_they_like(n_values, monkeypatch):
    points = torch.randn(300, 7, generator=torch.Generator().manual_seed(0))
    values = one_hot(torch.arange(300) % n_values, n_values).float()
    results = []
    for small in (True, False):
        if small:  # many tiles, and parts of the keys
            for name in kernels.TILES:
                monkeypatch.setitem(kernels.TILES, name, kernels.Tiles(16, 16, 4, 1))
        else:
            monkeypatch.setattr(fused, "usable", lambda *_: False)
        x = points.clone().requires_grad_()
        loss = fused.fused_loss(
            x,
            torch.tensor(0.5),
            fused.Batch(40, values, values[:40], None, None),
            geometry=GEOMETRIES[euclidean],
            vote_loss=log_loss_of_votes,
        )
        loss.backward()
        results.append((loss.detach(), x.grad))
    (ours, our_slope), (theirs, their_slope) = results
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=0)
    assert (our_slope - their_slope).abs().max() < 1e-4 * their_slope.abs().max()


@needs_kernels
@pytest.mark.parametrize("size", [1e-10, 1e10])
def test_kernels_know_points_of_any_size(size):
    points = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    halves = kernels.halve_all(points * size)
    back = (halves.high.float() + halves.rest.float())[:, :3] / halves.unit
    torch.testing.assert_close(back, points * size, rtol=1e-6, atol=1e-7 * size)
