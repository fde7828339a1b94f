"""The running mean of weights, by hand and in the loop."""

import pytest
import torch
from torch import nn

from modernnca.train.average import Average
from modernnca.train.loop import Plan, train

STEPS = Plan(
    optimizer="sgd", learning_rate=1.0, weight_decay=0.0, batch_size=1, patience=None
)


def test_the_mean_by_hand():
    module = nn.Linear(1, 1, bias=False).double()
    average = Average(module, horizon=3)  # each step counts a quarter, once there are 7
    mean = None
    for step in range(1, 20):
        nn.init.constant_(module.weight, float(step))
        average.see()
        share = max(1 / 4, 2 / (1 + step))
        mean = step if mean is None else mean + share * (step - mean)
        with average.taken():
            assert module.weight.item() == pytest.approx(mean, rel=1e-12)
        assert module.weight.item() == step


def test_what_was_learned_is_back_after_an_error():
    module = nn.Linear(2, 1)
    average = Average(module, horizon=1)
    nn.init.constant_(module.weight, 7.0)
    with pytest.raises(RuntimeError), average.taken():
        raise RuntimeError
    assert (module.weight == 7).all()


def test_running_statistics_are_averaged_and_counts_are_not():
    module = nn.BatchNorm1d(1)
    average = Average(module, horizon=1e9)
    for number in (1.0, 3.0):
        module.train()(torch.full((4, 1), number))
        average.see()
    now = module.running_mean.item()
    with average.taken():
        assert module.running_mean.item() < now
        assert module.num_batches_tracked == 2


def test_what_training_does_not_change_stays():
    module = nn.BatchNorm1d(1)
    # As the last bin of an encoding, of which there is no mean.
    module.register_buffer("edge", torch.tensor([0.0, float("inf")]))
    average = Average(module, horizon=3)
    average.see()
    with average.taken():
        assert module.edge.tolist() == [0.0, float("inf")]


def test_the_loop_judges_and_keeps_the_mean(scripted):
    judged = []

    class Watched(scripted):
        def validate(self):
            judged.append(self.weight)
            return super().validate()

    learner = Watched([(1.0, 1.0), (3.0, 1.0), (2.0, 1.0)])
    plan = Plan(**(vars(STEPS) | {"averaging": 2.0, "max_epochs": 3}))
    train(learner, plan, torch.Generator().manual_seed(0))
    # Two steps an epoch, the weight counts them: means of 1, 2, 3, ... with horizon 4.
    mean, expected = 0.0, []
    for step in range(1, 7):
        mean += max(1 / 5, 2 / (1 + step)) * (step - mean)
        if step % 2 == 0:
            expected.append(mean)
    assert judged == pytest.approx(expected)
    assert learner.weight == pytest.approx(expected[1])
