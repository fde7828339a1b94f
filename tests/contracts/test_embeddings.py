"""What every embedding obeys; listing one in EMBEDDINGS is enough to hold it to it."""

import pytest
import torch

from modernnca.core.embed import EMBEDDINGS, BlockShape


@pytest.fixture(params=EMBEDDINGS)
def build(request):
    def embedding(n_blocks=2, seed=0, dropout=0.3):
        torch.manual_seed(seed)
        shape = BlockShape(dim=6, n_blocks=n_blocks, d_block=9, dropout=dropout)
        return EMBEDDINGS[request.param](shape).double()

    return embedding


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n_blocks", [0, 1, 3])
@pytest.mark.parametrize("training", [True, False])
def test_the_width_and_the_dtype_are_kept(build, draw, dtype, n_blocks, training):
    module = build(n_blocks).to(dtype).train(training)
    found = module(draw(2, 6).to(dtype))  # two rows: the least BatchNorm takes
    assert found.shape == (2, 6)
    assert found.dtype == dtype
    assert found.isfinite().all()


def test_in_evaluation_rows_are_embedded_apart_and_always_alike(build, draw):
    module, x = build(), draw(8, 6)
    module.train()(x)  # let it see something
    module.eval()
    alone = torch.cat([module(row[None]) for row in x])
    torch.testing.assert_close(module(x), alone)
    assert torch.equal(module(x), module(x))


def test_coinciding_rows_have_finite_gradients_that_reach_all(build, draw):
    module, x = (
        build(dropout=0.0),
        draw(8, 6)[[0, 0, 0, 1, 2, 3, 4, 5]].requires_grad_(),
    )
    (module(x) * draw(8, 6)).sum().backward()
    assert x.grad.isfinite().all()
    for parameter in module.parameters():
        assert parameter.grad.isfinite().all()
        assert (parameter.grad != 0).any()


def test_equal_seeds_give_equal_points(build, draw):
    x = draw(8, 6)
    assert torch.equal(build(seed=4)(x), build(seed=4)(x))


def test_what_was_learned_is_in_the_state(build, draw):
    module, x = build(seed=1), draw(8, 6)
    module.train()(x)
    other = build(seed=2)
    other.load_state_dict(module.state_dict())
    assert torch.equal(other.eval()(x), module.eval()(x))
