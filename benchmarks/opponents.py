"""The models that are timed: ours, the public one and deeptab's, of the same shape.

Each gives a function that makes one training step, and one that predicts. Ours and the
public model (from the tabarena wheel, tests/parity/public_model.py) step as in their
own training loops, deeptab's as its data module feeds it.
"""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, nll_loss, one_hot

from modernnca import PRESETS
from modernnca.core.network import InputShape, Network, embed_rows
from modernnca.core.rows import Examples, Rows
from modernnca.ensemble.learner import NeighborLearner
from modernnca.memory.exact_memory import ExactMemory
from modernnca.train.generators import Generators
from modernnca.train.loop import Training

sys.path.insert(0, str(Path(__file__).parents[1]))  # not another "tests"
from tests.parity.public_model import load_public_model

N_CLASSES, BATCH, RATE = 3, 1024, 0.5
# The same shape, and as many sampled rows, as the public model has.
CONFIG = PRESETS["paper"].updated({"batch_size": BATCH, "sample_rate": RATE})
Step = Callable[[], Any]
Predict = Callable[[Tensor], Tensor]


class Opponent(NamedTuple):
    """A model over a table of numbers."""

    name: str
    step: Step
    predict: Predict


def _batches(n_rows: int, device: torch.device) -> Iterator[Tensor]:
    """Endless random batches, one epoch after another."""
    while True:
        order = torch.randperm(n_rows).to(device)
        yield from order.split(BATCH)[:-1] or [order]


def _stepper(module: torch.nn.Module, loss: Callable[[Tensor], Tensor], n: int) -> Step:
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.01, weight_decay=2e-4)
    batches = _batches(n, next(module.parameters()).device)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss(next(batches)).backward()
        optimizer.step()

    return step


def _as_rows(x: Tensor) -> Rows:
    """Numbers (N, P) as rows without other columns."""
    nothing = x.new_zeros(len(x), 0)
    return Rows(x, nothing, nothing.long())


def ours(x: Tensor, y: Tensor, *, name: str = "ours", **options: Any) -> Opponent:
    """Our network, with some options of the config, such as n_knots."""
    torch.manual_seed(0)
    config = CONFIG.updated(options)
    generators = Generators.from_seed(0, x.device)
    rows, values = _as_rows(x), one_hot(y, N_CLASSES).float()
    shape = InputShape(n_numbers=x.shape[1], n_plain=0, n_levels=0)
    network = Network(config, shape, generators.module).to(x.device)
    network.prepare(x)
    learner = NeighborLearner(
        network,
        Examples(rows, values, values),
        None,
        config=config,
        evaluate=None,
        generators=generators,
    )
    memory: list[ExactMemory] = []

    def predict(query: Tensor) -> Tensor:
        if not memory:  # the remembered rows are embedded once
            rule = config.prediction_rule(network)
            memory.append(ExactMemory(embed_rows(network, rows), values, rule))
        points = embed_rows(network, _as_rows(query))
        with torch.inference_mode():
            return memory[0].vote(points).mean

    training = Training(learner, config, generators, validated=False)
    batches = _batches(len(x), x.device)
    return Opponent(name, lambda: training.step(next(batches)), predict)


def public(x: Tensor, y: Tensor) -> Opponent | None:
    """The public model, or None where the wheel is not installed."""
    model = load_public_model()
    if model is None:
        return None
    torch.manual_seed(0)
    encoding = {
        "type": "PLREmbeddings",
        "n_frequencies": 77,
        "frequency_scale": 0.0443136,
        "d_embedding": 34,
        "lite": True,
    }
    net = model(
        d_in=x.shape[1],
        d_num=x.shape[1],
        d_out=N_CLASSES,
        dim=128,
        dropout=0.1,
        d_block=512,
        n_blocks=0,
        num_embeddings=encoding,
        temperature=1.0,
        sample_rate=RATE,
    ).to(x.device)
    every_row = torch.arange(len(x), device=x.device)

    def loss(batch: Tensor) -> Tensor:
        others = every_row[~torch.isin(every_row, batch)]
        votes = net(x[batch], y[batch], x[others], y[others], is_train=True)
        return nll_loss(votes, y[batch])

    def predict(query: Tensor) -> Tensor:
        net.eval()
        with torch.no_grad():
            parts = [
                net(part, None, x, y, is_train=False).exp()
                for part in query.split(BATCH)
            ]
        return torch.cat(parts)

    return Opponent("public", _stepper(net, loss, len(x)), predict)


def deeptab(x: Tensor, y: Tensor) -> Opponent | None:
    """Deeptab's experimental ModernNCA, or None where it is not installed."""
    if importlib.util.find_spec("deeptab") is None:
        return None
    from deeptab.architectures.experimental.modern_nca import ModernNCA
    from deeptab.configs.experimental.modernnca_config import ModernNCAConfig

    torch.manual_seed(0)
    config = ModernNCAConfig(
        use_embeddings=True,
        embedding_type="plr",
        plr_lite=True,
        d_model=34,
        n_frequencies=77,
        frequencies_init_scale=0.0443136,
        dim=128,
        n_blocks=0,
        temperature=1.0,
        sample_rate=RATE,
    )
    numbers = {
        f"x{j}": {"dimension": 1, "categories": None, "preprocessing": "standard"}
        for j in range(x.shape[1])
    }
    net = ModernNCA(
        (numbers, {}, {}), num_classes=N_CLASSES, config=config, lss=False
    ).to(x.device)
    every_row = torch.arange(len(x), device=x.device)

    def columns(rows: Tensor) -> tuple[list[Tensor], list, list]:
        return list(rows.split(1, dim=1)), [], []

    def loss(batch: Tensor) -> Tensor:
        others = every_row[~torch.isin(every_row, batch)]
        votes = net.train_with_candidates(
            *columns(x[batch]),
            targets=y[batch],
            candidate_x=columns(x[others]),
            candidate_y=y[others],
        )
        return cross_entropy(votes, y[batch])

    def predict(query: Tensor) -> Tensor:
        net.eval()
        with torch.no_grad():
            parts = [
                net.predict_with_candidates(
                    *columns(part), candidate_x=columns(x), candidate_y=y
                )
                for part in query.split(BATCH)
            ]
        return torch.cat(parts)

    return Opponent("deeptab", _stepper(net, loss, len(x)), predict)


def make_table(
    n_rows: int, n_columns: int, device: str, *, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """Random numbers, and three classes that depend on the first columns."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n_rows, n_columns, generator=generator)
    noise = torch.randn(n_rows, generator=generator)
    y = ((x[:, 0] + x[:, 1] * x[:, 2] + noise).div(1.5).round() % N_CLASSES).long()
    return x.to(device), y.to(device)
