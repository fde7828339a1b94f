"""The running mean of weights, by hand and in the loop."""

import math

import pytest
import torch
from torch import nn

from modernnca.train.loop import TrainingConfig, train
from modernnca.train.weight_averaging import AveragedWeights


def test_the_mean_by_hand():
    module = nn.Linear(1, 1, bias=False).double()
    average = AveragedWeights(module, horizon=3)  # from step 7 on, a step counts 1/4
    mean = None
    for step in range(1, 20):
        nn.init.constant_(module.weight, float(step))
        average.update()
        share = max(1 / 4, 2 / (1 + step))
        mean = step if mean is None else mean + share * (step - mean)
        with average.applied():
            assert module.weight.item() == pytest.approx(mean, rel=1e-12)
        assert module.weight.item() == step


def test_the_weights_are_back_after_an_error():
    module = nn.Linear(2, 1)
    average = AveragedWeights(module, horizon=1)
    nn.init.constant_(module.weight, 7.0)
    with pytest.raises(RuntimeError), average.applied():
        raise RuntimeError
    assert (module.weight == 7).all()


def test_running_statistics_are_averaged_and_counts_are_not():
    module = nn.BatchNorm1d(1)
    average = AveragedWeights(module, horizon=1e9)
    for number in (1.0, 3.0):
        module.train()(torch.full((4, 1), number))
        average.update()
    now = module.running_mean.item()
    with average.applied():
        assert module.running_mean.item() < now
        assert module.num_batches_tracked == 2


def test_what_training_does_not_change_stays():
    module = nn.BatchNorm1d(1)
    # As the last bin of an encoding, of which there is no mean.
    module.register_buffer("edge", torch.tensor([0.0, float("inf")]))
    average = AveragedWeights(module, horizon=3)
    average.update()
    with average.applied():
        assert module.edge.tolist() == [0.0, float("inf")]


def test_the_state_is_complete():
    module = nn.Linear(1, 1, bias=False).double()
    average = AveragedWeights(module, horizon=3)
    for step in range(1, 5):
        nn.init.constant_(module.weight, float(step))
        average.update()
    other = nn.Linear(1, 1, bias=False).double()
    later = AveragedWeights(other, horizon=3)
    later.load_state(average.state())
    assert later.n_steps == 4
    for weights, each in ((module, average), (other, later)):
        nn.init.constant_(weights.weight, 9.0)
        each.update()
    with average.applied(), later.applied():
        assert other.weight.item() == module.weight.item()


def test_the_loop_evaluates_and_keeps_the_mean(scripted, generators):
    evaluated = []

    class Watched(scripted):
        def validate(self):
            evaluated.append(self.weight)
            return super().validate()

    learner = Watched([(1.0, 1.0), (3.0, 1.0), (2.0, 1.0)])
    config = TrainingConfig(
        optimizer="sgd",
        learning_rate=1.0,
        weight_decay=0.0,
        batch_size=1,
        max_epochs=3,
        drop_last=False,
        patience=math.inf,
        min_gain=0.0,
        final_rate=1.0,
        warmup=0.0,
        tie_break="loss",
        weight_averaging=2.0,
    )
    train(learner, config, generators())
    # Two steps an epoch, the weight counts them: means of 1, 2, 3, ... with horizon 4.
    mean, expected = 0.0, []
    for step in range(1, 7):
        mean += max(1 / 5, 2 / (1 + step)) * (step - mean)
        if step % 2 == 0:
            expected.append(mean)
    assert evaluated == pytest.approx(expected)
    assert learner.weight == pytest.approx(expected[1])
