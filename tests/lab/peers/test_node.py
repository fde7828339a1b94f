"""NODE's trees against a tree walked by hand, and its first thresholds."""

import itertools

import torch
from tests.lab.peers.shapes import some_rows

from modernnca.core.rows import Rows
from modernnca.lab.peers.net_model import TableShape
from modernnca.lab.peers.node import NODE, Prepared, Trees
from modernnca.lab.peers.sparse import entmax15, entmoid15
from modernnca.lab.peers.supervised import Examples


def a_node(shape, **sizes):
    torch.manual_seed(0)
    chosen = {"n_layers": 2, "n_trees": 6, "depth": 3, "d_tree": 2}
    return NODE(shape, **{**chosen, **sizes})


def set_hard_questions(trees, columns, thresholds):
    """Let question i ask column `columns[i]` alone, almost without softness."""
    with torch.no_grad():
        trees.choice.zero_()
        trees.choice[torch.arange(len(columns)), torch.tensor(columns)] = 9.0
        trees.threshold.copy_(torch.tensor(thresholds)[:, None])
        trees.log_temperature.fill_(-9.0)


def test_a_hard_tree_is_an_oblivious_decision_tree():
    trees = Trees(3, n_trees=1, depth=2, d_answer=1)
    set_hard_questions(trees, [2, 0], [0.5, -1.0])
    with torch.no_grad():
        trees.answer.copy_(torch.tensor([[[10.0, 20.0, 30.0, 40.0]]]))
    # x2 > 0.5 adds one to the number of the leaf, x0 > -1 adds two.
    rows = torch.tensor([[-2, 0, 0], [-2, 0, 1], [0, 0, 0], [0, 0, 1.0]])
    assert trees(rows.T).flatten().tolist() == [10.0, 20.0, 30.0, 40.0]


def slow_trees(trees, x):
    """Walk every path of every tree for every row: (d, B) to (T, C, B)."""
    n_trees, d_answer, n_leaves = trees.answer.shape
    depth = n_leaves.bit_length() - 1
    choice = entmax15(trees.choice).view(n_trees, depth, -1)
    threshold = trees.threshold.view(n_trees, depth)
    temperature = trees.log_temperature.view(n_trees, depth).exp()
    out = torch.zeros(n_trees, d_answer, x.shape[1])
    for tree, row in itertools.product(range(n_trees), range(x.shape[1])):
        for path in itertools.product((0, 1), repeat=depth):
            weight, leaf = 1.0, 0
            for d, turn in enumerate(path):
                asked = (choice[tree, d] * x[:, row]).sum() - threshold[tree, d]
                right = entmoid15(asked / temperature[tree, d])
                weight = weight * (right if turn else 1 - right)
                leaf += turn * 2**d
            out[tree, :, row] += weight * trees.answer[tree, :, leaf]
    return out


def test_soft_trees_are_the_sum_over_all_paths():
    torch.manual_seed(0)
    for depth, d_answer in ((1, 1), (3, 2), (4, 7)):
        trees = Trees(5, n_trees=3, depth=depth, d_answer=d_answer)
        x = torch.randn(5, 4)
        trees.prepare(x)
        with torch.no_grad():
            assert torch.allclose(trees(x), slow_trees(trees, x), atol=1e-5)


def test_thresholds_begin_at_quantiles_of_what_is_asked():
    torch.manual_seed(0)
    trees = Trees(4, n_trees=500, depth=4, d_answer=1)
    x = torch.randn(4, 300).exp()
    trees.prepare(x)
    asked = (entmax15(trees.choice) @ x).detach()
    below = (asked <= trees.threshold).float().mean(1)  # the quantile of each
    assert (asked == trees.threshold).any(1).all()
    marks = torch.linspace(0.1, 0.9, 9)
    assert torch.allclose(below.quantile(marks), marks, atol=0.04)


def test_no_row_is_cut_off_at_the_beginning():
    torch.manual_seed(0)
    trees = Trees(4, n_trees=50, depth=4, d_answer=1)
    x = torch.randn(4, 300)
    trees.prepare(x)
    asked = entmax15(trees.choice) @ x - trees.threshold
    reach = (asked.abs() / trees.log_temperature.exp()).amax(1)
    assert torch.allclose(reach, torch.ones(200), atol=1e-5)
    trees.prepare(torch.ones(4, 300))  # a constant has no reach
    assert (trees.log_temperature == 0).all()


def test_each_layer_reads_the_columns_and_all_answers_before():
    rows, shape = some_rows(d_out=3)
    net = a_node(shape, n_layers=3)
    net.prepare(rows)
    x, answers = net.flat(rows).T, []
    for layer in net.layers:
        answers.append(layer(x))
        x = torch.cat([x, answers[-1].reshape(-1, x.shape[1])])
    expected = sum(a.sum(0) for a in answers).T / (3 * 6)
    assert torch.allclose(net(rows), expected, atol=1e-6)


def test_only_the_first_numbers_of_a_tree_answer_and_the_others_go_on():
    rows, shape = some_rows(d_out=1)
    net = a_node(shape, d_tree=3)
    net.prepare(rows)
    net(rows).sum().backward()
    first, last = (layer.answer.grad.abs().sum((0, 2)) for layer in net.layers)
    assert (first > 0).all()
    assert last[0] > 0
    assert (last[1:] == 0).all()


def test_the_learner_prepares_all_layers_with_rows_drawn_at_random():
    rows = Rows(
        torch.arange(5000.0)[:, None],
        torch.zeros(5000, 0),
        torch.zeros(5000, 0, dtype=torch.long),
    )
    net = a_node(TableShape(1, 0, (), 2))
    examples = Examples(rows, torch.zeros(5000, dtype=torch.long))
    Prepared(
        net,
        examples,
        examples,
        criterion=torch.nn.functional.cross_entropy,
        judge=lambda answers: (0.0, 0.0),
        generator=torch.Generator().manual_seed(0),
    )
    assert net.layers[0].threshold.max() > 3000  # not the first rows
    assert net.layers[0].log_temperature.exp().min() > 2000
    assert (net.layers[1].threshold != 0).all()
