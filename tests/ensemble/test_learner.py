"""The learner: no label leaks into its own row, and the loss is the paper's."""

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot

from modernnca.core.distances import DISTANCES, squared_euclidean
from modernnca.core.losses import LOSSES, Loss
from modernnca.core.network import InputShape, Network
from modernnca.core.rows import Examples, Rows
from modernnca.core.samplers import SAMPLERS, Sample, sample_all
from modernnca.core.softnn import exponential
from modernnca.ensemble import learner as learner_module
from modernnca.ensemble.learner import PAST_ONLY, MethodConfig, NeighborLearner
from modernnca.train.generators import Generators

N_ROWS = 12
BATCH = torch.tensor([4, 9, 1, 6])
CLASSES = torch.arange(N_ROWS) % 3
SHAPE = InputShape(n_numbers=3, n_plain=1, n_levels=2)
CONFIG = MethodConfig.defaults().updated(
    {
        "n_frequencies": 4,
        "d_encoding": 3,
        "dim": 4,
        "n_blocks": 0,
        "d_block": 8,
        "clip_to_range": False,
        "column_scales": "none",
        "temperature": 1.0,
        "distance": "squared-euclidean",
        "sampler": "all",
        "max_sampled": float("inf"),
        "n_knots": 0,
    }
)


def sample_repeatedly(batch, context):
    """A faulty sampler: the batch again, twice, in another order."""
    outside = sample_all(batch, context).others
    return Sample(torch.cat([batch.flip(0), outside, batch.roll(1)]))


@pytest.fixture(autouse=True)
def repeated(monkeypatch):
    monkeypatch.setitem(SAMPLERS, "repeated", sample_repeatedly)


ALL_SAMPLERS = [*SAMPLERS, "repeated"]


@pytest.fixture
def draw():
    """Normal numbers in float64, the same in every run."""
    generator = torch.Generator().manual_seed(0)

    def normal(*size):
        return torch.randn(*size, generator=generator, dtype=torch.float64)

    return normal


@pytest.fixture
def rows(draw):
    codes = torch.arange(N_ROWS)[:, None] % 3
    return Rows(draw(N_ROWS, 3), draw(N_ROWS, 1), codes)


@pytest.fixture
def numbers(draw):
    return draw(N_ROWS, 1)


def examples(rows, labels, weights=None):
    return Examples(rows, labels, labels, weights)


def at(rows, time):
    return rows._replace(time=time)


def new_network(**options):
    generators = Generators.from_seed(0, torch.device("cpu"))
    network = Network(CONFIG.updated(options), SHAPE, generators.module)
    network.draw_dropout_from(generators.device)
    return network.double()


def new_learner(train, *, valid=None, network=None, evaluate=None, seed=0, **options):
    config = CONFIG.updated(options)
    return NeighborLearner(
        network or new_network(),
        train,
        valid,
        config=config,
        evaluate=evaluate or (lambda votes: (0.0, 0.0)),
        generators=Generators.from_seed(seed, torch.device("cpu")),
    )


@pytest.fixture
def votes_of(monkeypatch):
    """A function that gives the votes on a batch in one training step, (B, V).

    The votes of the plain way have a gradient, those of the fused way have none.
    """

    def run(train, batch, *, kernel=exponential, fused=False, **options):
        seen = []

        def spy(votes, targets):
            seen.append(votes)
            return (votes * 0).sum(1)

        monkeypatch.setitem(LOSSES, "spy", Loss(spy, spy, kernel))
        new_learner(train, loss="spy", fused=fused, **options).loss(batch)
        (votes,) = seen
        return votes

    return run


def validated(train, **options):
    """The votes that are evaluated in a validation, (B, V)."""
    seen = []
    learner = new_learner(
        train, evaluate=lambda votes: seen.append(votes) or (0.0, 0.0), **options
    )
    learner.validate()
    (votes,) = seen
    assert votes.dtype == np.float64
    return torch.from_numpy(votes)


def slow_vote(points, i, keys, values, weights=None):
    """Equation (4) of the paper for row `i`, over the row numbers in `keys`."""
    weight = [
        math.exp(-(points[i] - points[j]).square().sum())
        * (1 if weights is None else float(weights[j]))
        for j in keys
    ]
    return sum(w * values[j] for w, j in zip(weight, keys, strict=True)) / sum(weight)


# ------------------------------------------------------------------- no leaks


@pytest.mark.parametrize("sampler", ALL_SAMPLERS)
@pytest.mark.parametrize("n_blocks", [0, 1])
def test_no_label_reaches_its_own_row(rows, sampler, n_blocks, votes_of):
    # The vote is linear in the labels: its gradient by a label is the share of a row.
    values = one_hot(CLASSES).double().requires_grad_()
    votes = votes_of(
        examples(rows, values),
        BATCH,
        sampler=sampler,
        network=new_network(n_blocks=n_blocks, dropout=0.0),
    )
    for i, row in enumerate(BATCH.tolist()):
        (gradient,) = torch.autograd.grad(votes[i, 0], values, retain_graph=True)
        shares = gradient[:, 0]
        assert shares[row] == 0
        assert shares.sum().item() == pytest.approx(1)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("sampler", ["all", "repeated"])
def test_changing_a_label_does_not_change_the_vote_on_its_row(
    rows, numbers, sampler, fused, votes_of
):
    options = {"sampler": sampler, "fused": fused}
    before = votes_of(examples(rows, numbers), BATCH, **options)
    for i, row in enumerate(BATCH.tolist()):
        changed = numbers.clone()
        changed[row] += 1e40  # so that no weight of its own is small enough
        after = votes_of(examples(rows, changed), BATCH, **options)
        assert torch.equal(after[i], before[i])
        others = [j for j in range(len(BATCH)) if j != i]
        assert (after[others] > before[others]).all()


@pytest.mark.parametrize("fused", [True, False])
def test_a_row_drawn_twice_votes_once_and_never_on_itself(
    rows, numbers, fused, votes_of
):
    # Only a mask by row number, not by place, does this.
    train, network = examples(rows, numbers), new_network()
    options = {"sampler": "repeated", "network": network, "fused": fused}
    batch = BATCH.tolist()
    outside = [j for j in range(N_ROWS) if j not in batch]
    points = network(rows).detach()
    expected = torch.stack(
        [
            slow_vote(points, i, [j for j in batch + outside if j != i], numbers)
            for i in batch
        ]
    )
    torch.testing.assert_close(votes_of(train, BATCH, **options), expected)
    loss = new_learner(train, **options).loss(BATCH)
    torch.testing.assert_close(loss, (expected - numbers[BATCH]).square().mean())


def test_no_label_reaches_its_own_row_in_leave_one_out_validation(rows, numbers):
    before = validated(examples(rows, numbers), valid=None)
    for row in range(N_ROWS):
        changed = numbers.clone()
        changed[row] += 1000
        after = validated(examples(rows, changed), valid=None)
        assert torch.equal(after[row], before[row])
        assert (after != before).sum() == N_ROWS - 1


TIME = torch.tensor([5, 3, 0, 7, 3, 2, 9, 1, 4, 8, 6, 6])


@pytest.mark.parametrize("sampler", ALL_SAMPLERS)
def test_no_later_label_reaches_a_row_if_only_the_past_votes(rows, sampler, votes_of):
    values = one_hot(CLASSES).double().requires_grad_()
    train = examples(at(rows, TIME), values)
    votes = votes_of(train, BATCH, sampler=sampler, past_only="always")
    for i, row in enumerate(BATCH.tolist()):
        (gradient,) = torch.autograd.grad(votes[i, 0], values, retain_graph=True)
        voting = gradient[:, 0].nonzero()[:, 0].tolist()
        earlier = [j for j in BATCH.tolist() if j != row and TIME[j] <= TIME[row]]
        if not set(voting) & set(earlier) and sampler == "batch":
            continue  # no row is earlier, so it is left out of the loss: see below
        assert row not in voting
        assert (TIME[voting] <= TIME[row]).all()


@pytest.mark.parametrize("past_only", PAST_ONLY)
def test_only_always_masks_the_future_in_training(rows, numbers, past_only, votes_of):
    train, network = examples(at(rows, TIME), numbers), new_network()
    votes = votes_of(train, BATCH, network=network, past_only=past_only)
    points = network(rows).detach()
    for i, row in enumerate(BATCH.tolist()):
        others = [j for j in range(N_ROWS) if j != row]
        if past_only == "always":
            others = [j for j in others if TIME[j] <= TIME[row]]
        torch.testing.assert_close(votes[i], slow_vote(points, row, others, numbers))


def test_the_loss_of_the_past_by_hand(rows, numbers):
    network, batch = new_network(), torch.tensor([2, 7, 4])  # at the times 0, 1, 3
    points = network(rows).detach()
    second = slow_vote(points, 7, [2], numbers)
    third = slow_vote(points, 4, [2, 7], numbers)
    expected = [(second - numbers[7]) ** 2, (third - numbers[4]) ** 2]
    train = examples(at(rows, TIME), numbers)
    options = {"network": network, "sampler": "batch", "past_only": "always"}
    loss = new_learner(train, **options).loss(batch)
    # The first row is left out: no row is earlier.
    torch.testing.assert_close(loss, torch.stack(expected).mean())
    alone = new_learner(train, **options).loss(torch.tensor([2]))
    assert alone.item() == 0  # not NaN, though no row is left


@pytest.mark.parametrize("distance", ["squared-euclidean", "manhattan"])
def test_later_rows_do_not_vote_on_validation_rows(rows, numbers, distance):
    train = examples(at(rows, TIME), numbers)
    valid = examples(at(rows, torch.full((N_ROWS,), 4)), numbers)
    options = {"valid": valid, "distance": distance}
    before = validated(train, **options)
    changed = numbers.clone()
    changed[TIME > 4] += 1000
    assert torch.equal(validated(train._replace(values=changed), **options), before)
    changed[TIME == 4] += 1000
    assert (validated(train._replace(values=changed), **options) > before).all()


def test_later_rows_do_not_vote_in_leave_one_out_validation(rows, numbers):
    train = examples(at(rows, TIME), numbers)
    before = validated(train, valid=None)
    for row in range(N_ROWS):
        changed = numbers.clone()
        changed[row] += 1000
        after = validated(train._replace(values=changed), valid=None)
        moved = (after != before).squeeze(1)
        moved[2] = False  # no row is earlier than row 2: all others vote on it
        assert moved.tolist() == [
            j not in (row, 2) and bool(TIME[j] >= TIME[row]) for j in range(N_ROWS)
        ]


# ---------------------------------------------------------- the loss of a batch


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_is_the_papers(rows, numbers, task, weighted, fused, draw):
    labels = one_hot(CLASSES).double() if task == "classification" else numbers
    weights = draw(N_ROWS).exp() if weighted else None
    network = new_network()
    points = network(rows).detach()
    losses = []
    for i in BATCH.tolist():
        others = [j for j in range(N_ROWS) if j != i]
        vote = slow_vote(points, i, others, labels, weights)
        if task == "classification":
            losses.append(-math.log(vote[CLASSES[i]] + 1e-7))
        else:
            losses.append(float((vote - labels[i]) ** 2))
    share = torch.ones(4).double() if weights is None else weights[BATCH]
    expected = (torch.tensor(losses).double() * share).sum() / share.sum()
    train = examples(rows, labels, weights)
    found = new_learner(train, network=network, fused=fused).loss(BATCH)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("fused", [True, False])
def test_only_the_batch_and_the_sampled_rows_are_embedded(
    rows, numbers, fused, monkeypatch
):
    network, seen = new_network(), []
    network.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0]))
    two_rows = Sample(torch.tensor([0, 11]))
    monkeypatch.setitem(SAMPLERS, "two", lambda batch, context: two_rows)
    train = examples(rows, numbers)
    new_learner(train, network=network, sampler="two", fused=fused).loss(BATCH)
    (embedded,) = seen  # one pass
    assert torch.equal(embedded.numbers, rows.numbers[[4, 9, 1, 6, 0, 11]])


@pytest.mark.parametrize("fused", [True, False])  # a mask rules out the fused way
def test_the_mask_of_a_sampler_is_applied(rows, numbers, fused, votes_of, monkeypatch):
    mask = torch.ones(4, 6, dtype=torch.bool)  # row 0 votes on all, row 11 on one
    mask[:, 4] = mask[0, 5] = False
    sample = Sample(torch.tensor([0, 11]), mask)
    monkeypatch.setitem(SAMPLERS, "masked", lambda batch, context: sample)
    votes = votes_of(examples(rows, numbers), BATCH, sampler="masked", fused=fused)
    torch.testing.assert_close(votes[1:], numbers[[0, 0, 0]])
    assert numbers[[0, 11]].min() < votes[0] < numbers[[0, 11]].max()


@pytest.mark.parametrize("fused", [True, False])
def test_label_smoothing_gives_a_part_to_all_classes(rows, fused, votes_of):
    train, network = examples(rows, one_hot(CLASSES).double()), new_network()
    votes = votes_of(train, BATCH, network=network)
    log_votes = (votes + 1e-7).log()
    right = -log_votes[torch.arange(4), CLASSES[BATCH]]
    expected = (0.8 * right + 0.2 * -log_votes.mean(1)).mean()
    options = {"network": network, "label_smoothing": 0.2, "fused": fused}
    found = new_learner(train, **options).loss(BATCH)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("loss", ["mcml", "log"])
def test_the_loss_compares_labels_and_the_vote_is_of_values(rows, numbers, loss, fused):
    # TabCon's regression: bins are compared, numbers are voted for.
    bins, options = one_hot(CLASSES).double(), {"loss": loss, "fused": fused}
    train = Examples(rows, numbers, bins)
    torch.testing.assert_close(
        new_learner(train, **options).loss(BATCH),
        new_learner(examples(rows, bins), **options).loss(BATCH),
    )
    torch.testing.assert_close(
        validated(train, **options), validated(examples(rows, numbers), **options)
    )


def test_the_temperature_and_the_kernel_are_those_of_the_config(
    rows, numbers, votes_of
):
    # 1 / (1 + (d / T)^2), row by row.
    network = new_network(temperature=0.5)
    kernel = LOSSES["t-distribution"].kernel
    options = {"network": network, "distance": "euclidean", "kernel": kernel}
    votes = votes_of(examples(rows, numbers), BATCH, **options)
    points = network(rows).detach()
    for i, row in enumerate(BATCH.tolist()):
        others = [j for j in range(N_ROWS) if j != row]
        weights = 1 / (1 + ((points[row] - points[others]).norm(dim=1) / 0.5) ** 2)
        expected = weights @ numbers[others] / weights.sum()
        torch.testing.assert_close(votes[i], expected)


@pytest.mark.parametrize("fused", [True, False])
def test_every_parameter_has_a_gradient(rows, fused):
    options = {"n_blocks": 1, "dropout": 0.0, "temperature": "learned"}
    network = new_network(**options, column_scales="learned")
    train = examples(rows, one_hot(CLASSES).double())
    new_learner(train, network=network, fused=fused).loss(BATCH).backward()
    without = [n for n, p in network.named_parameters() if not p.grad.abs().sum() > 0]
    # All rows go through the last norm together: its shift moves all points alike.
    assert without in ([], ["blocks.1.bias"])


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_batch_of_one_row_has_a_loss(rows, name):
    network = new_network(n_blocks=1)  # BatchNorm raises for a single row
    train = examples(rows, one_hot(CLASSES).double())
    learner = new_learner(train, network=network, sampler=name, sample_rate=0.0)
    assert learner.loss(torch.tensor([5])).isfinite()


def test_equal_seeds_draw_equal_samples(rows, numbers):
    train = examples(rows, numbers)
    one, other, third = (
        new_learner(train, sampler="random", seed=seed) for seed in (0, 0, 1)
    )
    first = [one.loss(BATCH).item() for _ in range(3)]
    assert first == [other.loss(BATCH).item() for _ in range(3)]
    assert first != [third.loss(BATCH).item() for _ in range(3)]


def test_a_sampler_sees_the_present_distances_and_the_classes(
    rows, numbers, monkeypatch
):
    seen = []

    def spy(batch, context):
        seen.append((context.distances(batch), context.classes))
        return sample_all(batch, context)

    monkeypatch.setitem(SAMPLERS, "spy", spy)
    for labels in (one_hot(CLASSES).double(), numbers):
        network = new_network(n_blocks=1, dropout=0.5).train()
        train = examples(rows, labels)
        new_learner(train, network=network, sampler="spy").loss(BATCH)
    (distances, classes), (_, none) = seen
    points = new_network(n_blocks=1).eval()(rows).detach()
    torch.testing.assert_close(distances, squared_euclidean(points[BATCH], points))
    assert not distances.requires_grad
    assert torch.equal(classes, CLASSES)
    assert none is None


# ------------------------------------------------------------------ BatchNorm


def test_a_row_has_one_embedding_as_query_and_as_key(rows, numbers, monkeypatch):
    network, passes, pairs = new_network(n_blocks=2, dropout=0.5).train(), [], []
    network.register_forward_hook(lambda *_: passes.append(1))

    def spy(query, keys):
        pairs.append((query, keys))
        return squared_euclidean(query, keys)

    monkeypatch.setitem(DISTANCES, "spy", spy)
    train = examples(rows, numbers)
    new_learner(train, network=network, distance="spy").loss(BATCH)
    ((query, keys),) = pairs
    assert torch.equal(query, keys[: len(BATCH)])
    assert len(passes) == 1
    assert network.blocks[-1].num_batches_tracked == 1  # the statistics moved once


# ----------------------------------------------------------------- validation


def test_validation_is_in_evaluation_mode_and_restores_the_mode(rows, numbers):
    network = new_network(n_blocks=1, dropout=0.5).train()
    train = examples(rows, numbers)
    valid = examples(rows.take(BATCH), numbers[BATCH])
    new_learner(train, network=network).loss(BATCH)  # update the running statistics
    before = {name: value.clone() for name, value in network.state_dict().items()}
    found = validated(train, valid=valid, network=network)
    assert torch.equal(found, validated(train, valid=valid, network=network))
    assert all(module.training for module in network.modules())
    assert all(torch.equal(v, before[name]) for name, v in network.state_dict().items())

    points = network.eval()(rows).detach()
    expected = [slow_vote(points, i, range(N_ROWS), numbers) for i in BATCH.tolist()]
    torch.testing.assert_close(found, torch.stack(expected))


def test_leave_one_out_validation_equals_removing_one_row_at_a_time(
    rows, numbers, draw
):
    weights = draw(N_ROWS).exp()
    found = validated(examples(rows, numbers, weights), valid=None)
    for i in range(N_ROWS):
        left = torch.tensor([j for j in range(N_ROWS) if j != i])
        alone = validated(
            examples(rows.take(left), numbers[left], weights[left]),
            valid=examples(rows.take(torch.tensor([i])), numbers[[i]]),
        )
        torch.testing.assert_close(found[i], alone[0])


def test_integer_weights_equal_repeated_rows_in_validation(rows, numbers):
    counts = torch.tensor([1, 2, 3] * 4)
    again = torch.arange(N_ROWS).repeat_interleave(counts)
    valid = examples(rows.take(BATCH), numbers[BATCH])
    torch.testing.assert_close(
        validated(examples(rows, numbers, counts.double()), valid=valid),
        validated(examples(rows.take(again), numbers[again]), valid=valid),
    )


def test_the_hard_rule_is_used_in_validation_but_not_in_training(rows, numbers):
    train, knn = examples(rows, numbers), {"prediction": "knn", "n_neighbors": 1}
    soft, hard = new_learner(train), new_learner(train, **knn)
    torch.testing.assert_close(soft.loss(BATCH), hard.loss(BATCH))
    points = new_network()(rows).detach()
    distances = squared_euclidean(points, points).fill_diagonal_(torch.inf)
    torch.testing.assert_close(validated(train, **knn), numbers[distances.argmin(1)])


def test_validation_returns_the_result_of_the_evaluation(rows, numbers):
    learner = new_learner(examples(rows, numbers), evaluate=lambda votes: (0.25, 4.0))
    assert learner.validate() == (0.25, 4.0)


# ----------------------------------------------------------------- fast paths


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"sampler": "random"}, True),
        ({"sampler": "batch"}, True),
        ({"sampler": "all"}, False),
        ({"sampler": "random", "fused": False}, False),
        ({"sampler": "random", "loss": "mcml"}, False),
        ({"sampler": "random", "loss": "t-distribution"}, False),
        ({"sampler": "random", "distance": "manhattan"}, False),
        ({"sampler": "random", "past_only": "always"}, False),
        ({"sampler": "random", "past_only": "validation"}, True),
    ],
)
def test_a_step_is_capturable_if_it_is_fused_and_its_sampler_is(
    rows, options, expected, monkeypatch
):
    n_fused, original = [], learner_module.fused_loss

    def counted(*args, **kwargs):
        n_fused.append(1)
        return original(*args, **kwargs)

    monkeypatch.setattr(learner_module, "fused_loss", counted)
    train = examples(at(rows, TIME), one_hot(CLASSES).double())
    learner = new_learner(train, **options)
    assert learner.capturable is expected
    learner.loss(BATCH)
    assert len(n_fused) == (1 if expected or options["sampler"] == "all" else 0)


def test_knots_do_not_change_columns_with_few_values(rows, draw):
    # 30 distinct values are fewer than the 32 knots: the interpolation is exact.
    n_rows = 300
    numbers = torch.arange(n_rows)[:, None] * torch.tensor([7, 11, 13]) % 30 / 10
    plain, codes = draw(n_rows, 1), torch.arange(n_rows)[:, None] % 3
    many = Rows(numbers.double(), plain, codes)
    train = examples(many, draw(n_rows, 1))
    valid = examples(many.take(BATCH), draw(4, 1))
    results = []
    for n_knots in (32, 0):
        network, passes = new_network(clip_to_range=True), []
        network.prepare(many.numbers)
        network.register_forward_hook(lambda *_, passes=passes: passes.append(1))
        options = {"network": network, "n_knots": n_knots}
        loss = new_learner(train, **options).loss(BATCH)
        loss.backward()
        gradients = [parameter.grad for parameter in network.parameters()]
        votes = [validated(train, valid=part, **options) for part in (valid, None)]
        results.append([loss.detach(), *gradients, *votes])
        assert bool(passes) is (n_knots == 0)
    for with_knots, without in zip(*results, strict=True):
        torch.testing.assert_close(with_knots, without)


@pytest.mark.parametrize(
    ("n_rows", "options", "expected"),
    [
        (300, {"n_knots": 32}, True),
        (300, {"n_knots": 0}, False),
        (300, {"n_knots": 32, "encoding": "none"}, False),  # costs less than knots
        (250, {"n_knots": 32}, False),  # too few rows to gain
        (250, {"n_knots": 16}, True),
    ],
)
def test_knots_are_used_where_they_gain(draw, n_rows, options, expected):
    codes = torch.zeros(n_rows, 1).long()
    train = examples(Rows(draw(n_rows, 3), draw(n_rows, 1), codes), draw(n_rows, 1))
    network, passes = new_network(**options), []
    network.register_forward_hook(lambda *_: passes.append(1))
    new_learner(train, network=network, **options).loss(BATCH)
    assert (not passes) is expected
