from tests.lab.report.frames import failed, records_of, run, scores_of

from modernnca.lab.report.analysis import analyze
from modernnca.lab.report.comparison import comparisons
from modernnca.lab.report.headline import progress, sentences


def said_of(*rows, hero="ours"):
    return sentences(analyze(comparisons(scores_of(*rows))[0], hero, None))


def test_the_first_says_who_is_next():
    said = said_of(("a", "binclass", "ours", 0.9), ("a", "binclass", "x", 0.8))
    assert said[0] == (
        "ours ranks first of 2 methods on 1 classification dataset, with an average "
        "rank of 1.00; the next is x with 2.00."
    )
    assert said[-1].startswith(
        "On average the error of x is 100.0\u00a0% higher than that of ours"
    )


def test_another_says_who_is_the_best():
    said = said_of(("a", "binclass", "ours", 0.7), ("a", "binclass", "x", 0.8))
    assert said[0].endswith(
        "ranks 2nd of 2 methods on 1 classification dataset, with "
        "an average rank of 2.00; the best is x with 1.00."
    )
    assert "loses 1 of 1 datasets" in said[1]


def test_equals_are_said_to_be_equal():
    said = said_of(("a", "binclass", "ours", 0.8), ("a", "binclass", "x", 0.8))
    assert said[0].endswith("average rank of 1.50, equal to x.")


def test_a_method_alone_is_not_compared():
    (said,) = said_of(("a", "binclass", "ours", 0.7))
    assert said.endswith("nothing to compare.")


def test_progress_says_how_complete_a_run_is():
    records = records_of(run(), failed(), failed(status="timeout"))
    assert progress(records, None) == [
        "3 runs are recorded.",
        "Of these, 1 done, 1 failed and 1 out of time.",
    ]
    assert progress(records, 3)[0].startswith("The run is complete: all 3 planned")
    assert progress(records, 12)[0].startswith(
        "The run is incomplete: 3 of 12 planned runs are recorded (25\u00a0%)."
    )
    assert progress(records[:0], 12) == [
        "The run is incomplete: 0 of 12 planned runs are recorded (0\u00a0%). "
        "The report covers these."
    ]
