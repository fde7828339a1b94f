import json
import re
import sys

import numpy as np
import pandas as pd
import pytest

import modernnca
from modernnca import ModernNCAClassifier, ModernNCARegressor
from modernnca.evidence import map_page
from modernnca.evidence.projection import project

HOSTILE = "</script><script>document.title='taken'</script>"
N = 120


def table(n=N, seed=0):
    rng = np.random.RandomState(seed)
    group = rng.randint(0, 3, n)
    return pd.DataFrame(
        {
            "size": rng.randn(n) + 6 * group,
            "town": np.array(["Ulm", HOSTILE, "Kiel"])[group],
            "gap": np.where(rng.rand(n) < 0.2, np.nan, rng.randn(n)),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n) % 99, "D"),
            "flag": rng.rand(n) < 0.5,
        }
    )  # fmt: skip


X = table()
Y = np.array(["small", "middle", "large"])[X["size"].rank().astype(int) * 3 // (N + 1)]
NEW = table(15, seed=1)
FAST = {"preset": "fast", "max_epochs": 4, "random_state": 0, "device": "cpu"}


@pytest.fixture(autouse=True)
def _components(request, monkeypatch):
    """Without openTSNE, but where a test asks for it."""
    if "tsne" not in request.keywords:
        monkeypatch.setitem(sys.modules, "openTSNE", None)


@pytest.fixture(scope="module")
def model():
    return ModernNCAClassifier(**FAST).fit(X, Y)


@pytest.fixture(scope="module")
def regressor():
    return ModernNCARegressor(**FAST).fit(X.drop(columns="size"), X["size"])


def data_of(found):
    text = re.search(r"const data = (\{.*?\});\n", found._repr_html_()).group(1)
    return json.loads(text)


def test_rows_are_in_the_order_of_fit_and_new_ones_beside_them(model):
    found = model.map(NEW)
    assert found.coordinates.shape == (N, 2)
    assert found.new.shape == (15, 2)
    assert found.rows.tolist() == list(range(N))
    assert found.colors.tolist() == Y.tolist()
    assert found.method == "PCA"


def test_a_row_is_placed_where_it_is_remembered(model):
    found = model.map(X)
    np.testing.assert_allclose(found.new, found.coordinates, atol=1e-4)


def test_prototypes_are_rows_with_a_name(model):
    found = model.map()
    assert 1 < len(found.prototypes) == len(found.names) <= 10
    assert set(found.prototypes) <= set(range(N))
    for row, name in zip(found.prototypes, found.names, strict=True):
        assert name.endswith(f"({Y[row]})")


def test_colors_are_what_they_say(model):
    loo = model.loo()
    assert (model.map(color="prediction").colors == loo.predictions).all()
    errors = model.map(color="error").colors
    wrong = loo.predictions != Y
    assert errors[wrong].min() > errors[~wrong].min()
    unsure = model.map(NEW, color="uncertainty")
    np.testing.assert_allclose(
        unsure.new_colors, 1 - model.ensemble_.vote(model._read_queries(NEW)).max(1)
    )
    np.testing.assert_array_equal(model.map(color="gap").colors, X["gap"])
    assert model.map(NEW, color="town").new_colors.tolist() == NEW["town"].tolist()
    years = model.map(color="day").colors
    assert 2024 <= years.min() < years.max() < 2024.3
    assert {*model.map(color="flag").colors} == {"True", "False"}


def test_in_regression_colors_have_the_units_of_the_target(regressor):
    size = X["size"].to_numpy()
    found, loo = regressor.map(NEW.drop(columns="size"), color="error"), regressor.loo()
    np.testing.assert_allclose(found.colors, np.abs(loo.predictions - size), atol=1e-3)
    np.testing.assert_allclose(regressor.map().colors, size, rtol=1e-4, atol=1e-4)
    spread = regressor.map(NEW.drop(columns="size"), color="uncertainty")
    assert (spread.colors >= 0).all()
    assert spread.new_colors.shape == (15,)
    assert spread.colors.max() <= np.ptp(size) / 2 + 1e-3  # Popoviciu's bound


def test_the_page_is_whole_and_no_cell_breaks_out_of_it(model, tmp_path):
    found = model.map(NEW, color="town")
    found.to_html(tmp_path / "map.html")
    text = (tmp_path / "map.html").read_text()
    assert text.count("<script>") == text.count("</script>") == 1
    assert "src=" not in text
    assert "http" not in text
    assert "prefers-color-scheme: dark" in text
    assert 'role="img" aria-label=' in text
    data = data_of(found)
    assert data["n"] == N
    assert len(data["x"]) == len(data["c"]) == len(data["names"]) == N + 15
    assert data["cells"]["town"][:2] == X["town"].tolist()[:2]
    assert data["cells"]["target"][-1] == "missing"


def test_many_rows_are_sampled_but_prototypes_stay(model, monkeypatch):
    monkeypatch.setattr(map_page, "MAX_SHOWN", 20)
    found = model.map(NEW)
    data = data_of(found)
    assert 20 <= data["n"] <= 30
    named = [data["names"][i] for i in data["prototypes"]]
    assert named == [f"row {row}" for row in found.prototypes]
    assert f"of {N} rows" in found._repr_html_()


def test_a_map_without_the_raw_rows_has_no_columns(model, tmp_path):
    model.save(tmp_path / "m.mnca", rows=False)
    again = modernnca.load(tmp_path / "m.mnca")
    found = again.map(NEW)
    np.testing.assert_allclose(found.coordinates, model.map().coordinates, atol=1e-5)
    assert list(found.cells) == ["target"]
    with pytest.raises(ValueError, match=r"'town' cannot color the map: .* without"):
        again.map(color="town")


def test_bad_input_gets_a_sentence_with_the_way_out(model, monkeypatch):
    with pytest.raises(
        ValueError, match="Unknown color 'targte'; did you mean 'target'"
    ):
        model.map(color="targte")
    with pytest.raises(
        ValueError, match="choose one of: target, prediction, error, un"
    ):
        model.map(color="?")
    with pytest.raises(ValueError, match="lacks the column 'size'"):
        model.map(NEW.drop(columns="size"))
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.map(NEW.head(0))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib, or use to_html"):
        model.map().plot()


def test_the_plot_shows_every_row(model, regressor):
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    ax = model.map(NEW).plot()
    shown = sum(len(each.get_offsets()) for each in ax.collections)
    found = model.map(NEW)
    assert shown == N + 15 + len(found.prototypes)
    assert {t.get_text() for t in ax.get_legend().get_texts()} == {*Y, "new rows"}
    _, own = plt.subplots()
    assert regressor.map(color="uncertainty").plot(own) is own
    plt.close("all")


def test_a_constant_is_a_single_point():
    x = np.random.RandomState(0).randn(30, 2)
    model = ModernNCARegressor(
        members=["constant"], random_state=0, config={"baseline_check": False}
    ).fit(x, x[:, 0])
    assert not model.map(x[:3]).coordinates.any()


def test_one_column_lies_on_a_line():
    found = project(np.arange(20.0)[:, None])
    assert np.ptp(found.coordinates[:, 0]) == pytest.approx(19)
    assert not found.place(np.ones((4, 1)))[:, 1].any()


@pytest.mark.tsne
def test_tsne_keeps_clusters_apart_and_places_new_rows_in_theirs():
    pytest.importorskip("openTSNE")
    rng = np.random.RandomState(0)
    centers = 50 * np.eye(8)[:3]
    points = np.repeat(centers, 30, axis=0) + rng.randn(90, 8)
    found = project(points)
    assert found.method == "t-SNE"
    middles = found.coordinates.reshape(3, 30, 2).mean(1)
    placed = found.place(centers + rng.randn(3, 8))
    away = np.linalg.norm(placed[:, None] - middles, axis=2)
    assert away.argmin(1).tolist() == [0, 1, 2]
    again = project(points)
    np.testing.assert_array_equal(found.coordinates, again.coordinates)
