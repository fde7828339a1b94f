import numpy as np
import pytest
import torch

from modernnca.core.net import Net, NetShape
from modernnca.core.rows import Rows
from modernnca.core.views import VIEWS, Bent, Ranked
from modernnca.table.numbers import Quantile, Robust

RNG = np.random.RandomState(0)
CELLS = np.stack(
    [RNG.lognormal(size=9000), RNG.randint(0, 3, 9000), RNG.randn(9000).round(1)], 1
)
NUMBERS = torch.tensor(CELLS, dtype=torch.float32)


def seen(view):
    view.prepare(NUMBERS)
    return view(NUMBERS).numpy()


def test_bent_is_the_robust_treatment():
    expected = Robust().fit(CELLS).transform(CELLS)
    np.testing.assert_allclose(seen(Bent(3)), expected, atol=1e-5)


def test_ranked_is_the_quantile_treatment_where_its_grid_is_the_same():
    expected = Quantile().fit(CELLS).transform(CELLS)
    error = np.abs(seen(Ranked(3)) - expected)
    assert error.mean() < 0.005
    assert error[:, 1].max() < 2e-3  # ties take the middle of their ranks


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_keeps_the_order_and_is_finite(name):
    view = VIEWS[name](1)
    view.prepare(NUMBERS[:, :1])
    far = torch.tensor([[-1e15], [-1.0], [0.0], [0.5], [2.0], [1e15]])
    out = view(far)
    assert out.isfinite().all()
    assert (out.diff(dim=0) >= 0).all()


@pytest.mark.parametrize("name", VIEWS)
def test_a_constant_column_and_no_column_are_seen(name):
    for numbers in (torch.ones(20, 1), torch.ones(20, 0)):
        view = VIEWS[name](numbers.shape[1])
        view.prepare(numbers)
        assert view(numbers).isfinite().all()


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_part_of_the_weights(name):
    shape = NetShape(3, 0, 0, view=name, scale_columns=True, dim=8)
    net, other = Net(shape).eval(), Net(shape).eval()
    net.prepare(NUMBERS)
    other.load_state_dict(net.state_dict())
    nothing = torch.zeros(len(NUMBERS), 0)
    rows = Rows(NUMBERS, nothing, nothing.long())
    assert torch.equal(net(rows), other(rows))


def test_a_scale_of_a_column_is_learned_faster_and_not_decayed():
    net = Net(NetShape(3, 2, 4, scale_columns=True))
    assert net.scale.tolist() == [1, 1, 1]
    for scale in (net.scale, net.linear.scale, net.linear.level_scale):
        assert scale.rate_factor == 6.0


def test_scales_begin_where_they_are_told_to():
    net = Net(NetShape(3, 2, 5, scale_columns=True))
    codes = torch.tensor([[0, 2], [1, 3], [0, 4], [1, 5]])  # 5: none of the known
    net.start_scales(torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), codes)
    assert net.scale.tolist() == [1, 2, 3]
    assert net.linear.scale.tolist() == [4, 5]
    assert net.linear.level_scale[:5].tolist() == [6, 6, 7, 7, 7]
    assert all(p.requires_grad for p in (net.scale, net.linear.level_scale))
