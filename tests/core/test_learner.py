"""The learner: no label leaks to its own row, and the loss is the paper's."""

import math

import pytest
import torch
from torch.nn.functional import one_hot

from modernnca.core.distances import euclidean, manhattan, squared_euclidean
from modernnca.core.learner import Labeled, Method, NeighborLearner
from modernnca.core.losses import kl_to_class, log_loss, squared_error
from modernnca.core.net import Net, NetShape
from modernnca.core.rows import Rows
from modernnca.core.samplers import SAMPLERS, Sample, sample_all, sample_random
from modernnca.core.softnn import exponential, student

N_ROWS = 12
BATCH = torch.tensor([4, 9, 1, 6])
CLASSES = torch.arange(N_ROWS) % 3
SHAPE = NetShape(
    n_numbers=3, n_plain=1, n_levels=2, n_frequencies=4, d_encoding=3, dim=4, d_block=8
)


def draw_again_and_again(batch, crowd):
    """A malicious sampler: the batch again, twice, in another order."""
    outside = sample_all(batch, crowd).others
    return Sample(torch.cat([batch.flip(0), outside, batch.roll(1)]))


@pytest.fixture
def rows(draw):
    codes = torch.arange(N_ROWS)[:, None] % 3
    return Rows(draw(N_ROWS, 3), draw(N_ROWS, 1), codes)


@pytest.fixture
def numbers(draw):
    return draw(N_ROWS, 1)


def labeled(rows, labels, weights=None):
    return Labeled(rows, labels, labels, weights)


def new_net(**settings):
    torch.manual_seed(0)
    return Net(NetShape(**(vars(SHAPE) | settings))).double()


def new_learner(fit, *, stop=None, net=None, judge=None, seed=0, **parts):
    parts = {
        "distance": squared_euclidean,
        "kernel": exponential,
        "objective": log_loss if fit.labels.shape[1] > 1 else squared_error,
        "sampler": sample_all,
    } | parts
    return NeighborLearner(
        net or new_net(),
        fit,
        stop,
        method=Method(**parts),
        judge=judge or (lambda votes: (0.0, 0.0)),
        generator=torch.Generator().manual_seed(seed),
    )


def votes_of(fit, batch, **parts):
    """What the batch is told in one training step, (B, V)."""
    told = []

    def listen(log_shares, values, targets):
        told.append(log_shares.exp() @ values)
        return log_shares.new_zeros(len(log_shares))

    new_learner(fit, objective=listen, **parts).loss(batch)
    return told[0]


def validated(fit, **parts):
    """The votes that are judged in a validation, (B, V)."""
    told = []
    learner = new_learner(fit, judge=lambda v: told.append(v) or (0.0, 0.0), **parts)
    learner.validate()
    return told[0]


def slow_vote(points, i, keys, values, weights=None):
    """Equation (4) of the paper for row `i`, over the row numbers in `keys`."""
    weight = [
        math.exp(-(points[i] - points[j]).square().sum())
        * (1 if weights is None else float(weights[j]))
        for j in keys
    ]
    return sum(w * values[j] for w, j in zip(weight, keys, strict=True)) / sum(weight)


# ------------------------------------------------------------------- no leaks


@pytest.mark.parametrize(
    "sampler", [*SAMPLERS.values(), draw_again_and_again], ids=lambda s: s.__name__
)
@pytest.mark.parametrize("n_blocks", [0, 1])
def test_no_label_reaches_its_own_row(rows, sampler, n_blocks):
    # The vote is linear in the labels: what row i is told, derived by each label.
    values = one_hot(CLASSES).double().requires_grad_()
    told = votes_of(
        labeled(rows, values),
        BATCH,
        sampler=sampler,
        net=new_net(n_blocks=n_blocks, dropout=0.0),
    )
    for i, row in enumerate(BATCH.tolist()):
        (slope,) = torch.autograd.grad(told[i, 0], values, retain_graph=True)
        voices = slope[:, 0]
        assert voices[row] == 0
        assert voices.sum().item() == pytest.approx(1)


@pytest.mark.parametrize("sampler", [sample_all, draw_again_and_again])
def test_changing_ones_own_label_changes_nothing_one_is_told(rows, numbers, sampler):
    before = votes_of(labeled(rows, numbers), BATCH, sampler=sampler)
    for i, row in enumerate(BATCH.tolist()):
        changed = numbers.clone()
        changed[row] += 1000
        after = votes_of(labeled(rows, changed), BATCH, sampler=sampler)
        assert torch.equal(after[i], before[i])
        others = [j for j in range(len(BATCH)) if j != i]
        assert (after[others] > before[others]).all()


def test_a_row_drawn_twice_speaks_once_and_never_to_itself(rows, numbers):
    # Only a mask by row number, not by place, does this.
    fit, net = labeled(rows, numbers), new_net()
    batch = BATCH.tolist()
    outside = [j for j in range(N_ROWS) if j not in batch]
    points = net(rows).detach()
    expected = torch.stack(
        [
            slow_vote(points, i, [j for j in batch + outside if j != i], numbers)
            for i in batch
        ]
    )
    told = votes_of(fit, BATCH, sampler=draw_again_and_again, net=net)
    torch.testing.assert_close(told, expected)
    loss = new_learner(fit, sampler=draw_again_and_again, net=net).loss(BATCH)
    torch.testing.assert_close(loss, (expected - numbers[BATCH]).square().mean())


def test_no_label_reaches_its_own_row_when_it_is_judged(rows, numbers):
    before = validated(labeled(rows, numbers), stop=None)
    for row in range(N_ROWS):
        changed = numbers.clone()
        changed[row] += 1000
        after = validated(labeled(rows, changed), stop=None)
        assert torch.equal(after[row], before[row])


MOMENTS = torch.tensor([5, 3, 0, 7, 3, 2, 9, 1, 4, 8, 6, 6])


@pytest.mark.parametrize(
    "sampler", [*SAMPLERS.values(), draw_again_and_again], ids=lambda s: s.__name__
)
def test_no_later_label_reaches_a_row_that_learns_from_the_past(rows, sampler):
    values = one_hot(CLASSES).double().requires_grad_()
    fit = labeled(rows, values)._replace(moments=MOMENTS)
    told = votes_of(fit, BATCH, sampler=sampler, learn_from_past=True)
    for i, row in enumerate(BATCH.tolist()):
        (slope,) = torch.autograd.grad(told[i, 0], values, retain_graph=True)
        heard = slope[:, 0].nonzero()[:, 0].tolist()
        mates = [j for j in BATCH.tolist() if j != row and MOMENTS[j] <= MOMENTS[row]]
        if not set(heard) & set(mates) and sampler is SAMPLERS["batch"]:
            continue  # it has nobody before it, and does not count: see below
        assert row not in heard
        assert (MOMENTS[heard] <= MOMENTS[row]).all()


def test_the_loss_of_the_past_by_hand(rows, numbers):
    net, batch = new_net(), torch.tensor([2, 7, 4])  # at moments 0, 1, 3
    points = net(rows).detach()
    second = slow_vote(points, 7, [2], numbers)
    third = slow_vote(points, 4, [2, 7], numbers)
    expected = [(second - numbers[7]) ** 2, (third - numbers[4]) ** 2]
    fit = labeled(rows, numbers)._replace(moments=MOMENTS)
    parts = {"net": net, "sampler": SAMPLERS["batch"], "learn_from_past": True}
    loss = new_learner(fit, **parts).loss(batch)
    torch.testing.assert_close(loss, torch.stack(expected).mean())  # the first: nobody
    alone = new_learner(fit, **parts).loss(torch.tensor([2]))
    assert alone.item() == 0  # and no division by no rows


@pytest.mark.parametrize("distance", [squared_euclidean, manhattan])
def test_who_is_judged_hears_nobody_later(rows, numbers, distance):
    fit = labeled(rows, numbers)._replace(moments=MOMENTS)
    stop = fit._replace(moments=torch.full((N_ROWS,), 4))
    parts = {"stop": stop, "distance": distance}
    before = validated(fit, **parts)
    changed = numbers.clone()
    changed[MOMENTS > 4] += 1000
    assert torch.equal(validated(fit._replace(values=changed), **parts), before)
    changed[MOMENTS == 4] += 1000
    assert (validated(fit._replace(values=changed), **parts) > before).all()


def test_nobody_later_judges_where_each_is_judged_by_the_others(rows, numbers):
    fit = labeled(rows, numbers)._replace(moments=MOMENTS)
    before = validated(fit, stop=None)
    for row in range(N_ROWS):
        changed = numbers.clone()
        changed[row] += 1000
        after = validated(fit._replace(values=changed), stop=None)
        told = (after != before).squeeze(1)
        told[2] = False  # the earliest has nobody before it: all others answer
        assert told.tolist() == [
            j not in (row, 2) and bool(MOMENTS[j] >= MOMENTS[row])
            for j in range(N_ROWS)
        ]


# ---------------------------------------------------------- the loss of a batch


@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_is_the_papers(rows, numbers, kind, weighted, draw):
    labels = one_hot(CLASSES).double() if kind == "classes" else numbers
    weights = draw(N_ROWS).exp() if weighted else None
    net = new_net()
    points = net(rows).detach()
    losses = []
    for i in BATCH.tolist():
        others = [j for j in range(N_ROWS) if j != i]
        vote = slow_vote(points, i, others, labels, weights)
        if kind == "classes":
            losses.append(-math.log(vote[CLASSES[i]] + 1e-7))
        else:
            losses.append(float((vote - labels[i]) ** 2))
    share = torch.ones(4).double() if weights is None else weights[BATCH]
    expected = (torch.tensor(losses).double() * share).sum() / share.sum()
    found = new_learner(labeled(rows, labels, weights), net=net).loss(BATCH)
    torch.testing.assert_close(found, expected)


def test_only_the_batch_and_the_sampled_rows_are_embedded(rows, numbers):
    net, seen = new_net(), []
    net.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0]))

    def two_rows(batch, crowd):
        return Sample(torch.tensor([0, 11]))

    new_learner(labeled(rows, numbers), net=net, sampler=two_rows).loss(BATCH)
    (asked,) = seen  # one pass
    assert torch.equal(asked.numbers, rows.numbers[[4, 9, 1, 6, 0, 11]])


def test_a_samplers_silence_is_heeded(rows, numbers):
    def hear_one(batch, crowd):  # each row hears row 0, the first also row 11
        silent = torch.ones(4, 6, dtype=torch.bool)
        silent[:, 4] = silent[0, 5] = False
        return Sample(torch.tensor([0, 11]), silent)

    told = votes_of(labeled(rows, numbers), BATCH, sampler=hear_one)
    torch.testing.assert_close(told[1:], numbers[[0, 0, 0]])
    assert numbers[[0, 11]].min() < told[0] < numbers[[0, 11]].max()


def test_label_smoothing_gives_a_part_to_all_classes(rows):
    fit, net = labeled(rows, one_hot(CLASSES).double()), new_net()
    told = votes_of(fit, BATCH, net=net)
    log_votes = (told + 1e-7).log()
    right = -log_votes[torch.arange(4), CLASSES[BATCH]]
    expected = (0.8 * right + 0.2 * -log_votes.mean(1)).mean()
    found = new_learner(fit, net=net, label_smoothing=0.2).loss(BATCH)
    torch.testing.assert_close(found, expected)


def test_the_loss_compares_labels_and_the_vote_carries_values(rows, numbers):
    # TabCon's regression: bins are compared, numbers are voted for.
    bins = one_hot(CLASSES).double()
    fit = Labeled(rows, numbers, bins, None)
    parts = {"objective": kl_to_class}
    torch.testing.assert_close(
        new_learner(fit, **parts).loss(BATCH),
        new_learner(labeled(rows, bins), **parts).loss(BATCH),
    )
    torch.testing.assert_close(validated(fit), validated(labeled(rows, numbers)))


def test_the_temperature_and_the_kernel_are_those_of_the_method(rows, numbers):
    # 1 / (1 + (d / T)^2), row by row.
    net = new_net(temperature=0.5)
    told = votes_of(
        labeled(rows, numbers), BATCH, net=net, distance=euclidean, kernel=student
    )
    points = net(rows).detach()
    for i, row in enumerate(BATCH.tolist()):
        others = [j for j in range(N_ROWS) if j != row]
        weights = 1 / (1 + ((points[row] - points[others]).norm(dim=1) / 0.5) ** 2)
        expected = weights @ numbers[others] / weights.sum()
        torch.testing.assert_close(told[i], expected)


def test_the_gradient_reaches_the_whole_net(rows):
    net = new_net(n_blocks=1, dropout=0.0, learn_temperature=True)
    new_learner(labeled(rows, one_hot(CLASSES).double()), net=net).loss(
        BATCH
    ).backward()
    still = [n for n, p in net.named_parameters() if not p.grad.abs().sum() > 0]
    # All rows go through the last norm together: its shift moves all points alike.
    assert still in ([], ["blocks.1.bias"])


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_lonely_row_can_be_learned_from(rows, name):
    net = new_net(n_blocks=1)  # BatchNorm refuses a single row
    fit = labeled(rows, one_hot(CLASSES).double())
    learner = new_learner(fit, net=net, sampler=SAMPLERS[name], rate=0.0)
    assert learner.loss(torch.tensor([5])).isfinite()


def test_equal_seeds_meet_equal_neighbors(rows, numbers):
    fit = labeled(rows, numbers)
    one, other, third = (
        new_learner(fit, sampler=sample_random, seed=seed) for seed in (0, 0, 1)
    )
    first = [one.loss(BATCH).item() for _ in range(3)]
    assert first == [other.loss(BATCH).item() for _ in range(3)]
    assert first != [third.loss(BATCH).item() for _ in range(3)]


def test_a_sampler_sees_the_present_distances_and_the_classes(rows, numbers):
    seen = []

    def look(batch, crowd):
        seen.append((crowd.distances(batch), crowd.classes))
        return sample_all(batch, crowd)

    for labels in (one_hot(CLASSES).double(), numbers):
        net = new_net(n_blocks=1, dropout=0.5).train()
        new_learner(labeled(rows, labels), net=net, sampler=look).loss(BATCH)
    (distances, classes), (_, none) = seen
    points = new_net(n_blocks=1).eval()(rows).detach()
    torch.testing.assert_close(distances, squared_euclidean(points[BATCH], points))
    assert not distances.requires_grad
    assert torch.equal(classes, CLASSES)
    assert none is None


# ------------------------------------------------------------------ BatchNorm


def test_a_row_has_one_embedding_as_query_and_as_key(rows, numbers):
    net, passes, pairs = new_net(n_blocks=2, dropout=0.5).train(), [], []
    net.register_forward_hook(lambda *_: passes.append(1))

    def spy(query, keys):
        pairs.append((query, keys))
        return squared_euclidean(query, keys)

    new_learner(labeled(rows, numbers), net=net, distance=spy).loss(BATCH)
    ((query, keys),) = pairs
    assert torch.equal(query, keys[: len(BATCH)])
    assert len(passes) == 1
    assert net.blocks[-1].num_batches_tracked == 1  # the statistics moved once


# ----------------------------------------------------------------- validation


def test_validation_is_in_evaluation_mode_and_leaves_the_mode_alone(rows, numbers):
    net = new_net(n_blocks=1, dropout=0.5).train()
    fit = labeled(rows, numbers)
    stop = labeled(rows.take(BATCH), numbers[BATCH])
    new_learner(fit, net=net).loss(BATCH)  # move the running statistics
    before = {name: value.clone() for name, value in net.state_dict().items()}
    found = validated(fit, stop=stop, net=net)
    assert torch.equal(found, validated(fit, stop=stop, net=net))
    assert all(module.training for module in net.modules())
    assert all(torch.equal(v, before[name]) for name, v in net.state_dict().items())

    points = net.eval()(rows).detach()
    expected = [slow_vote(points, i, range(N_ROWS), numbers) for i in BATCH.tolist()]
    torch.testing.assert_close(found, torch.stack(expected))


def test_leave_one_out_validation_is_removing_one_row_at_a_time(rows, numbers, draw):
    weights = draw(N_ROWS).exp()
    found = validated(labeled(rows, numbers, weights), stop=None)
    for i in range(N_ROWS):
        left = torch.tensor([j for j in range(N_ROWS) if j != i])
        alone = validated(
            labeled(rows.take(left), numbers[left], weights[left]),
            stop=labeled(rows.take(torch.tensor([i])), numbers[[i]]),
        )
        torch.testing.assert_close(found[i], alone[0])


def test_integer_weights_are_repeated_rows_in_validation(rows, numbers):
    times = torch.tensor([1, 2, 3] * 4)
    again = torch.arange(N_ROWS).repeat_interleave(times)
    stop = labeled(rows.take(BATCH), numbers[BATCH])
    torch.testing.assert_close(
        validated(labeled(rows, numbers, times.double()), stop=stop),
        validated(labeled(rows.take(again), numbers[again]), stop=stop),
    )


def test_the_hard_rule_judges_but_does_not_teach(rows, numbers):
    fit = labeled(rows, numbers)
    soft, hard = new_learner(fit), new_learner(fit, n_neighbors=1)
    torch.testing.assert_close(soft.loss(BATCH), hard.loss(BATCH))
    points = new_net()(rows)
    gaps = squared_euclidean(points, points).fill_diagonal_(torch.inf)
    torch.testing.assert_close(validated(fit, n_neighbors=1), numbers[gaps.argmin(1)])


def test_validation_returns_the_verdict_of_the_judge(rows, numbers):
    learner = new_learner(labeled(rows, numbers), judge=lambda votes: (0.25, 4.0))
    assert learner.validate() == (0.25, 4.0)
