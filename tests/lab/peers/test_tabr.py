"""TabR: retrieval, the values of neighbors, and that no row retrieves itself."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris
from tests.lab.peers.shapes import make_rows
from torch import nn
from torch.nn.functional import cross_entropy, relu

from modernnca.lab.peers import peer, tabr
from modernnca.lab.peers.supervised import LabeledRows
from modernnca.lab.peers.tabr import PEER, TabR, TabRLearner, nearest


def make_net(n_rows=20, *, d_out=3, seed=0, **settings):
    """A network with candidates, and the same rows."""
    torch.manual_seed(seed)
    rows, shape = make_rows(n_rows, d_out=d_out)
    chosen = {
        "d_main": 8,
        "n_encoder_blocks": 0,
        "n_predictor_blocks": 1,
        "context_dropout": 0.0,
        "dropout": 0.0,
        "n_frequencies": 4,
        "frequency_scale": 0.1,
        "d_encoding": 8,
    }
    net = TabR(shape, **{**chosen, **settings})
    y = torch.randn(n_rows) if d_out == 1 else torch.arange(n_rows) % d_out
    net.remember(LabeledRows(rows, y.clone()))
    return net, LabeledRows(rows, y)


def set_n_neighbors(monkeypatch, n):
    monkeypatch.setattr(tabr, "N_NEIGHBORS", n)


# -------------------------------------------------------------------- retrieval


@pytest.mark.parametrize("max_distances", [1, 100, 2**24])  # chunks of one, some, all
@pytest.mark.parametrize("n", [1, 5, 29])
def test_nearest_equals_sorting_all_distances(monkeypatch, n, max_distances):
    monkeypatch.setattr(tabr, "MAX_DISTANCES", max_distances)
    torch.manual_seed(0)
    query, keys = torch.randn(11, 4), torch.randn(30, 4) + 5
    found = nearest(query, keys, n)
    expected = torch.cdist(query, keys).argsort(1)[:, :n]
    assert torch.equal(found.sort(1).values, expected.sort(1).values)


def test_a_row_does_not_find_itself_but_finds_its_duplicate():
    torch.manual_seed(0)
    keys = torch.randn(12, 3)
    keys[7] = keys[2]
    found = nearest(keys, keys, 11, exclude=torch.arange(12))
    assert all(row not in others for row, others in enumerate(found.tolist()))
    first = nearest(keys, keys, 1, exclude=torch.arange(12))
    assert (first[2].item(), first[7].item()) == (7, 2)


def test_in_training_a_row_does_not_use_its_own_label(monkeypatch):
    set_n_neighbors(monkeypatch, 30)
    net, (rows, y) = make_net()
    exclude = torch.arange(20)
    found = net(rows, exclude=exclude)
    for row in (0, 13):
        net.y[row] = (net.y[row] + 1) % 3
        changed = net(rows, exclude=exclude)
        torch.testing.assert_close(changed[row], found[row])
        assert not torch.allclose(changed, found, atol=1e-4)  # the others change
        net.y[row] = y[row]


def test_the_learner_excludes_each_row_from_its_own_neighbors(monkeypatch):
    net, train = make_net()
    excluded = []

    def forward(rows, exclude=None):
        excluded.append(exclude)
        return torch.zeros(len(rows.numbers), 3, requires_grad=True)

    learner = TabRLearner(
        net,
        train,
        train,
        criterion=cross_entropy,
        evaluate=lambda outputs: (0.0, 0.0),
        generator=torch.Generator(),
    )
    monkeypatch.setattr(net, "forward", forward)
    learner.loss(torch.tensor([3, 1]))
    assert excluded[0].tolist() == [3, 1]


def test_queries_may_find_their_duplicates_among_the_candidates(monkeypatch):
    set_n_neighbors(monkeypatch, 1)
    net = make_net()[0].eval()
    key = net.keys(torch.arange(20))
    assert net.retrieve(key, key, 1).squeeze(1).tolist() == list(range(20))


def test_a_prediction_does_not_depend_on_other_queries_even_among_duplicates():
    # The 400 candidates are 4 rows, each a hundred times.
    net, (rows, _) = make_net(40)
    few = rows.take(torch.arange(400) % 4)
    net.remember(LabeledRows(few, torch.arange(400) % 3))
    net.eval()
    found = net(rows)
    for row in (0, 3, 39):
        alone = net(rows.take(slice(row, row + 1)))
        torch.testing.assert_close(alone, found[row : row + 1])


# ----------------------------------------------------------------------- values


def by_hand(net, key, keys, y):
    """The sum of softmax(-|k - k_i|^2) (W(y_i) + T(k - k_i)), row by row."""
    out = []
    for k in key:
        scores = torch.stack([-(k - other).square().sum() for other in keys])
        values = [
            net.label(label[None])[0]
            + net.diff_out(relu(net.diff_in.weight @ (k - other) + net.diff_in.bias))
            for other, label in zip(keys, y, strict=True)
        ]
        out.append((scores.softmax(0)[:, None] * torch.stack(values)).sum(0))
    return torch.stack(out)


@pytest.mark.parametrize("d_out", [1, 3])
@pytest.mark.parametrize("max_differences", [1, 2**22])  # chunks of one row, and of all
def test_aggregation_equals_the_formula_of_the_paper(
    monkeypatch, d_out, max_differences
):
    monkeypatch.setattr(tabr, "MAX_DIFFERENCES", max_differences)
    net, (_, y) = make_net(6, d_out=d_out)
    keys = net.keys(torch.arange(6))
    neighbors = torch.tensor([[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]])
    found = net.aggregate(keys[:2], neighbors, keys)
    torch.testing.assert_close(found, by_hand(net, keys[:2], keys, y))


def test_classes_have_embeddings_and_numbers_a_linear_one():
    classes, _ = make_net(d_out=3)
    assert classes.label(torch.tensor([2])).equal(classes.label.weight[2:3])
    numbers, _ = make_net(d_out=1)
    zero, one, three = numbers.label(torch.tensor([0.0, 1.0, 3.0]))
    torch.testing.assert_close(three - zero, 3 * (one - zero))
    torch.testing.assert_close(zero, numbers.label.linear.bias)


@pytest.mark.parametrize("n_encoder_blocks", [0, 1])
def test_the_gradient_is_the_same_as_if_all_rows_were_encoded(
    monkeypatch, n_encoder_blocks
):
    # Only the retrieved rows are encoded with a gradient, each once.
    set_n_neighbors(monkeypatch, 4)
    net, (rows, y) = make_net(n_encoder_blocks=n_encoder_blocks)
    exclude = torch.arange(20)
    found = torch.autograd.grad(
        net(rows, exclude=exclude).sum(), net.encoder[0].linear.weight
    )

    x = net.encode(rows)
    keys = net.to_key(x)
    neighbors = nearest(keys.detach(), keys.detach(), 4, exclude=exclude)
    values = [
        by_hand(net, k[None], keys[index], y[index])
        for k, index in zip(keys, neighbors, strict=True)
    ]
    outputs = net.predict(x + torch.cat(values))
    expected = torch.autograd.grad(outputs.sum(), net.encoder[0].linear.weight)
    torch.testing.assert_close(found, expected)


def test_encoding_in_chunks_has_the_same_gradient(monkeypatch):
    net, (rows, _) = make_net()
    weight = net.encoder[0].linear.weight
    exclude = torch.arange(20)
    expected = torch.autograd.grad(net(rows, exclude=exclude).square().sum(), weight)
    monkeypatch.setattr(tabr, "MAX_CELLS", 7)
    found = torch.autograd.grad(net(rows, exclude=exclude).square().sum(), weight)
    torch.testing.assert_close(found, expected)


def test_dropout_of_the_difference_keeps_its_mean():
    net, _ = make_net(dropout=0.4)
    hidden = torch.tensor([-1.0, 1.0]).repeat(100_000, 1)
    below, above = net._relu_dropout_mask(hidden).float().mean(0).tolist()
    assert (below, above) == (0, pytest.approx(0.6, abs=0.01))
    keys = net.keys(torch.arange(20))
    neighbors = torch.arange(20).repeat(1000, 1)
    found = net.aggregate(keys[:1].repeat(1000, 1), neighbors, keys).mean(0)
    net.eval()
    assert net._relu_dropout_mask(hidden).float().mean(0).tolist() == [0, 1]
    expected = net.aggregate(keys[:1], neighbors[:1], keys)[0]
    torch.testing.assert_close(found, expected, atol=0.03, rtol=0)


def test_a_single_row_is_predicted_without_neighbors():
    net, (rows, _) = make_net(1)
    assert net(rows, exclude=torch.zeros(1).long()).isfinite().all()
    assert net.eval()(rows).isfinite().all()


def test_the_candidates_are_in_the_state_dict():
    net, (rows, y) = make_net()
    state = net.state_dict()
    assert torch.equal(state["numbers"], rows.numbers)
    assert torch.equal(state["y"], y)
    assert isinstance(net, nn.Module)
    assert PEER.defaults["d_main"] == 265


@pytest.mark.parametrize("encoding", ["plr-lite", "none"])
def test_transform_returns_the_embedding(encoding):
    X, y = load_iris(return_X_y=True)
    settings = {"encoding": encoding, "max_epochs": 2, "d_main": 16}
    model = peer("tabr").build("multiclass", seed=0, settings=settings).fit(X, y)
    embedding = model.transform(X)
    assert embedding.shape == (150, 16)
    np.testing.assert_array_equal(embedding, model.transform(X))


def test_a_network_without_an_embedding_is_an_error():
    X, y = load_iris(return_X_y=True)
    model = peer("mlp").build("multiclass", seed=0, settings={"max_epochs": 1})
    with pytest.raises(TypeError, match="'mlp' has no embedding"):
        model.fit(X, y).transform(X)
