"""The fast paths equal the plain ones: the same votes, losses and gradients."""

import os

import pytest
import torch
from torch.nn.functional import one_hot

from modernnca.core import row_sum
from modernnca.core.distances import DISTANCES, euclidean, manhattan
from modernnca.core.losses import LOSSES, log_loss, missed_probability, squared_error
from modernnca.core.network import InputShape, Network, NetworkConfig, embed_rows
from modernnca.core.origin import Origin
from modernnca.core.row_sum import sum_rows
from modernnca.core.rows import Examples, Rows
from modernnca.core.softnn import Rule, exponential, soft_vote, student
from modernnca.core.transforms import TRANSFORMS
from modernnca.ensemble import learner as learner_module
from modernnca.ensemble.learner import MethodConfig, NeighborLearner
from modernnca.kernels.fused_loss import Batch, fused_loss
from modernnca.kernels.geometry import GEOMETRIES
from modernnca.kernels.knots import embed_cells, place_cells, place_knots
from modernnca.kernels.streaming import geometry_of, prepare_keys, stream_vote
from modernnca.train.generators import Generators

PLAIN = {
    "n_blocks": 0,
    "clip_to_range": False,
    "column_scales": "none",
    "temperature": 1.0,
}
VOTE_LOSSES = [log_loss, missed_probability, squared_error]
TOLERANCES = {torch.float64: (1e-9, 1e-8), torch.float32: (1e-5, 1e-4)}


def new_points(n: int, dim: int, dtype: torch.dtype, *, shift: float = 0.0):
    points = torch.randn(n, dim, generator=torch.Generator().manual_seed(1))
    return (points + shift).to(dtype)


def close(ours, theirs, tolerance):
    scale = theirs.abs().max().clamp_min(1e-12)
    assert ((ours - theirs).abs().max() / scale).item() < tolerance


# --------------------------------------------------------------- the fused loss


def plain_loss(points, temperature, batch, distance, vote_loss):
    mask = torch.eye(batch.n_queries, len(points), dtype=torch.bool)
    log_weights = None if batch.key_weights is None else batch.key_weights.log()
    votes = soft_vote(
        points[: batch.n_queries],
        points,
        batch.values,
        rule=Rule(distance, temperature),
        log_weights=log_weights,
        mask=mask,
    )
    losses = vote_loss(votes.mean, batch.targets)
    if batch.query_weights is None:
        return losses.mean()
    return (losses * batch.query_weights).sum() / batch.query_weights.sum()


def test_every_loss_of_votes_is_tested():
    listed = {
        vote_loss
        for loss in LOSSES.values()
        for vote_loss in (loss.classification, loss.regression)
    }
    assert listed - {None} == set(VOTE_LOSSES)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("vote_loss", VOTE_LOSSES, ids=lambda loss: loss.__name__)
@pytest.mark.parametrize("distance", GEOMETRIES, ids=lambda d: d.__name__)
def test_the_fused_loss_equals_the_plain_one(distance, vote_loss, weighted, dtype):
    values = one_hot(torch.arange(50) % 3, 3).to(dtype)
    weights = torch.linspace(0.5, 2, 50, dtype=dtype)
    weights[40] = 0  # masked for all queries
    batch = Batch(
        20,
        values,
        values[:20],
        weights if weighted else None,
        weights[:20] if weighted else None,
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
                vote_loss=vote_loss,
                n_at_once=7,
            )
        else:
            loss = plain_loss(points, temperature, batch, distance, vote_loss)
        loss.backward()
        results.append((loss.detach(), points.grad, temperature.grad))
    forward, backward = TOLERANCES[dtype]
    for (ours, theirs), tolerance in zip(
        zip(*results, strict=True), (forward, backward, backward), strict=True
    ):
        close(ours, theirs, tolerance)


def test_the_gradient_of_the_fused_loss_equals_finite_differences():
    values = one_hot(torch.arange(12) % 2, 2).double()

    def loss(points, temperature):
        return fused_loss(
            points,
            temperature,
            Batch(5, values, values[:5], None, None),
            geometry=GEOMETRIES[DISTANCES["euclidean"]],
            vote_loss=log_loss,
            n_at_once=2,
        )

    points = new_points(12, 3, torch.float64).requires_grad_()
    temperature = torch.tensor(0.8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(loss, (points, temperature))


@pytest.mark.parametrize("distance", GEOMETRIES, ids=lambda d: d.__name__)
def test_the_fused_loss_of_points_far_apart_equals_the_plain_one(distance):
    # The nearest other point is so far away that exp(-distance) is next to nothing.
    values = one_hot(torch.arange(12) % 3, 3).double()
    batch, temperature = Batch(5, values, values[:5], None, None), torch.tensor(1.0)
    results = []
    for fused in (True, False):
        points = (100 * new_points(12, 3, torch.float64)).requires_grad_()
        if fused:
            options = {"geometry": GEOMETRIES[distance], "vote_loss": squared_error}
            loss = fused_loss(points, temperature, batch, **options)
        else:
            loss = plain_loss(points, temperature, batch, distance, squared_error)
        loss.backward()
        results.append((loss.detach(), points.grad))
    (ours, our_gradient), (theirs, their_gradient) = results
    close(ours, theirs, 1e-9)
    torch.testing.assert_close(our_gradient, their_gradient, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("distance", GEOMETRIES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("n_apart", [10, 0])
def test_coinciding_rows_have_finite_gradients(distance, n_apart):
    points, generator = torch.ones(30, 4), torch.Generator().manual_seed(0)
    points[30 - n_apart :] += torch.randn(n_apart, 4, generator=generator)
    points.requires_grad_()
    values = one_hot(torch.arange(30) % 2, 2).float()
    fused_loss(
        points,
        torch.tensor(1.0),
        Batch(25, values, values[:25], None, None),
        geometry=GEOMETRIES[distance],
        vote_loss=log_loss,
    ).backward()
    assert points.grad.isfinite().all()
    assert points.grad.abs().max() < 10


# ------------------------------------------------------------- sums of rows


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_rows_equal_products_with_one_hots(weighted):
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(9, 4, dtype=torch.float64, generator=generator)
    index = torch.randint(9, (30, 3), generator=generator)
    weights = torch.rand(30, 3, dtype=torch.float64, generator=generator)
    picks = one_hot(index, 9).double()  # (N, C, R)
    picks = (picks * weights[..., None] if weighted else picks).sum(1)
    table.requires_grad_()
    ours = sum_rows(table, index, weights=weights if weighted else None)
    torch.testing.assert_close(ours, picks @ table)
    factor = torch.randn(30, 4, dtype=torch.float64, generator=generator)
    (gradient,) = torch.autograd.grad(ours, table, factor)
    torch.testing.assert_close(gradient, picks.T @ factor)


def test_long_and_short_indices_are_sorted_alike(monkeypatch):
    index = torch.randint(50, (400,), generator=torch.Generator().manual_seed(0))
    order, starts = row_sum._sort_rows(index, 53)
    monkeypatch.setattr(row_sum, "_MAX_DIGITS", 52)
    others = row_sum._sort_rows(index, 53)
    assert torch.equal(order, others[0])
    assert torch.equal(starts, others[1])


def test_a_padding_row_adds_nothing_and_gets_no_gradient():
    table = torch.ones(3, 2, requires_grad=True)
    index = torch.tensor([[0, 2], [2, 2]])
    out = sum_rows(table, index, padding_idx=2)
    assert out.tolist() == [[1, 1], [0, 0]]
    out.sum().backward()
    assert table.grad.tolist() == [[1, 1], [0, 0], [0, 0]]


# -------------------------------------------------------------------- knots


def new_network(n_numbers: int, **options) -> Network:
    config = NetworkConfig.defaults().updated({"dim": 16, **PLAIN, **options})
    generator = torch.Generator().manual_seed(0)
    return Network(config, InputShape(n_numbers, 1, 4), generator)


def new_rows(numbers):
    n = len(numbers)
    return Rows(numbers, torch.ones(n, 1), torch.arange(n)[:, None] % 5)


@pytest.mark.parametrize("encoding", ["plr-lite", "plr", "periodic", "pbld", "none"])
@pytest.mark.parametrize("n_blocks", [0, 1])
def test_columns_with_few_values_are_exact_between_knots(encoding, n_blocks):
    generator = torch.Generator().manual_seed(0)
    numbers = torch.randint(0, 20, (200, 3), generator=generator) / 4.0
    network = new_network(3, encoding=encoding, n_blocks=n_blocks).eval()
    rows, knots = new_rows(numbers), place_knots(numbers, 32)
    cells = place_cells(numbers, knots)
    torch.testing.assert_close(
        embed_cells(network, rows, knots, cells),
        embed_rows(network, rows),
        atol=1e-5,
        rtol=1e-4,
    )
    # The same gradients, too.
    factor = torch.randn(200, 16, generator=generator)
    gradients = []
    for embed in (
        lambda: network(rows),
        lambda: network.forward_cells(cells.look_up(network.knot_table(knots)), rows),
    ):
        network.zero_grad()
        (embed() * factor).sum().backward()
        gradients.append([p.grad for p in network.parameters() if p.grad is not None])
    for exact, fast in zip(*gradients, strict=True):
        close(fast, exact, 1e-4)


@pytest.mark.parametrize("clip", [True, False])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_and_scales_are_exact_at_the_knots(name, clip):
    generator = torch.Generator().manual_seed(0)
    numbers = torch.randint(0, 20, (200, 3), generator=generator) / 4.0
    options = {"numeric_transform": name, "clip_to_range": clip}
    network = new_network(3, column_scales="learned", **options).eval()
    network.prepare(numbers[:50])
    with torch.no_grad():
        network.scale.copy_(torch.tensor([0.5, 1.0, 2.0]))
    rows, knots = new_rows(numbers), place_knots(numbers, 32)
    found = embed_cells(network, rows, knots, place_cells(numbers, knots))
    torch.testing.assert_close(found, embed_rows(network, rows), atol=1e-5, rtol=1e-4)


def test_continuous_columns_come_closer_with_more_knots():
    numbers = torch.randn(5000, 2, generator=torch.Generator().manual_seed(0))
    network, rows = new_network(2), new_rows(numbers)
    exact = embed_rows(network, rows)
    errors = []
    for n_knots in (16, 64, 256):
        knots = place_knots(numbers, n_knots)
        fast = embed_cells(network, rows, knots, place_cells(numbers, knots))
        errors.append((fast - exact).abs().max().item())
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert errors[2] < 1e-3


def test_knots_reach_into_the_tails():
    column = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    column = torch.cat([column, torch.tensor([50.0])])[:, None]
    knots = place_knots(column, 64)[:, 0]
    assert knots[0] == column.min()
    assert knots[-1] == column.max()
    assert knots.diff().max() < (column.max() - column.min()) / 30


def test_cells_are_interpolated_linearly_and_clipped():
    knots = torch.tensor([[0.0, 5.0], [1.0, 6.0], [3.0, 6.0]])
    cells = place_cells(torch.tensor([[2.0, 5.5], [-1.0, 9.0]]), knots)
    table = torch.zeros(6, 2)  # a knot adds its value, in the place of its column
    table[:3, 0], table[3:, 1] = knots[:, 0], knots[:, 1]
    assert cells.look_up(table).tolist() == [[2.0, 5.5], [0.0, 6.0]]


# ----------------------------------------------------------- streamed votes


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("distance", GEOMETRIES, ids=lambda d: d.__name__)
def test_streamed_votes_equal_the_plain_ones(distance, weighted, dtype):
    # More than a tile; the tiles of kernels are smaller, and their interpreter is slow.
    n_keys, n_queries = (2000, 100) if "TRITON_INTERPRET" in os.environ else (9000, 300)
    keys = new_points(n_keys, 5, dtype)
    query = torch.cat([keys[:3], new_points(n_queries, 5, dtype, shift=0.3)])
    values = one_hot(torch.arange(n_keys) % 4, 4).to(dtype)
    log_weights = torch.linspace(-1, 1, n_keys, dtype=dtype) if weighted else None
    prepared = prepare_keys(keys, values, GEOMETRIES[distance], log_weights)
    votes = stream_vote(query, prepared, temperature=0.5)
    expected = soft_vote(
        query, keys, values, rule=Rule(distance, 0.5), log_weights=log_weights
    )
    close(votes.mean, expected.mean, TOLERANCES[dtype][0])
    torch.testing.assert_close(votes.log_weight, expected.log_weight)


@pytest.mark.parametrize("distance", GEOMETRIES, ids=lambda d: d.__name__)
def test_streamed_votes_of_past_rows_equal_the_plain_ones(distance):
    keys = new_points(9000, 5, torch.float64)
    query = torch.cat([keys[:3], new_points(300, 5, torch.float64, shift=0.3)])
    values = one_hot(torch.arange(9000) % 4, 4).double()
    # For early queries, all keys of the first tile are later.
    key_time, query_time = torch.arange(9000).flip(0) // 7, torch.arange(303) * 4
    origins = {"query_origin": Origin(query_time), "key_origin": Origin(key_time)}
    prepared = prepare_keys(keys, values, GEOMETRIES[distance], None)
    votes = stream_vote(query, prepared, temperature=0.5, **origins)
    later = key_time > query_time[:, None]
    expected = soft_vote(query, keys, values, rule=Rule(distance, 0.5), mask=later)
    close(votes.mean, expected.mean, 1e-9)
    torch.testing.assert_close(votes.log_weight, expected.log_weight)
    values[key_time > 8] += 1000  # no later label reaches the queries at 0, 4 and 8
    prepared = prepare_keys(keys, values, GEOMETRIES[distance], None)
    again = stream_vote(query, prepared, temperature=0.5, **origins)
    assert torch.equal(again.mean[:3], votes.mean[:3])


@pytest.mark.parametrize("distance", GEOMETRIES, ids=lambda d: d.__name__)
def test_streamed_votes_without_the_own_group_equal_the_plain_ones(distance):
    keys = new_points(5000, 5, torch.float64)
    query = torch.cat([keys[:3], new_points(30, 5, torch.float64, shift=0.3)])
    values = one_hot(torch.arange(5000) % 4, 4).double()
    group = torch.arange(5000) // 1500  # whole tiles are masked
    own = torch.tensor([0, 1, 2, 3, -1, 9] * 6)[:33]
    origins = {"query_origin": Origin(group=own), "key_origin": Origin(group=group)}
    prepared = prepare_keys(keys, values, GEOMETRIES[distance], None)
    votes = stream_vote(query, prepared, temperature=0.5, **origins)
    mask = group == own[:, None]
    expected = soft_vote(query, keys, values, rule=Rule(distance, 0.5), mask=mask)
    close(votes.mean, expected.mean, 1e-9)
    torch.testing.assert_close(votes.log_weight, expected.log_weight)


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
def test_the_fused_loss_of_a_learner_equals_the_plain_one(
    sampler, loss, distance, monkeypatch
):
    n_fused = []

    def counted(*args, **kwargs):
        n_fused.append(1)
        return fused_loss(*args, **kwargs)

    monkeypatch.setattr(learner_module, "fused_loss", counted)
    numbers = new_points(60, 3, torch.float32)
    values = one_hot(torch.arange(60) % 3, 3).float()
    train = Examples(
        Rows(numbers, torch.zeros(60, 0), torch.zeros(60, 0).long()),
        values,
        values,
        torch.linspace(1, 3, 60),
    )
    results = []
    for fused in (True, False):
        generators = Generators.from_seed(0, torch.device("cpu"))
        config = MethodConfig.defaults().updated(
            {
                **PLAIN,
                "dim": 8,
                "temperature": "learned",
                "distance": distance,
                "loss": loss,
                "sampler": sampler,
                "max_sampled": float("inf"),
                "label_smoothing": 0.1,
                "n_knots": 0,
                "fused": fused,
            }
        )
        network = Network(config, InputShape(3, 0, 0), generators.module)
        learner = NeighborLearner(
            network, train, None, config=config, evaluate=None, generators=generators
        )
        value = learner.loss(torch.arange(10, 30))
        value.backward()
        gradients = [p.grad for p in network.parameters() if p.grad is not None]
        results.append((value.detach(), gradients))
    fusible = loss in ("log", "sum") and distance != "manhattan"
    assert len(n_fused) == (1 if fusible else 0)
    (ours, our_gradients), (theirs, their_gradients) = results
    close(ours, theirs, 1e-5)
    # Biases shift all points alike: their gradients are rounding only.
    largest = max(gradient.abs().max() for gradient in their_gradients)
    for one, two in zip(our_gradients, their_gradients, strict=True):
        assert (one - two).abs().max() < 1e-4 * largest


def test_only_known_distances_and_kernels_are_streamed():
    assert set(GEOMETRIES) < set(DISTANCES.values())
    assert LOSSES["log"].kernel is exponential
    assert geometry_of(Rule(euclidean)) is GEOMETRIES[euclidean]
    assert geometry_of(Rule(manhattan)) is None
    assert geometry_of(Rule(euclidean, kernel=student)) is None
    assert geometry_of(Rule(euclidean, n_neighbors=5)) is None
