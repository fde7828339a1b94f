import numpy as np
import pandas as pd
import pytest
import torch

from modernnca import ModernNCAClassifier
from modernnca.evidence.auditing import likeness
from modernnca.evidence.column_faults import find_column_faults, skill_of_column
from modernnca.evidence.drift import column_drift, corrected
from modernnca.evidence.influence import influence
from modernnca.evidence.regions import find_regions, name_regions
from modernnca.evidence.wrong_targets import suspicious_labels, suspicious_numbers
from modernnca.table.schema import learn_schema, read_table


def faults_of(frame, y, classification=True):
    table = read_table(frame)
    schema = learn_schema(table)
    found = find_column_faults(table, schema, y, classification=classification)
    return [(each.column, each.problem) for each in found]


def test_faulty_columns_are_found_and_sound_ones_are_not():
    rng = np.random.RandomState(0)
    y = rng.randint(0, 2, 200)
    frame = pd.DataFrame(
        {
            "sound": rng.randn(200) + y,
            "leak": np.where(y == 1, "late", "in time"),
            "key": [f"k{i:04}" for i in range(200)],
            "gaps": np.where(rng.rand(200) < 0.7, np.nan, rng.randn(200)),
            "one": 1,
        }
    )
    assert faults_of(frame, y) == [
        ("leak", "leak"),
        ("key", "identifier"),
        ("gaps", "missing"),
        ("one", "constant"),
    ]


def test_a_column_in_which_only_gaps_tell_the_target_leaks_it():
    y = np.random.RandomState(0).randint(0, 2, 200)
    cells = np.where(y == 1, np.nan, np.random.RandomState(1).randn(200))
    assert skill_of_column(cells, y, classification=True) > 0.99


def test_a_column_that_is_the_target_in_other_units_leaks_it():
    y = np.random.RandomState(0).randn(500)
    frame = pd.DataFrame({"x": np.random.RandomState(1).randn(500), "cents": 100 * y})
    assert faults_of(frame, y, classification=False) == [("cents", "leak")]


def test_the_skill_of_noise_is_that_of_chance():
    x, y = np.random.RandomState(0).randn(600), np.arange(600) % 3
    assert skill_of_column(x, y, classification=True) == pytest.approx(0.5, abs=0.05)
    assert np.isnan(skill_of_column(x[:9], y[:9], classification=True))


def drift_of(old, new):
    old, new = read_table(pd.DataFrame(old)), read_table(pd.DataFrame(new))
    return {each.column: each for each in column_drift(old, new, learn_schema(old))}


def test_drift_is_found_in_numbers_levels_dates_and_gaps():
    rng, n = np.random.RandomState(0), 400
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.randint(0, 300, n), "D")
    old = {
        "same": rng.randn(n),
        "moved": rng.randn(n),
        "town": rng.choice(["a", "b"], n),
        "gaps": rng.randn(n),
        "day": days,
    }
    new = {
        "same": rng.randn(n),
        "moved": rng.randn(n) + 0.5,
        "town": rng.choice(["a", "b", "c"], n),
        "gaps": np.where(rng.rand(n) < 0.2, np.nan, rng.randn(n)),
        "day": days + pd.Timedelta(days=200),
    }
    found = drift_of(old, new)
    p_values = corrected(np.array([each.p_value for each in found.values()]))
    drifted = {n for n, p in zip(found, p_values, strict=True) if p < 0.05}
    assert drifted == {"moved", "town", "gaps", "day"}
    assert found["town"].statistic == pytest.approx(1 / 3, abs=0.05)
    assert found["gaps"].now.endswith("% missing")


def test_p_values_without_drift_are_uniform():
    rng = np.random.RandomState(0)
    each = [
        drift_of({"x": rng.randn(60), "t": rng.choice(["a", "b"], 60)},
                 {"x": rng.randn(60), "t": rng.choice(["a", "b"], 60)})
        for _ in range(200)
    ]  # fmt: skip
    for name in ("x", "t"):
        small = np.mean([found[name].p_value < 0.05 for found in each])
        assert small < 0.1


def test_labels_that_the_votes_speak_against_come_first():
    votes = np.array([[0.6, 0.4], [0.1, 0.9], [0.95, 0.05], [0.9, 0.1]])
    found = suspicious_labels(np.array([0, 0, 0, 1]), votes)
    assert np.argsort(-found.suspicion)[:2].tolist() == [1, 3]  # a tie, in order
    assert found.suggested.tolist() == [0, 1, 0, 0]
    assert found.likely.tolist() == [False, True, False, True]


def test_numbers_far_from_the_votes_come_first_in_robust_units():
    rng = np.random.RandomState(0)
    targets = rng.randn(1000)
    targets[7] += 50  # which would double an ordinary standard deviation
    found = suspicious_numbers(targets, np.zeros(1000))
    assert found.suspicion.argmax() == 7
    assert found.evidence[7] == pytest.approx(50, rel=0.1)
    assert found.likely.sum() == 1


def test_influence_is_the_share_of_leave_one_out_votes():
    rng = np.random.RandomState(0)
    x = np.r_[rng.randn(20, 2), [[100.0, 100.0]]]
    y = np.r_[(x[:20, 0] > 0).astype(int), 1]
    model = ModernNCAClassifier(members=["knn"], random_state=0, device="cpu")
    model.fit(x, y)
    rows = model._encode(model.rows_.table)
    found = influence(model.ensemble_, rows, classification=True)
    with torch.inference_mode():
        shares = model.ensemble_.shares(rows).numpy().astype(float)
    np.fill_diagonal(shares, 0)
    shares /= shares.sum(1, keepdims=True)
    np.testing.assert_allclose(found.share, shares.sum(0), rtol=1e-5)
    assert found.share.sum() == pytest.approx(21)
    far = int(np.flatnonzero(model.rows_.index == 20)[0])
    assert found.share[far] == 0
    agree = y[model.rows_.index][:, None] == y[model.rows_.index]
    helped = (shares * agree).sum(0)[found.share > 0]
    known = found.support[found.share > 0] * found.share[found.share > 0]
    np.testing.assert_allclose(known, helped, rtol=1e-5)


def test_rows_far_from_all_points_are_unlike_them():
    rng = np.random.RandomState(0)
    points = rng.randn(500, 3)
    p_values = likeness(points, np.r_[rng.randn(400, 3), [[9.0, 9, 9]]])
    assert p_values[-1] < 0.01
    assert np.mean(p_values[:-1] < 0.05) < 0.1


def test_regions_are_clusters_with_a_row_in_their_middle():
    rng = np.random.RandomState(0)
    points = np.r_[rng.randn(60, 2), rng.randn(60, 2) + 20]
    regions = find_regions(points, 2)
    assert len({*regions.of_rows[:60]}) == len({*regions.of_rows[60:]}) == 1
    for region, row in enumerate(regions.prototypes):
        assert regions.of_rows[row] == region
        away = np.linalg.norm(points - regions.centers[region], axis=1)
        assert away.argmin() == row
    assert (regions.find(points) == regions.of_rows).all()


def test_a_region_is_named_by_what_sets_it_apart():
    n = 80
    rng = np.random.RandomState(0)
    of_rows = np.repeat([0, 1], n)
    frame = pd.DataFrame(
        {
            "noise": rng.randn(2 * n),
            "age": rng.randn(2 * n) + 8 * of_rows,
            "town": np.where(of_rows == 1, "Ulm", "Bonn"),
        }
    )
    table = read_table(frame)
    names = name_regions(table, learn_schema(table), of_rows)
    assert {*names[0].split(", ")} == {"age low", "town Bonn"}
    assert {*names[1].split(", ")} == {"age high", "town Ulm"}
