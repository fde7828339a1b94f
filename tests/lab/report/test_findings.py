import numpy as np
import pandas as pd
import pytest
from tests.lab.report.frames import COLUMNS, run

from modernnca.lab.bench.found import StudyRecords
from modernnca.lab.bench.study import Study
from modernnca.lab.bench.study_parts import Claim, Published, Size, Variant
from modernnca.lab.report.findings import check, unchecked
from modernnca.lab.report.rank_order import describe_order
from modernnca.lab.report.studies import findings_page, gather_studies
from modernnca.lab.report.study_evidence import gather_evidence, published_evidence
from modernnca.lab.report.verdicts import FAILS, HOLDS, OPEN, Gap


def study(*claims, kind="fit", labels=("A", "B", "C"), **more):
    return Study(
        *("made", "Made", "Table 0", "Which?"),
        tuple(Variant(label, "knn") for label in labels),
        *(Size(), Size()),
        kind=kind,
        claims=claims,
        **more,
    )


def found(scores, **other):
    """Records of variants with these scores on each table, of regression."""
    rows = [
        run(f"t{place}", label, value, task="regression", **other)
        | {"key": f"{label}{place}"}
        for label, values in scores.items()
        for place, value in enumerate(values)
    ]
    frame = pd.DataFrame(rows, columns=[*COLUMNS, "key", "purity", "trustworthiness"])
    return StudyRecords(frame, (), frozenset(frame["key"]))


def claim(kind="better", left="A", right="B", **more):
    return Claim("It is so.", kind, left, right, "regression", **more)


def verdict(scores, *claims, **other):
    [evidence] = gather_evidence(study(*claims), found(scores, **other))
    return check(evidence)[0]


LOW, MIDDLE, HIGH = [1.0] * 8, [2.0] * 8, [3.0] * 8


def test_better_holds_if_the_interval_of_ranks_is_on_its_side():
    finding = verdict({"A": LOW, "B": MIDDLE, "C": HIGH}, claim())
    assert finding.verdict == HOLDS
    assert finding.gap == Gap(-1.0, -1.0, -1.0, 8)
    assert finding.reason == (
        "On 8 datasets A ranks 1.00 ahead of B (95 % interval: 1.00 ahead to 1.00 "
        "ahead); its error is 0.500 times as large (0.500 to 0.500)."
    )
    assert finding.measured == "\u22121.00 [\u22121.00, \u22121.00] ranks"


def test_better_does_not_hold_the_other_way_round():
    finding = verdict({"A": HIGH, "B": MIDDLE, "C": LOW}, claim())
    assert finding.verdict == FAILS
    assert "A ranks 1.00 behind B" in finding.reason


def test_what_goes_both_ways_is_undecided():
    finding = verdict({"A": [1.0, 3.0] * 4, "B": MIDDLE, "C": [9.0] * 8}, claim())
    assert finding.verdict == OPEN
    assert finding.gap.low < 0 < finding.gap.high


def test_equals_are_level():
    finding = verdict({"A": LOW, "B": LOW, "C": HIGH}, claim())
    assert finding.verdict == OPEN
    assert "A ranks level with B" in finding.reason


def test_five_tables_say_nothing_however_clear():
    finding = verdict({"A": LOW[:5], "B": MIDDLE[:5], "C": HIGH[:5]}, claim())
    assert finding.verdict == OPEN
    assert finding.reason.endswith("These are too few datasets; at least 6 are needed.")


def test_similar_is_within_a_margin_of_ranks():
    mixed = {"A": [1.0, 2.0] * 50, "B": [2.0, 1.0] * 50, "C": [3.0] * 100}
    assert verdict(mixed, claim("similar")).verdict == HOLDS
    assert verdict(mixed, claim("similar", within=0.01)).verdict == OPEN
    apart = verdict({"A": LOW, "B": MIDDLE, "C": HIGH}, claim("similar"))
    assert apart.verdict == FAILS
    assert "Similar means less than 0.5 ranks apart." in apart.reason


def test_not_better_is_one_sided():
    kind = "not better"
    mixed = {"A": [1.0, 2.0] * 50, "B": [2.0, 1.0] * 50, "C": [3.0] * 100}
    assert verdict(mixed, claim(kind)).verdict == HOLDS
    behind = verdict({"A": HIGH, "B": MIDDLE, "C": LOW}, claim(kind))
    assert behind.verdict == HOLDS
    assert behind.gap == Gap(1.0, 1.0, 1.0, 8)
    before = verdict({"A": LOW, "B": MIDDLE, "C": HIGH}, claim(kind))
    assert before.verdict == FAILS
    assert "A ranks 1.00 ahead of B" in before.reason
    assert before.reason.endswith("Better means at least 0.5 ranks ahead.")


def test_best_must_beat_everyone():
    best = claim("best", right="")
    assert verdict({"A": LOW, "B": MIDDLE, "C": HIGH}, best).verdict == HOLDS
    assert verdict({"A": MIDDLE, "B": LOW, "C": HIGH}, best).verdict == FAILS
    alike = verdict({"A": LOW, "B": LOW, "C": HIGH}, best)
    assert alike.verdict == OPEN
    assert "Undecided against B." in alike.reason
    lacking = verdict({"A": LOW, "B": MIDDLE}, best)
    assert lacking.verdict == OPEN
    assert "There are no scores of C to compare" in lacking.reason


def test_best_but_one_need_not_beat_that_one():
    but = claim("best but", right="B")
    assert verdict({"A": MIDDLE, "B": LOW, "C": HIGH}, but).verdict == HOLDS
    assert verdict({"A": HIGH, "B": LOW, "C": MIDDLE}, but).verdict == FAILS


def test_just_behind_is_behind_and_near():
    order = {"A": MIDDLE, "B": LOW, "C": HIGH}
    assert verdict(order, claim("just behind", within=1.5)).verdict == HOLDS
    assert verdict(order, claim("just behind", within=0.5)).verdict == FAILS
    ahead = {"A": LOW, "B": MIDDLE, "C": HIGH}
    assert verdict(ahead, claim("just behind", within=1.5)).verdict == FAILS
    mixed = {"A": [1.0, 3.0] * 4, "B": MIDDLE, "C": [9.0] * 8}
    assert verdict(mixed, claim("just behind", within=1.5)).verdict == OPEN


def test_an_undecided_claim_tells_how_many_datasets_would_decide_it():
    values = {"A": [1.0] * 5 + [3.0] * 3, "B": MIDDLE, "C": [9.0] * 8}
    finding = verdict(values, claim())
    assert finding.verdict == OPEN
    differences = np.array([-1.0] * 5 + [1.0] * 3)
    spread, mean = differences.std(ddof=1), differences.mean()
    expected = np.ceil(((1.959964 + 0.841621) * spread / mean) ** 2)
    assert finding.needed == expected
    assert finding.reason.endswith(f"About {expected:.0f} datasets would decide it.")
    decided = verdict({"A": LOW, "B": MIDDLE, "C": HIGH}, claim())
    assert np.isnan(decided.needed)
    assert "would decide" not in decided.reason
    even = verdict({"A": [1.0, 3.0] * 4, "B": MIDDLE, "C": [9.0] * 8}, claim())
    assert "More than 10,000 datasets would be needed" in even.reason


def test_what_earlier_records_say_is_told_and_decides_nothing():
    nothing, asked = found({}), claim()
    earlier = found({"A": LOW, "B": MIDDLE, "C": HIGH}).frame
    records = StudyRecords(nothing.frame, (), frozenset(), earlier)
    made = study(asked, changed="It was otherwise.")
    contents = gather_studies([(made, records)], title="", facts={}, draw=False)
    [finding] = contents.findings
    assert finding.verdict == OPEN
    assert "Not run: there are no records yet. To be run again" in finding.reason
    assert "Under the earlier one it held. On 8 datasets A ranks" in finding.reason
    page = findings_page(contents)
    assert "24 records are of an earlier definition of A, B and C" in page
    assert "It was otherwise." in page
    assert "- **holds**" not in page


def test_faster_compares_times_on_each_table():
    faster = claim("faster")
    rows = found({"A": LOW, "B": MIDDLE})
    frame = rows.frame
    frame["fit_seconds"] = np.where(frame["method"] == "A", 2.0, 8.0)
    [evidence] = gather_evidence(study(faster), rows)
    [finding] = check(evidence)
    assert finding.verdict == HOLDS
    assert "fitting A takes 0.25 times as long as fitting B" in finding.reason
    assert finding.measured == "0.25 [0.25, 0.25] times as long"


def test_purer_compares_spaces():
    rows = found({"A": LOW, "B": MIDDLE, "C": HIGH})
    rows.frame["purity"] = rows.frame["method"].map({"A": 0.9, "B": 0.6, "C": 0.5})
    [evidence] = gather_evidence(study(claim("purer"), kind="embed"), rows)
    [finding] = check(evidence)
    assert finding.verdict == HOLDS
    assert "The purity of A differs by +0.300 from that of B" in finding.reason
    assert "it is higher on 8 of 8 datasets" in finding.reason


def test_a_failure_ranks_last():
    rows = found({"A": MIDDLE, "B": LOW, "C": HIGH})
    rows.frame.loc[rows.frame["method"] == "B", "status"] = "failed"
    [evidence] = gather_evidence(study(claim()), rows)
    assert check(evidence)[0].verdict == HOLDS


def test_a_table_counts_only_if_all_variants_were_run_on_it():
    scores = {"A": LOW, "B": MIDDLE, "C": HIGH[:6]}
    assert verdict(scores, claim()).gap.n == 6


def test_without_scores_nothing_is_said():
    finding = verdict({"A": LOW, "C": HIGH}, claim())
    assert finding.verdict == OPEN
    assert (
        "There are no scores of B to compare on regression datasets." in finding.reason
    )
    assert [each.verdict for each in unchecked(study(claim()))] == [OPEN]


def test_default_and_tuned_are_judged_apart():
    default = found({"A": LOW, "B": MIDDLE}).frame
    tuned = found({"A": HIGH, "B": MIDDLE}, settings="tuned").frame
    both = pd.concat([default, tuned], ignore_index=True)
    parts = gather_evidence(study(claim()), StudyRecords(both, (), frozenset()))
    assert [part.source for part in parts] == [
        "with default settings",
        "with tuned settings",
    ]
    assert [check(part)[0].verdict for part in parts] == [HOLDS, FAILS]


def test_the_order_of_the_paper_stands_beside_ours():
    printed = Published("average rank", "regression", 9, {"A": 1.2, "B": 2.9, "C": 1.9})
    [evidence] = gather_evidence(
        study(published=(printed,)), found({"A": LOW, "B": MIDDLE, "C": HIGH})
    )
    assert describe_order(evidence, "regression") == (
        "The paper: A 1.20 < C 1.90 < B 2.90. Here: A 1.00 < B 2.00 < C 3.00. 2 of 3 "
        "pairs have the paper's order."
    )
    standing = evidence.standings["regression"].set_index("method")
    assert standing["paper"].tolist() == [1.2, 2.9, 1.9]
    assert standing.loc["B", "value"] == pytest.approx(1.0)  # twice the error of A


def test_published_scores_are_asked_the_same():
    rows = [
        (f"t{place}", "regression", method, value, 0.1, 15, False)
        for place in range(8)
        for method, value in (("a", 1.0), ("modernB", 2.0), ("other", 0.5))
    ]
    columns = ["dataset", "task", "method", "mean", "std", "n", "higher"]
    made = study(claim(), labels=("A",))
    made = Study(**{**vars(made), "variants": (Variant("A", "knn"), _aliased())})
    [evidence] = published_evidence(made, pd.DataFrame(rows, columns=columns))
    assert evidence.source == "from published scores"
    assert check(evidence)[0].verdict == HOLDS
    nobody = pd.DataFrame([("t", "regression", "z", 1.0, 0.1, 15, False)])
    assert published_evidence(made, nobody.set_axis(columns, axis=1)) == []


def _aliased():
    return Variant("B", "svm", alias="modernB")
