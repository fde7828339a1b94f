"""NODE: its trees against explicit paths, and the data-aware initialization."""

import itertools

import torch
from tests.lab.peers.shapes import make_rows

from modernnca.core.rows import Rows
from modernnca.lab.peers.entmax import entmax15, entmoid15
from modernnca.lab.peers.net_model import TableShape
from modernnca.lab.peers.node import NODE, NODELearner, ObliviousTrees
from modernnca.lab.peers.supervised import LabeledRows


def make_node(shape, **sizes):
    torch.manual_seed(0)
    chosen = {"n_layers": 2, "n_trees": 6, "depth": 3, "d_tree": 2}
    return NODE(shape, **{**chosen, **sizes})


def set_hard_splits(trees, columns, thresholds):
    """Let split i use column `columns[i]` alone, almost without softness."""
    with torch.no_grad():
        trees.choice.zero_()
        trees.choice[torch.arange(len(columns)), torch.tensor(columns)] = 9.0
        trees.threshold.copy_(torch.tensor(thresholds)[:, None])
        trees.log_temperature.fill_(-9.0)


def test_a_hard_tree_is_an_oblivious_decision_tree():
    trees = ObliviousTrees(3, n_trees=1, depth=2, d_response=1)
    set_hard_splits(trees, [2, 0], [0.5, -1.0])
    with torch.no_grad():
        trees.response.copy_(torch.tensor([[[10.0, 20.0, 30.0, 40.0]]]))
    # x2 > 0.5 adds one to the index of the leaf, x0 > -1 adds two.
    rows = torch.tensor([[-2, 0, 0], [-2, 0, 1], [0, 0, 0], [0, 0, 1.0]])
    assert trees(rows.T).flatten().tolist() == [10.0, 20.0, 30.0, 40.0]


def slow_trees(trees, x):
    """Loop over the paths of every tree for every row: (d, B) to (T, C, B)."""
    n_trees, d_response, n_leaves = trees.response.shape
    depth = n_leaves.bit_length() - 1
    choice = entmax15(trees.choice).view(n_trees, depth, -1)
    threshold = trees.threshold.view(n_trees, depth)
    temperature = trees.log_temperature.view(n_trees, depth).exp()
    out = torch.zeros(n_trees, d_response, x.shape[1])
    for tree, row in itertools.product(range(n_trees), range(x.shape[1])):
        for path in itertools.product((0, 1), repeat=depth):
            weight, leaf = 1.0, 0
            for d, turn in enumerate(path):
                margin = (choice[tree, d] * x[:, row]).sum() - threshold[tree, d]
                right = entmoid15(margin / temperature[tree, d])
                weight = weight * (right if turn else 1 - right)
                leaf += turn * 2**d
            out[tree, :, row] += weight * trees.response[tree, :, leaf]
    return out


def test_soft_trees_are_the_sum_over_all_paths():
    torch.manual_seed(0)
    for depth, d_response in ((1, 1), (3, 2), (4, 7)):
        trees = ObliviousTrees(5, n_trees=3, depth=depth, d_response=d_response)
        x = torch.randn(5, 4)
        trees.initialize(x)
        with torch.no_grad():
            assert torch.allclose(trees(x), slow_trees(trees, x), atol=1e-5)


def test_initial_thresholds_are_random_quantiles():
    torch.manual_seed(0)
    trees = ObliviousTrees(4, n_trees=500, depth=4, d_response=1)
    x = torch.randn(4, 300).exp()
    trees.initialize(x)
    values = (entmax15(trees.choice) @ x).detach()
    below = (values <= trees.threshold).float().mean(1)  # the quantile of each
    assert (values == trees.threshold).any(1).all()
    marks = torch.linspace(0.1, 0.9, 9)
    assert torch.allclose(below.quantile(marks), marks, atol=0.04)


def test_initially_no_row_is_beyond_one_temperature():
    torch.manual_seed(0)
    trees = ObliviousTrees(4, n_trees=50, depth=4, d_response=1)
    x = torch.randn(4, 300)
    trees.initialize(x)
    margin = entmax15(trees.choice) @ x - trees.threshold
    spread = (margin.abs() / trees.log_temperature.exp()).amax(1)
    assert torch.allclose(spread, torch.ones(200), atol=1e-5)
    trees.initialize(torch.ones(4, 300))  # a constant column has no spread
    assert (trees.log_temperature == 0).all()


def test_each_layer_reads_the_columns_and_all_previous_responses():
    rows, shape = make_rows(d_out=3)
    net = make_node(shape, n_layers=3)
    net.initialize(rows)
    x, responses = net.flat(rows).T, []
    for layer in net.layers:
        responses.append(layer(x))
        x = torch.cat([x, responses[-1].reshape(-1, x.shape[1])])
    expected = sum(r.sum(0) for r in responses).T / (3 * 6)
    assert torch.allclose(net(rows), expected, atol=1e-6)


def test_the_output_uses_the_first_responses_and_the_next_layer_all():
    rows, shape = make_rows(d_out=1)
    net = make_node(shape, d_tree=3)
    net.initialize(rows)
    net(rows).sum().backward()
    first, last = (layer.response.grad.abs().sum((0, 2)) for layer in net.layers)
    assert (first > 0).all()
    assert last[0] > 0
    assert (last[1:] == 0).all()


def test_the_learner_initializes_all_layers_on_random_rows():
    rows = Rows(
        torch.arange(5000.0)[:, None],
        torch.zeros(5000, 0),
        torch.zeros(5000, 0, dtype=torch.long),
    )
    net = make_node(TableShape(1, 0, (), 2))
    train = LabeledRows(rows, torch.zeros(5000, dtype=torch.long))
    NODELearner(
        net,
        train,
        train,
        criterion=torch.nn.functional.cross_entropy,
        evaluate=lambda outputs: (0.0, 0.0),
        generator=torch.Generator().manual_seed(0),
    )
    assert net.layers[0].threshold.max() > 3000  # not the first rows
    assert net.layers[0].log_temperature.exp().min() > 2000
    assert (net.layers[1].threshold != 0).all()
