"""The score and the loss of votes, by hand."""

import math

import numpy as np
import pytest

from modernnca.table.evaluation import Evaluator, better_result
from modernnca.table.metrics import METRICS
from modernnca.table.targets import ClassificationTarget, RegressionTarget

CLASSES = ClassificationTarget().fit(["no", "yes"])
NUMBERS = RegressionTarget().fit([10.0, 30.0])  # the mean is 20, the scale 10
LABELS = np.array(["yes", "no", "no", "yes"])
VOTES = np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1], [0.75, 0.25]])  # the last wrong
GIVEN = np.array([0.8, 0.5, 0.9, 0.25])  # to the right classes


def of_classes(metric="accuracy", weights=None, labels=LABELS):
    return Evaluator(labels, weights, CLASSES, metric)


def of_numbers(metric="rmse", weights=None, y=(10.0, 30.0, 20.0)):
    return Evaluator(np.asarray(y), weights, NUMBERS, metric)


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ((0.9, 5.0), (0.8, 1.0), True),  # the score decides
        ((0.8, 1.0), (0.9, 5.0), False),
        ((0.9, 1.0), (0.9, 2.0), True),  # then the loss
        ((0.9, 2.0), (0.9, 1.0), False),
        ((0.9, 2.0), (0.9, 2.0), False),
        ((math.nan, 0.0), (0.1, 9.0), False),  # NaN is the worst
        ((0.1, 9.0), (math.nan, 0.0), True),
        ((-1e300, 9.0), (math.nan, 0.0), True),
        ((0.9, math.nan), (0.9, 9.0), False),
        ((0.9, 9.0), (0.9, math.nan), True),
        ((0.9, math.nan), (0.8, 0.0), True),
        ((math.nan, 1.0), (math.nan, 2.0), True),
        ((math.nan, math.nan), (math.nan, math.nan), False),
    ],
)
def test_which_result_is_better(new, old, expected):
    assert better_result(new, old) is expected


def test_of_two_results_at_most_one_is_better():
    values = (math.nan, -math.inf, -1.0, 0.0, 1.0, math.inf)
    results = [(score, loss) for score in values for loss in values]
    for one in results:
        assert not better_result(one, one)
        for other in results:
            assert not (better_result(one, other) and better_result(other, one))


def test_classes_by_hand():
    score, loss = of_classes()(VOTES)
    assert score == 0.75  # of equal votes the first class
    assert loss == pytest.approx(-np.log(GIVEN).mean(), rel=1e-12)


def test_classes_with_weights_by_hand():
    weights = np.array([1.0, 2.0, 0.0, 5.0])
    score, loss = of_classes(weights=weights)(VOTES)
    assert score == pytest.approx(3 / 8)
    assert loss == pytest.approx(-(weights * np.log(GIVEN)).sum() / 8, rel=1e-12)


def test_numbers_by_hand():
    # Votes are standardized: predicted are 10, 25 and 20, where 10, 30 and 20 are true.
    votes = np.array([[-1.0], [0.5], [0.0]])
    score, loss = of_numbers()(votes)
    assert score == pytest.approx(-math.sqrt(25 / 3))
    assert loss == pytest.approx(0.5**2 / 3)  # of standardized numbers
    assert of_numbers("mae")(votes)[0] == pytest.approx(-5 / 3)


def test_numbers_with_weights_by_hand():
    votes, weights = np.array([[-1.0], [0.5], [0.0]]), np.array([1.0, 3.0, 0.0])
    score, loss = of_numbers("mae", weights)(votes)
    assert score == pytest.approx(-(3 * 5) / 4)
    assert loss == pytest.approx(3 * 0.5**2 / 4)


def test_numbers_of_any_type_are_read():
    votes = np.array([[-1.0], [0.5], [0.0]])
    expected = of_numbers()(votes)
    assert of_numbers(y=np.array([10, 30, 20]))(votes) == expected
    assert of_numbers(y=np.array([10, 30, 20], dtype=object))(votes) == expected


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_applied_to_what_it_is_for(name):
    metric, weights = METRICS[name], np.array([1.0, 2.0, 1.0, 5.0])
    if metric.task == "classification":
        found, _ = of_classes(name, weights)(VOTES)
        codes = np.array([1, 0, 0, 1])
        assert found == metric.score(codes, VOTES, weights)
    else:
        y, votes = np.array([10.0, 30.0, 20.0, 14.0]), VOTES[:, :1]
        found, _ = of_numbers(name, weights, y)(votes)
        assert found == pytest.approx(
            metric.score(y, 20 + 10 * votes[:, 0], weights), rel=1e-12
        )


def test_a_function_gets_labels_and_probabilities():
    calls = []

    def metric(y, prediction):
        calls.append((y, prediction))
        return np.float32(7)

    score, loss = of_classes(metric)(VOTES)
    assert (score, type(score)) == (7.0, float)
    assert loss == pytest.approx(-np.log(GIVEN).mean(), rel=1e-12)
    ((y, prediction),) = calls
    assert y.tolist() == LABELS.tolist()
    np.testing.assert_array_equal(prediction, VOTES)


def test_a_function_gets_numbers_in_their_own_units():
    calls = []

    def metric(y, prediction):
        calls.append((y, prediction))
        return -1

    score, loss = of_numbers(metric)(np.array([[-1.0], [0.5], [0.0]]))
    assert (score, type(score)) == (-1.0, float)
    assert loss == pytest.approx(0.5**2 / 3)
    ((y, prediction),) = calls
    assert y.tolist() == [10, 30, 20]
    np.testing.assert_allclose(prediction, [10, 25, 20], rtol=1e-12)


def test_an_undefined_score_is_worse_than_any_other():
    undefined = of_classes(lambda y, prediction: math.nan)(VOTES)
    assert math.isnan(undefined[0])
    assert better_result(of_classes(lambda y, prediction: -1e300)(VOTES), undefined)


@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 0.0, 5.0])])
def test_some_rows_are_evaluated_as_if_there_were_no_others(weights):
    rows = np.array([3, 1])
    some = of_classes(weights=weights).take(rows)
    own = None if weights is None else weights[rows]
    assert some(VOTES[rows]) == of_classes(weights=own, labels=LABELS[rows])(
        VOTES[rows]
    )
    assert some(VOTES[rows])[0] == (0.5 if weights is None else pytest.approx(2 / 7))
