"""What holds for every embedding in EMBEDDINGS; a new one is tested once listed."""

import pytest
import torch

from modernnca.core.embeddings import EMBEDDINGS, BlockConfig, Dropout


@pytest.fixture(params=EMBEDDINGS)
def build(request):
    def embedding(n_blocks=2, seed=0, dropout=0.3):
        config = BlockConfig(dim=6, n_blocks=n_blocks, d_block=9, dropout=dropout)
        generator = torch.Generator().manual_seed(seed)
        module = EMBEDDINGS[request.param](config, generator).double()
        for part in module.modules():
            if isinstance(part, Dropout):
                part.generator = generator
        return module

    return embedding


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n_blocks", [0, 1, 3])
@pytest.mark.parametrize("training", [True, False])
def test_shape_and_dtype(build, draw, dtype, n_blocks, training):
    module = build(n_blocks).to(dtype).train(training)
    found = module(draw(2, 6).to(dtype))  # two rows: fewer are too few for BatchNorm
    assert found.shape == (2, 6)
    assert found.dtype == dtype
    assert found.isfinite().all()


def test_in_evaluation_rows_are_independent_and_reproducible(build, draw):
    module, x = build(), draw(8, 6)
    module.train()(x)  # set the running statistics
    module.eval()
    alone = torch.cat([module(row[None]) for row in x])
    torch.testing.assert_close(module(x), alone)
    assert torch.equal(module(x), module(x))


def test_coinciding_rows_give_every_parameter_a_finite_gradient(build, draw):
    module = build(dropout=0.0)
    x = draw(8, 6)[[0, 0, 0, 1, 2, 3, 4, 5]].requires_grad_()
    (module(x) * draw(8, 6)).sum().backward()
    assert x.grad.isfinite().all()
    for parameter in module.parameters():
        assert parameter.grad.isfinite().all()
        assert (parameter.grad != 0).any()


def test_equal_seeds_give_equal_embeddings(build, draw):
    x = draw(8, 6)
    assert torch.equal(build(seed=4)(x), build(seed=4)(x))


def test_the_state_holds_all_that_was_learned(build, draw):
    module, x = build(seed=1), draw(8, 6)
    module.train()(x)
    other = build(seed=2)
    other.load_state_dict(module.state_dict())
    assert torch.equal(other.eval()(x), module.eval()(x))


def test_the_global_generator_is_not_touched(build, draw):
    before = torch.get_rng_state()
    build().train()(draw(8, 6))
    assert torch.equal(torch.get_rng_state(), before)
