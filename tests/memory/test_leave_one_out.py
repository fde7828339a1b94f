"""Leave-one-out votes of a memory are those of a memory without the row."""

import pytest
import torch

from modernnca.core.distances import DISTANCES
from modernnca.core.leaf_embedding import leaf_distance, leaf_kernel
from modernnca.core.origin import Origin
from modernnca.core.softnn import Rule, Votes, exponential, student
from modernnca.kernels.self_votes import self_votes
from modernnca.memory.exact_memory import ExactMemory

RULES = {
    **{name: Rule(distance, 0.3) for name, distance in DISTANCES.items()},
    "student": Rule(DISTANCES["euclidean"], 0.3, student),
    "knn": Rule(DISTANCES["euclidean"], n_neighbors=3),
    "forest": Rule(leaf_distance, kernel=leaf_kernel),
    "sharp": Rule(DISTANCES["squared-euclidean"], 0.001, exponential),
}
N_ROWS = 300  # more than a tile of the stream holds queries


def memory_of(draw, rule, *, weighted=False, timed=False, kept=None):
    keys, values, times = draw(N_ROWS, 3).round(decimals=1), draw(N_ROWS, 2), None
    keys[1] = keys[0]  # a row and its copy
    keys[2] = 100.0  # far from all others
    log_weights = draw(N_ROWS) if weighted else None
    if timed:
        times = torch.arange(N_ROWS) // 3 + 1
        times[N_ROWS // 2] = 0  # one row is earlier than all others
    kept = torch.arange(N_ROWS) if kept is None else kept
    return ExactMemory(
        keys[kept],
        values[kept],
        rule,
        log_weights=None if log_weights is None else log_weights[kept],
        origin=None if times is None else Origin(times[kept]),
    ), times


def removed_one_by_one(draw, rule, rows, **options):
    """The votes of memories that never had the row."""
    parts = []
    for row in rows.tolist():
        generator_state = draw.generator.get_state()
        whole, times = memory_of(draw, rule, **options)
        draw.generator.set_state(generator_state)
        others = torch.arange(N_ROWS)[torch.arange(N_ROWS) != row]
        rest, _ = memory_of(draw, rule, kept=others, **options)
        draw.generator.set_state(generator_state)
        time = None if times is None else times[row, None]
        if time is not None and bool((rest.origin.time > time).all()):
            time = None  # earlier than all others: it sees them all
        origin = None if time is None else Origin(time)
        parts.append(rest.vote(whole.keys[row, None], origin))
    return Votes(*(torch.cat(part) for part in zip(*parts, strict=True)))


class Draw:
    def __init__(self):
        self.generator = torch.Generator().manual_seed(0)

    def __call__(self, *size):
        return torch.randn(*size, generator=self.generator, dtype=torch.float64)


@pytest.mark.parametrize("options", [{}, {"weighted": True}, {"timed": True}], ids=str)
@pytest.mark.parametrize("name", RULES)
def test_no_row_votes_on_itself(name, options):
    rows = torch.tensor([0, 1, 2, 7, 130, N_ROWS // 2, N_ROWS - 1])
    expected = removed_one_by_one(Draw(), RULES[name], rows, **options)
    found = memory_of(Draw(), RULES[name], **options)[0].leave_one_out(rows)
    torch.testing.assert_close(found.mean, expected.mean)
    torch.testing.assert_close(found.log_weight, expected.log_weight)


def test_all_rows_at_once_are_what_each_is_alone():
    memory, _ = memory_of(Draw(), RULES["euclidean"], timed=True)
    together = memory.leave_one_out(torch.arange(N_ROWS)).mean
    alone = [memory.leave_one_out(torch.tensor([i])).mean for i in range(N_ROWS)]
    torch.testing.assert_close(together, torch.cat(alone))


def test_a_vote_that_was_all_the_rows_own_leaves_finite_numbers():
    # In float32 the share of the row itself is 1: nothing could be subtracted from it.
    memory, _ = memory_of(Draw(), RULES["sharp"])
    memory = ExactMemory(memory.keys.float(), memory.values.float(), RULES["sharp"])
    rows = torch.arange(N_ROWS)
    others = memory.leave_one_out(rows)
    distances = torch.cdist(memory.keys, memory.keys).fill_diagonal_(torch.inf)
    nearest = distances.amin(1).square() / 0.001
    assert others.mean.isfinite().all()
    assert (others.log_weight.squeeze(1) >= -nearest * 1.001).all()


def memory_of_many(scale, dtype, name="euclidean", *, weighted=False):
    draw = Draw()
    keys = (draw(1500, 3) * scale).to(dtype)
    keys[700] = keys[10]  # copies, in different tiles
    log_weights = draw(1500).to(dtype) if weighted else None
    rule, values = RULES[name], draw(1500, 2).to(dtype)
    return ExactMemory(keys, values, rule, log_weights=log_weights)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [name for name in DISTANCES if name != "manhattan"])
def test_each_pair_once_gives_the_same_votes(name, weighted):
    memory = memory_of_many(1.0, torch.float64, name, weighted=weighted)
    found, inexact = self_votes(memory._prepared, memory.rule.temperature)
    assert not inexact.any()
    expected = memory.leave_one_out(torch.arange(1500))
    torch.testing.assert_close(found.mean, expected.mean)
    torch.testing.assert_close(found.log_weight, expected.log_weight)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 5.0, 30.0, 1000.0])
@pytest.mark.parametrize("name", ["euclidean", "squared-euclidean", "sharp"])
def test_votes_do_not_depend_on_the_scale(scale, name):
    # Where one scale does not fit all rows, some or all are asked one way only.
    memory = memory_of_many(scale, torch.float32, name)
    found, expected = memory.leave_one_out(), memory.leave_one_out(torch.arange(1500))
    torch.testing.assert_close(found.mean, expected.mean, atol=1e-4, rtol=1e-4)


def test_rows_that_one_scale_does_not_fit_are_asked_again():
    keys = Draw()(1500, 64).float()
    keys[700] = keys[10]  # all others are far from each other
    rule = Rule(DISTANCES["euclidean"], 0.09)
    memory = ExactMemory(keys, Draw()(1500, 2).float(), rule)
    _, inexact = self_votes(memory._prepared, rule.temperature)
    assert inexact.nonzero().squeeze(1).tolist() == [10, 700]
    found, expected = memory.leave_one_out(), memory.leave_one_out(torch.arange(1500))
    torch.testing.assert_close(found.mean, expected.mean, atol=1e-4, rtol=1e-4)
