"""The fast paths are held to the plain ones: same votes, losses and gradients."""

import os

import pytest
import torch
from torch.nn.functional import one_hot

from modernnca.core.distances import DISTANCES
from modernnca.core.fused import Batch, fused_loss
from modernnca.core.geometry import GEOMETRIES
from modernnca.core.knots import place_cells, place_knots
from modernnca.core.learner import Labeled, Method, NeighborLearner
from modernnca.core.lookup import sum_rows
from modernnca.core.losses import LOSSES, OF_VOTES
from modernnca.core.net import Net, NetShape, embed_all, embed_cells
from modernnca.core.rows import Rows
from modernnca.core.samplers import SAMPLERS
from modernnca.core.softnn import Rule, exponential, soft_vote
from modernnca.core.streaming import make_ready, stream_vote

TOLERANCES = {torch.float64: (1e-9, 1e-8), torch.float32: (1e-5, 1e-4)}


def new_points(n: int, dim: int, dtype: torch.dtype, *, shift: float = 0.0):
    points = torch.randn(n, dim, generator=torch.Generator().manual_seed(1))
    return (points + shift).to(dtype)


def close(ours, theirs, tolerance):
    scale = theirs.abs().max().clamp_min(1e-12)
    assert ((ours - theirs).abs().max() / scale).item() < tolerance


# --------------------------------------------------------------- the fused loss


def plain_loss(points, temperature, batch, distance, objective):
    silent = torch.eye(batch.n_queries, len(points), dtype=torch.bool)
    log_weights = None if batch.voices is None else batch.voices.log()
    scores = Rule(distance, temperature).scores(
        distance(points[: batch.n_queries], points), log_weights, silent
    )
    losses = objective(scores.log_softmax(1), batch.values, batch.targets)
    if batch.weights is None:
        return losses.mean()
    return (losses * batch.weights).sum() / batch.weights.sum()


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("objective", OF_VOTES, ids=lambda o: o.__name__)
@pytest.mark.parametrize("distance", GEOMETRIES, ids=lambda d: d.__name__)
def test_the_fused_loss_is_the_plain_one(distance, objective, weighted, dtype):
    values = one_hot(torch.arange(50) % 3, 3).to(dtype)
    loud = torch.linspace(0.5, 2, 50, dtype=dtype)
    loud[40] = 0  # silent for all
    batch = Batch(
        20,
        values,
        values[:20],
        loud if weighted else None,
        loud[:20] if weighted else None,
    )
    results = []
    for fused in (True, False):
        points = new_points(50, 6, dtype, shift=2.0).requires_grad_()
        temperature = torch.tensor(1.7, dtype=dtype, requires_grad=True)
        if fused:
            loss = fused_loss(
                points,
                temperature,
                batch,
                geometry=GEOMETRIES[distance],
                vote_loss=OF_VOTES[objective],
                n_at_once=7,
            )
        else:
            loss = plain_loss(points, temperature, batch, distance, objective)
        loss.backward()
        results.append((loss.detach(), points.grad, temperature.grad))
    forward, backward = TOLERANCES[dtype]
    for (ours, theirs), tolerance in zip(
        zip(*results, strict=True), (forward, backward, backward), strict=True
    ):
        close(ours, theirs, tolerance)


def test_the_fused_loss_passes_finite_differences():
    values = one_hot(torch.arange(12) % 2, 2).double()

    def loss(points, temperature):
        return fused_loss(
            points,
            temperature,
            Batch(5, values, values[:5], None, None),
            geometry=GEOMETRIES[DISTANCES["euclidean"]],
            vote_loss=OF_VOTES[LOSSES["log"].classes],
            n_at_once=2,
        )

    points = new_points(12, 3, torch.float64).requires_grad_()
    temperature = torch.tensor(0.8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(loss, (points, temperature))


@pytest.mark.parametrize("distance", GEOMETRIES, ids=lambda d: d.__name__)
def test_coinciding_rows_have_finite_gradients(distance):
    points = torch.ones(30, 4)
    points[20:] += torch.randn(10, 4, generator=torch.Generator().manual_seed(0))
    points.requires_grad_()
    values = one_hot(torch.arange(30) % 2, 2).float()
    fused_loss(
        points,
        torch.tensor(1.0),
        Batch(25, values, values[:25], None, None),
        geometry=GEOMETRIES[distance],
        vote_loss=OF_VOTES[LOSSES["log"].classes],
    ).backward()
    assert points.grad.isfinite().all()
    assert points.grad.abs().max() < 10


# ----------------------------------------------------------------- look-ups


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_rows_are_sparse_products(weighted):
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(9, 4, dtype=torch.float64, generator=generator)
    index = torch.randint(9, (30, 3), generator=generator)
    weights = torch.rand(30, 3, dtype=torch.float64, generator=generator)
    picks = one_hot(index, 9).double()  # (N, C, R)
    picks = (picks * weights[..., None] if weighted else picks).sum(1)
    table.requires_grad_()
    ours = sum_rows(table, index, weights=weights if weighted else None)
    torch.testing.assert_close(ours, picks @ table)
    pull = torch.randn(30, 4, dtype=torch.float64, generator=generator)
    (gradient,) = torch.autograd.grad(ours, table, pull)
    torch.testing.assert_close(gradient, picks.T @ pull)


def test_a_silent_row_adds_nothing_and_gets_no_gradient():
    table = torch.ones(3, 2, requires_grad=True)
    index = torch.tensor([[0, 2], [2, 2]])
    out = sum_rows(table, index, silent=2)
    assert out.tolist() == [[1, 1], [0, 0]]
    out.sum().backward()
    assert table.grad.tolist() == [[1, 1], [0, 0], [0, 0]]


# -------------------------------------------------------------------- knots


def new_net(n_numbers: int, **shape) -> Net:
    torch.manual_seed(0)
    return Net(NetShape(n_numbers, 1, 4, dim=16, **shape))


def new_rows(numbers):
    n = len(numbers)
    return Rows(numbers, torch.ones(n, 1), torch.arange(n)[:, None] % 5)


@pytest.mark.parametrize("encoding", ["plr-lite", "plr", "periodic", "pbld", "none"])
@pytest.mark.parametrize("n_blocks", [0, 1])
def test_few_valued_columns_are_exact_between_knots(encoding, n_blocks):
    generator = torch.Generator().manual_seed(0)
    numbers = torch.randint(0, 20, (200, 3), generator=generator) / 4.0
    net = new_net(3, encoding=encoding, n_blocks=n_blocks).eval()
    rows, knots = new_rows(numbers), place_knots(numbers, 32)
    cells = place_cells(numbers, knots)
    torch.testing.assert_close(
        embed_cells(net, rows, knots, cells), embed_all(net, rows), atol=1e-5, rtol=1e-4
    )
    # The same gradients, too.
    for parameter in net.parameters():
        parameter.requires_grad_()
    pull = torch.randn(200, 16, generator=generator)
    gradients = []
    for embed in (
        lambda: net(rows),
        lambda: net.forward_cells(cells.look_up(net.knot_table(knots)), rows),
    ):
        net.zero_grad()
        (embed() * pull).sum().backward()
        gradients.append([p.grad for p in net.parameters() if p.grad is not None])
    for exact, fast in zip(*gradients, strict=True):
        close(fast, exact, 1e-4)


def test_continuous_columns_come_closer_with_more_knots():
    numbers = torch.randn(5000, 2, generator=torch.Generator().manual_seed(0))
    net, rows = new_net(2), new_rows(numbers)
    exact = embed_all(net, rows)
    errors = []
    for n_knots in (16, 64, 256):
        knots = place_knots(numbers, n_knots)
        fast = embed_cells(net, rows, knots, place_cells(numbers, knots))
        errors.append((fast - exact).abs().max().item())
    assert errors[0] > 4 * errors[1] > 16 * errors[2]
    assert errors[2] < 1e-3


def test_knots_reach_into_the_tails():
    column = torch.cat([torch.randn(1000), torch.tensor([50.0])])[:, None]
    knots = place_knots(column, 64)[:, 0]
    assert knots[0] == column.min()
    assert knots[-1] == column.max()
    assert knots.diff().max() < (column.max() - column.min()) / 30


def test_cells_lie_where_their_numbers_are():
    knots = torch.tensor([[0.0, 5.0], [1.0, 6.0], [3.0, 6.0]])
    cells = place_cells(torch.tensor([[2.0, 5.5], [-1.0, 9.0]]), knots)
    table = torch.zeros(6, 2)  # what a knot adds: its value, in its column's place
    table[:3, 0], table[3:, 1] = knots[:, 0], knots[:, 1]
    assert cells.look_up(table).tolist() == [[2.0, 5.5], [0.0, 6.0]]


# ----------------------------------------------------------- streamed votes


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("distance", GEOMETRIES, ids=lambda d: d.__name__)
def test_streamed_votes_are_the_plain_ones(distance, weighted, dtype):
    # More than a tile; those of kernels are smaller, and their interpreter is slow.
    n_keys, n_asking = (2000, 100) if "TRITON_INTERPRET" in os.environ else (9000, 300)
    keys = new_points(n_keys, 5, dtype)
    query = torch.cat([keys[:3], new_points(n_asking, 5, dtype, shift=0.3)])
    values = one_hot(torch.arange(n_keys) % 4, 4).to(dtype)
    log_weights = torch.linspace(-1, 1, n_keys, dtype=dtype) if weighted else None
    ready = make_ready(keys, values, GEOMETRIES[distance], log_weights)
    votes = stream_vote(query, ready, temperature=0.5)
    expected = soft_vote(
        query, keys, values, rule=Rule(distance, 0.5), log_weights=log_weights
    )
    close(votes.mean, expected.mean, TOLERANCES[dtype][0])
    torch.testing.assert_close(votes.log_weight, expected.log_weight)


@pytest.mark.parametrize("distance", GEOMETRIES, ids=lambda d: d.__name__)
def test_streamed_votes_of_past_rows_are_the_plain_ones(distance):
    keys = new_points(9000, 5, torch.float64)
    query = torch.cat([keys[:3], new_points(300, 5, torch.float64, shift=0.3)])
    values = one_hot(torch.arange(9000) % 4, 4).double()
    # The first tile has nothing to say to those who ask early.
    happened, asked = torch.arange(9000).flip(0) // 7, torch.arange(303) * 4
    ready = make_ready(keys, values, GEOMETRIES[distance], None, happened)
    votes = stream_vote(query, ready, temperature=0.5, asked=asked)
    later = happened > asked[:, None]
    expected = soft_vote(query, keys, values, rule=Rule(distance, 0.5), silent=later)
    close(votes.mean, expected.mean, 1e-9)
    torch.testing.assert_close(votes.log_weight, expected.log_weight)
    values[happened > 8] += 1000  # no later label reaches who asked at 0, 4 and 8
    ready = make_ready(keys, values, GEOMETRIES[distance], None, happened)
    again = stream_vote(query, ready, temperature=0.5, asked=asked)
    assert torch.equal(again.mean[:3], votes.mean[:3])


# -------------------------------------------------------------- the learner


@pytest.mark.parametrize("sampler", ["random", "all", "class-wise", "batch"])
@pytest.mark.parametrize(
    ("loss", "distance"),
    [
        (loss, distance)
        for loss in LOSSES
        for distance in DISTANCES
        if loss != "t-distribution" or distance in ("euclidean", "manhattan")
    ],
)
def test_the_learner_gives_the_same_by_either_head(sampler, loss, distance):
    numbers = new_points(60, 3, torch.float32)
    values = one_hot(torch.arange(60) % 3, 3).float()
    fit = Labeled(
        Rows(numbers, torch.zeros(60, 0), torch.zeros(60, 0).long()),
        values,
        values,
        torch.linspace(1, 3, 60),
    )
    results = []
    for fused in (True, False):
        torch.manual_seed(0)
        net = Net(NetShape(3, 0, 0, dim=8, learn_temperature=True))
        learner = NeighborLearner(
            net,
            fit,
            None,
            method=Method(
                distance=DISTANCES[distance],
                kernel=LOSSES[loss].kernel,
                objective=LOSSES[loss].classes,
                sampler=SAMPLERS[sampler],
                label_smoothing=0.1,
                fused=fused,
            ),
            judge=lambda votes: (0.0, 0.0),
            generator=torch.Generator().manual_seed(0),
        )
        value = learner.loss(torch.arange(10, 30))
        value.backward()
        slopes = [p.grad for p in net.parameters() if p.grad is not None]
        results.append((value.detach(), slopes))
    (ours, our_slopes), (theirs, their_slopes) = results
    close(ours, theirs, 1e-5)
    # Biases shift all points alike: their gradients are rounding only.
    largest = max(slope.abs().max() for slope in their_slopes)
    for one, two in zip(our_slopes, their_slopes, strict=True):
        assert (one - two).abs().max() < 1e-4 * largest


def test_only_known_kernels_are_streamed():
    assert set(GEOMETRIES) < set(DISTANCES.values())
    assert LOSSES["log"].kernel is exponential
