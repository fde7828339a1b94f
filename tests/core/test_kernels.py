"""The GPU kernels, run on the CPU by Triton's interpreter, are held to the plain way.

The interpreter is chosen when the kernels are first imported, so they run in a process
of their own: the tests of the fast paths once more, with kernels in them.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

TESTS = Path(__file__).with_name("test_fast_paths.py")


@pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="pip install 'modernnca[gpu]'"
)
@pytest.mark.slow
def test_the_kernels_pass_the_tests_of_the_fast_paths():
    which = "fused_loss_is or coinciding or (streamed and not float64)"
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(TESTS), "-k", which],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-3000:]
    assert "passed" in result.stdout


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_recorded_step_is_the_step():
    from torch.nn.functional import one_hot

    from modernnca.core.distances import euclidean
    from modernnca.core.learner import Labeled, Method, NeighborLearner
    from modernnca.core.losses import LOSSES
    from modernnca.core.net import Net, NetShape
    from modernnca.core.rows import Rows
    from modernnca.core.samplers import SAMPLERS
    from modernnca.core.softnn import exponential

    x = torch.randn(4000, 3, device="cuda")
    values = one_hot((x[:, 0] > 0).long(), 2).float()
    none = x.new_zeros(4000, 0)
    net = Net(NetShape(3, 0, 0, dim=16)).cuda()
    learner = NeighborLearner(
        net,
        Labeled(Rows(x, none, none.long()), values, values, None),
        None,
        method=Method(
            euclidean, exponential, LOSSES["log"].classes, SAMPLERS["random"]
        ),
        judge=lambda votes: (0.0, 0.0),
        generator=torch.Generator(),
    )
    batch = torch.arange(256, device="cuda")
    others = torch.arange(1000, 3000, device="cuda")
    results = []
    for loss in (learner._fused_loss, learner._record(batch, others)):
        net.zero_grad()
        value = loss(batch, others)
        value.backward()
        results.append((value.detach().clone(), net.linear.weight.grad.clone()))
    for one, two in zip(*results, strict=True):
        torch.testing.assert_close(one, two)
