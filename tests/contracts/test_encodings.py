"""What holds for every encoding in ENCODINGS; a new one is tested once listed."""

import pytest
import torch

from modernnca.core.encodings import ENCODINGS, EncodingConfig

CONFIG = EncodingConfig(n_frequencies=4, frequency_scale=0.5, d_encoding=5, n_bins=4)


@pytest.fixture(params=ENCODINGS)
def build(request, draw):
    seen = draw(40, 3)

    def prepared(n_numbers=3, dtype=torch.float64, seed=0):
        generator = torch.Generator().manual_seed(seed)
        encoding = ENCODINGS[request.param](n_numbers, CONFIG, generator).to(dtype)
        encoding.prepare(seen[:, :n_numbers].to(dtype))
        return encoding

    return prepared


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n_numbers", [0, 1, 3])
@pytest.mark.parametrize("n_rows", [0, 1, 6])
def test_the_width_is_d_out_and_the_dtype_is_kept(
    build, draw, dtype, n_numbers, n_rows
):
    encoding = build(n_numbers, dtype)
    found = encoding(draw(n_rows, n_numbers).to(dtype))
    assert found.shape == (n_rows, encoding.d_out)
    assert found.dtype == dtype


def test_far_numbers_stay_finite(build):
    far = torch.tensor([[-1e6, 0.0, 1e6]]).double()
    assert build()(far).isfinite().all()


def test_rows_are_encoded_independently(build, draw):
    encoding, numbers = build(), draw(6, 3)
    alone = torch.cat([encoding(row[None]) for row in numbers])
    torch.testing.assert_close(encoding(numbers), alone)


def test_columns_are_encoded_independently(build, draw):
    encoding, numbers = build(), draw(6, 3)
    changed = numbers.clone()
    changed[:, 1] += 0.3
    moved = (encoding(changed) != encoding(numbers)).unflatten(1, (3, -1))
    assert not moved[:, [0, 2]].any()
    assert moved[:, 1].any(1).all()


def test_the_gradient_is_finite_and_reaches_every_parameter(build, draw):
    encoding, numbers = build(), draw(40, 3).requires_grad_()
    codes = encoding(numbers)
    (codes * draw(*codes.shape)).sum().backward()
    assert numbers.grad.isfinite().all()
    assert (numbers.grad != 0).any(0).all()
    for parameter in encoding.parameters():
        assert parameter.grad.isfinite().all()
        assert (parameter.grad != 0).any()


def test_the_gradient_equals_finite_differences(build, draw):
    assert torch.autograd.gradcheck(build(), draw(2, 3).requires_grad_())


def test_equal_seeds_give_equal_outputs(build, draw):
    numbers = draw(6, 3)
    assert torch.equal(build(seed=4)(numbers), build(seed=4)(numbers))


def test_the_state_holds_all_that_was_learned(build, draw):
    encoding, numbers = build(seed=1), draw(6, 3)
    other = build(seed=2)
    other.prepare(5 * draw(40, 3))
    other.load_state_dict(encoding.state_dict())
    assert torch.equal(other(numbers), encoding(numbers))


def test_the_global_generator_is_not_touched(build, draw):
    before = torch.get_rng_state()
    encoding = build()
    encoding.prepare(draw(40, 3))
    encoding(draw(6, 3))
    assert torch.equal(torch.get_rng_state(), before)
