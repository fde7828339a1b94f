"""The GPU kernels, run on the CPU by Triton's interpreter, equal the plain way.

The interpreter is chosen when the kernels are first imported, so they run in a process
of their own: the tests of the fast paths once more, with the kernels.
"""

import importlib.util
from pathlib import Path

import pytest
import torch
from torch.nn.functional import one_hot

from modernnca.core.distances import euclidean
from modernnca.core.losses import log_loss
from modernnca.kernels import fused_loss, vote_kernels
from modernnca.kernels.geometry import GEOMETRIES

HERE = Path(__file__).parent


@pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="pip install 'modernnca[gpu]'"
)
@pytest.mark.slow
def test_the_kernels_pass_the_tests_of_the_fast_paths(interpreted):
    fast_paths = HERE / "test_fast_paths.py"
    interpreted(
        f"{fast_paths}::test_the_fused_loss_equals_the_plain_one",
        f"{fast_paths}::test_coinciding_rows_have_finite_gradients",
        f"{fast_paths}::test_streamed_votes_equal_the_plain_ones",
        f"{fast_paths}::test_streamed_votes_of_past_rows_equal_the_plain_ones",
        str(HERE / "test_knot_bags.py"),
        f"{__file__}::test_the_result_does_not_depend_on_the_tiles",
        f"{__file__}::test_points_of_any_scale_are_split",
        "-k",
        "not float64",  # which the kernels do not support
    )


needs_kernels = pytest.mark.skipif(
    not vote_kernels.supported(torch.zeros(1, 1), 1), reason="needs TRITON_INTERPRET=1"
)


@needs_kernels
@pytest.mark.parametrize("n_values", [3, 11])
def test_the_result_does_not_depend_on_the_tiles(n_values, monkeypatch):
    points = torch.randn(300, 7, generator=torch.Generator().manual_seed(0))
    values = one_hot(torch.arange(300) % n_values, n_values).float()
    results = []
    for small in (True, False):
        if small:  # many tiles, and parts of the keys
            for name in vote_kernels.TILES:
                tiles = vote_kernels.Tiles(16, 16, 4, 1)
                monkeypatch.setitem(vote_kernels.TILES, name, tiles)
        else:
            monkeypatch.setattr(fused_loss, "supported", lambda *_: False)
        x = points.clone().requires_grad_()
        loss = fused_loss.fused_loss(
            x,
            torch.tensor(0.5),
            fused_loss.Batch(40, values, values[:40], None, None),
            geometry=GEOMETRIES[euclidean],
            vote_loss=log_loss,
        )
        loss.backward()
        results.append((loss.detach(), x.grad))
    (ours, our_gradient), (theirs, their_gradient) = results
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=0)
    error = (our_gradient - their_gradient).abs().max()
    assert error < 1e-4 * their_gradient.abs().max()


@needs_kernels
@pytest.mark.parametrize("size", [1e-10, 1e10])
def test_points_of_any_scale_are_split(size):
    points = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    split = vote_kernels.split_points(points * size)
    back = (split.high.float() + split.low.float())[:, :3] / split.scale
    torch.testing.assert_close(back, points * size, rtol=1e-6, atol=1e-7 * size)
