"""TabR: who is looked up, what the neighbors say, and that none is oneself."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris
from tests.lab.peers.shapes import some_rows
from torch import nn
from torch.nn.functional import cross_entropy, relu

from modernnca.lab.peers import peer, tabr
from modernnca.lab.peers.supervised import Examples
from modernnca.lab.peers.tabr import PEER, LookingUp, TabR, nearest


def made_net(n_rows=20, *, d_out=3, seed=0, **settings):
    """A net that remembers rows, and these."""
    torch.manual_seed(seed)
    rows, shape = some_rows(n_rows, d_out=d_out)
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
    fit = Examples(rows, y)
    net.remember(Examples(rows, y.clone()))
    return net, fit


def sure_of_neighbors(monkeypatch, n):
    monkeypatch.setattr(tabr, "N_NEIGHBORS", n)


# ------------------------------------------------------------------- looking up


@pytest.mark.parametrize("n_pairs", [1, 100, 2**24])  # one query at once, some, all
@pytest.mark.parametrize("n", [1, 5, 29])
def test_the_nearest_are_those_of_all_distances(monkeypatch, n, n_pairs):
    monkeypatch.setattr(tabr, "N_PAIRS", n_pairs)
    torch.manual_seed(0)
    query, keys = torch.randn(11, 4), torch.randn(30, 4) + 5
    found = nearest(query, keys, n)
    expected = torch.cdist(query, keys).argsort(1)[:, :n]
    assert torch.equal(found.sort(1).values, expected.sort(1).values)


def test_a_row_does_not_find_itself_but_does_find_its_double():
    torch.manual_seed(0)
    keys = torch.randn(12, 3)
    keys[7] = keys[2]
    found = nearest(keys, keys, 11, own=torch.arange(12))
    assert all(row not in others for row, others in enumerate(found.tolist()))
    first = nearest(keys, keys, 1, own=torch.arange(12))
    assert (first[2].item(), first[7].item()) == (7, 2)


def test_in_training_the_own_label_says_nothing(monkeypatch):
    sure_of_neighbors(monkeypatch, 30)
    net, (rows, y) = made_net()
    own = torch.arange(20)
    found = net(rows, own=own)
    for row in (0, 13):
        net.y[row] = (net.y[row] + 1) % 3
        changed = net(rows, own=own)
        torch.testing.assert_close(changed[row], found[row])
        assert not torch.allclose(changed, found, atol=1e-4)  # but not the others
        net.y[row] = y[row]


def test_the_learner_says_which_rows_they_are(monkeypatch):
    net, fit = made_net()
    seen = []

    def remember_own(rows, own=None):
        seen.append(own)
        return torch.zeros(len(rows.numbers), 3, requires_grad=True)

    learner = LookingUp(
        net,
        fit,
        fit,
        criterion=cross_entropy,
        judge=lambda answers: (0.0, 0.0),
        generator=torch.Generator(),
    )
    monkeypatch.setattr(net, "forward", remember_own)
    learner.loss(torch.tensor([3, 1]))
    assert seen[0].tolist() == [3, 1]


def test_asked_rows_may_find_their_double_among_the_remembered(monkeypatch):
    sure_of_neighbors(monkeypatch, 1)
    net = made_net()[0].eval()
    key = net.keys(torch.arange(20))
    assert net.look_up(key, key, 1).squeeze(1).tolist() == list(range(20))


def test_a_prediction_does_not_depend_on_other_queries_even_among_duplicates():
    # Of the 400 rows that are remembered each is there a hundred times.
    net, (rows, _) = made_net(40)
    few = rows.take(torch.arange(400) % 4)
    net.remember(Examples(few, torch.arange(400) % 3))
    net.eval()
    found = net(rows)
    for row in (0, 3, 39):
        alone = net(rows.take(slice(row, row + 1)))
        torch.testing.assert_close(alone, found[row : row + 1])


# ------------------------------------------------------------- what they say


def by_hand(net, key, keys, y):
    """The sum of softmax(-|k - k_i|^2) (W(y_i) + T(k - k_i)), row by row."""
    out = []
    for k in key:
        scores = torch.stack([-(k - other).square().sum() for other in keys])
        values = [
            net.label(label[None])[0]
            + net.bend_out(relu(net.bend_in.weight @ (k - other) + net.bend_in.bias))
            for other, label in zip(keys, y, strict=True)
        ]
        out.append((scores.softmax(0)[:, None] * torch.stack(values)).sum(0))
    return torch.stack(out)


@pytest.mark.parametrize("d_out", [1, 3])
@pytest.mark.parametrize("n_differences", [1, 2**22])  # row by row, and all at once
def test_the_context_is_the_formula_of_the_paper(monkeypatch, d_out, n_differences):
    monkeypatch.setattr(tabr, "N_DIFFERENCES", n_differences)
    net, (_, y) = made_net(6, d_out=d_out)
    keys = net.keys(torch.arange(6))
    near = torch.tensor([[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]])
    found = net.hear(keys[:2], near, keys)
    torch.testing.assert_close(found, by_hand(net, keys[:2], keys, y))


def test_the_label_of_a_class_is_a_vector_and_that_of_a_number_a_line():
    classes, _ = made_net(d_out=3)
    assert classes.label(torch.tensor([2])).equal(classes.label.weight[2:3])
    numbers, _ = made_net(d_out=1)
    zero, one, three = numbers.label(torch.tensor([0.0, 1.0, 3.0]))
    torch.testing.assert_close(three - zero, 3 * (one - zero))
    torch.testing.assert_close(zero, numbers.label.linear.bias)


@pytest.mark.parametrize("n_encoder_blocks", [0, 1])
def test_neighbors_are_learned_from_as_if_all_rows_were_encoded(
    monkeypatch, n_encoder_blocks
):
    # Those found are encoded again, each once: the gradient is that of all rows.
    sure_of_neighbors(monkeypatch, 4)
    net, (rows, y) = made_net(n_encoder_blocks=n_encoder_blocks)
    own = torch.arange(20)
    found = torch.autograd.grad(net(rows, own=own).sum(), net.encoder[0].linear.weight)

    x = net.encode(rows)
    keys = net.to_key(x)
    near = nearest(keys.detach(), keys.detach(), 4, own=own)
    heard = [
        by_hand(net, k[None], keys[some], y[some])
        for k, some in zip(keys, near, strict=True)
    ]
    whole = net.predict(x + torch.cat(heard))
    expected = torch.autograd.grad(whole.sum(), net.encoder[0].linear.weight)
    torch.testing.assert_close(found, expected)


def test_many_rows_are_encoded_in_parts_with_the_same_gradient(monkeypatch):
    net, (rows, _) = made_net()
    weight = net.encoder[0].linear.weight
    own = torch.arange(20)
    expected = torch.autograd.grad(net(rows, own=own).square().sum(), weight)
    monkeypatch.setattr(tabr, "N_CELLS", 7)
    found = torch.autograd.grad(net(rows, own=own).square().sum(), weight)
    torch.testing.assert_close(found, expected)


def test_dropout_of_the_difference_keeps_its_mean():
    net, _ = made_net(dropout=0.4)
    hidden = torch.tensor([-1.0, 1.0]).repeat(100_000, 1)
    below, above = net._passing(hidden).float().mean(0).tolist()
    assert (below, above) == (0, pytest.approx(0.6, abs=0.01))
    keys = net.keys(torch.arange(20))
    near = torch.arange(20).repeat(1000, 1)
    heard = net.hear(keys[:1].repeat(1000, 1), near, keys).mean(0)
    net.eval()
    assert net._passing(hidden).float().mean(0).tolist() == [0, 1]
    expected = net.hear(keys[:1], near[:1], keys)[0]
    torch.testing.assert_close(heard, expected, atol=0.03, rtol=0)


def test_one_row_has_nobody_to_look_up_and_is_answered():
    net, (rows, _) = made_net(1)
    assert net(rows, own=torch.zeros(1).long()).isfinite().all()
    assert net.eval()(rows).isfinite().all()


def test_what_is_remembered_is_a_part_of_the_weights():
    net, (rows, y) = made_net()
    state = net.state_dict()
    assert torch.equal(state["numbers"], rows.numbers)
    assert torch.equal(state["y"], y)
    assert isinstance(net, nn.Module)
    assert PEER.defaults["d_main"] == 265


@pytest.mark.parametrize("encoding", ["plr-lite", "none"])
def test_it_gives_the_space_in_which_it_looks(encoding):
    X, y = load_iris(return_X_y=True)
    settings = {"encoding": encoding, "max_epochs": 2, "d_main": 16}
    model = peer("tabr").build("multiclass", seed=0, settings=settings).fit(X, y)
    space = model.transform(X)
    assert space.shape == (150, 16)
    np.testing.assert_array_equal(space, model.transform(X))


def test_a_net_without_a_space_says_so():
    X, y = load_iris(return_X_y=True)
    model = peer("mlp").build("multiclass", seed=0, settings={"max_epochs": 1})
    with pytest.raises(TypeError, match="'mlp' has no embedding to give"):
        model.fit(X, y).transform(X)
