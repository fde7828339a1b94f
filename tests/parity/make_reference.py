"""Write reference.npz: weights, inputs and outputs of the public model.

    python -m tests.parity.make_reference

Run once with tabarena 0.1.0 (pip install --no-deps tabarena==0.1.0) and torch 2.13.0;
the file is committed, so that parity is tested where the wheel is not.
"""

from pathlib import Path

import numpy as np
import torch
from tests.parity.public_model import (
    D_NUM,
    LEVELS,
    build_public,
    load_public_model,
)
from torch.nn.functional import mse_loss, nll_loss, one_hot

PATH = Path(__file__).with_name("reference.npz")
CASES = {
    "classes-linear": {"d_out": 3, "n_blocks": 0},
    "classes-blocks": {"d_out": 3, "n_blocks": 2},
    "numbers-linear": {"d_out": 1, "n_blocks": 0},
    "numbers-blocks": {"d_out": 1, "n_blocks": 2},
}


def make_table(n_rows: int, *, d_out: int) -> tuple[torch.Tensor, ...]:
    """Random numbers, codes of two categories, and targets."""
    numbers = torch.randn(n_rows, D_NUM)
    codes = torch.stack([torch.randint(n, (n_rows,)) for n in LEVELS], 1)
    y = torch.randint(d_out, (n_rows,)) if d_out > 1 else torch.randn(n_rows)
    return numbers, codes, y


def public_rows(numbers: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
    """The public model's input: numbers, then dense one-hots."""
    hot = [one_hot(codes[:, j], n).float() for j, n in enumerate(LEVELS)]
    return torch.cat([numbers, *hot], 1)


def public_loss(votes: torch.Tensor, y: torch.Tensor, *, d_out: int) -> torch.Tensor:
    """The public training loss on what the model returns."""
    return nll_loss(votes, y) if d_out > 1 else mse_loss(votes, y)


def make_case(*, d_out: int, n_blocks: int) -> dict[str, np.ndarray]:
    """Weights, rows, votes in evaluation and, without blocks, loss in training."""
    torch.manual_seed(d_out + 10 * n_blocks)
    model = build_public(load_public_model(), d_out=d_out, n_blocks=n_blocks)
    numbers, codes, y = make_table(24, d_out=d_out)
    x = public_rows(numbers, codes)
    if n_blocks:  # running statistics that are not the trivial ones
        model.train()
        for _ in range(3):
            model(x[:12], y[:12], x[12:], y[12:], is_train=True)
    model.eval()
    with torch.no_grad():
        votes = model(x[:8], None, x[8:], y[8:], is_train=False)
    case = {f"weight:{k}": v for k, v in model.state_dict().items()}
    case |= {"numbers": numbers, "codes": codes, "y": y, "votes": votes}
    # In training the batch is embedded apart from the others (see ensemble/learner.py),
    # so with BatchNorm the two differ by design; without blocks they agree.
    if not n_blocks:
        model.train()
        votes = model(x[:8], y[:8], x[8:], y[8:], is_train=True)
        loss = public_loss(votes, y[:8], d_out=d_out)
        loss.backward()
        case["loss"] = loss
        case["gradient"] = model.encoder.bias.grad
        case["gradient:frequencies"] = model.num_embeddings[0].frequencies.grad
    return {name: value.detach().numpy() for name, value in case.items()}


def main() -> None:
    arrays = {
        f"{case}/{name}": value
        for case, shape in CASES.items()
        for name, value in make_case(**shape).items()
    }
    np.savez_compressed(PATH, **arrays)
    print(f"{len(arrays)} arrays in {PATH}")


if __name__ == "__main__":
    main()
