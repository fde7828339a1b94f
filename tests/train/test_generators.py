"""Generators: equal seeds give equal bits, and torch's own are left alone."""

import pytest
import torch

from modernnca.train.generators import Generators

CPU = torch.device("cpu")


def draw(generators):
    """Some numbers of each generator; on a CPU the last two are one."""
    return [
        torch.randperm(50, generator=generators.rows),
        torch.randn(4, generator=generators.module),
        torch.rand(4, generator=generators.device, device=generators.device.device),
    ]


def draws(seed):
    return draw(Generators.from_seed(seed, CPU))


def test_equal_seeds_give_equal_bits():
    for one, other in zip(draws(7), draws(7), strict=True):
        assert torch.equal(one, other)


def test_other_seeds_give_other_bits():
    for one, other in zip(draws(7), draws(8), strict=True):
        assert not torch.equal(one, other)


def test_the_global_state_is_not_changed():
    before = torch.get_rng_state()
    generators = Generators.from_seed(7, CPU)
    draw(generators)
    generators.load_state(generators.state())
    assert torch.equal(torch.get_rng_state(), before)


def test_what_came_before_does_not_matter():
    torch.manual_seed(1)
    first = draws(7)
    torch.manual_seed(2)
    assert all(map(torch.equal, first, draws(7)))


@pytest.mark.parametrize("purpose", ["module", "device"])
def test_draws_of_rows_and_other_draws_do_not_disturb_each_other(purpose):
    generators = Generators.from_seed(7, CPU)
    torch.randn(100, generator=getattr(generators, purpose))
    after = torch.randperm(50, generator=generators.rows)
    assert torch.equal(after, draws(7)[0])

    generators = Generators.from_seed(7, CPU)
    torch.randperm(50, generator=generators.rows)
    after = torch.randn(4, generator=generators.module)
    assert torch.equal(after, draws(7)[1])


def test_rows_and_weights_are_drawn_from_different_streams():
    generators = Generators.from_seed(7, CPU)
    one, other = (torch.rand(9, generator=each) for each in generators[:2])
    assert not torch.equal(one, other)


def test_the_state_is_where_the_generators_were():
    generators = Generators.from_seed(7, CPU)
    draw(generators)
    state = {name: each.clone() for name, each in generators.state().items()}
    expected = draw(generators)
    later = Generators.from_seed(99, CPU)  # any seed: the state brings its own
    later.load_state(state)
    for one, other in zip(draw(later), expected, strict=True):
        assert torch.equal(one, other)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_all_three_are_apart_and_resumed():
    cuda = torch.device("cuda")
    before = torch.cuda.get_rng_state()
    generators = Generators.from_seed(7, cuda)
    assert generators.device.device.type == "cuda"
    torch.randn(100, generator=generators.module)  # disturbs no other
    state = {name: each.clone() for name, each in generators.state().items()}
    expected = draw(generators)
    fresh = draw(Generators.from_seed(7, cuda))
    assert torch.equal(fresh[0], expected[0])
    assert torch.equal(fresh[2], expected[2])
    later = Generators.from_seed(99, cuda)
    later.load_state({name: each.cuda() for name, each in state.items()})
    for one, other in zip(draw(later), expected, strict=True):
        assert torch.equal(one, other)
    assert torch.equal(torch.cuda.get_rng_state(), before)
