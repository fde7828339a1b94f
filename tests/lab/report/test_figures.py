import ast
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.lab.report.frames import scores_of

from modernnca.errors import MissingExtraError
from modernnca.lab.report import figures
from modernnca.lab.report.bubbles import bubble_chart, radii
from modernnca.lab.report.critical_difference import critical_difference, stack_bars
from modernnca.lab.report.figures import draw
from modernnca.lab.report.heat_maps import gaps_to_best, heat_map

FILES = sorted(Path(figures.__file__).parent.glob("*.py"))
ODD = "$x^2$ <b>&\"'中"


def texts_of(svg):
    return [
        "".join(node.itertext())
        for node in ET.fromstring(svg).iter()
        if node.tag.endswith("}text")
    ]


def test_bars_that_touch_are_put_below_each_other():
    assert stack_bars([(1, 2), (1.5, 4), (2.05, 3), (4.5, 5)], gap=0.1) == [0, 1, 2, 0]


def test_a_critical_difference_diagram_names_everyone_with_the_rank():
    ranks = pd.DataFrame({"method": ["a", ODD, "c"], "rank": [1.25, 2.0, 2.75]})
    figure = critical_difference(ranks, [["a", ODD]], group="all", hero="a")
    texts = texts_of(figure.svg)
    assert {"a  1.25", f"{ODD}  2.00", "2.75  c"} <= set(texts)
    assert "a 1.25" in figure.alt
    assert figure.png.startswith(b"\x89PNG")


def test_methods_of_one_rank_can_be_drawn():
    ranks = pd.DataFrame({"method": ["a", "b"], "rank": [1.5, 1.5]})
    figure = critical_difference(ranks, [["a", "b"]], group="all", hero="a")
    assert {"a  1.50", "1.50  b"} <= set(texts_of(figure.svg))


def test_bubbles_know_their_numbers_by_hover():
    frame = pd.DataFrame(
        {
            **{"method": ["a", ODD], "rank": [1.0, 2.0], "fit_seconds": [90.0, 0.2]},
            **{"peak_bytes": [2.0**30, np.nan], "front": [True, False]},
        }
    )
    figure = bubble_chart(frame, group="all", hero="a")
    assert set(figure.titles.values()) == {
        "a: rank 1.00, fit 1.5 min, memory 1.0 GiB, on the Pareto front",
        f"{ODD}: rank 2.00, fit 200 ms, memory unknown",
    }
    inside = ET.fromstring(figure.inline())
    titles = [node.text for node in inside.iter() if node.tag.endswith("title")]
    assert sorted(titles) == sorted(figure.titles.values())


def test_radii_follow_memory_and_never_vanish():
    assert list(radii(pd.Series([np.nan, np.nan]))) == [4.0, 4.0]


def test_gaps_are_points_of_accuracy_and_percent_of_rmse():
    scores = scores_of(
        *(("a", "binclass", "x", 0.9), ("a", "binclass", "y", 0.85)),
        *(("b", "regression", "x", 3.0), ("b", "regression", "y", 2.0)),
        *(("c", "regression", "x", 0.0), ("c", "regression", "y", None)),
    )
    found = gaps_to_best(scores)
    assert found.loc["a"].tolist() == pytest.approx([0, 5])
    assert found.loc["b"].tolist() == pytest.approx([50, 0])
    assert found.loc["c"].tolist() == pytest.approx([0, np.nan], nan_ok=True)


def test_a_figure_within_a_page_has_its_colors_and_its_own_ids():
    gap = pd.DataFrame({"x": [0.0, np.nan]}, index=["a", ODD])
    first = heat_map(gap, hero="x")
    inside = first.inline()
    assert "var(--accent)" in inside
    assert 'role="img"' in inside
    assert all(part.startswith("heatmap-") for part in inside.split(' id="')[1:])
    assert first == heat_map(gap, hero="x")  # the same bytes


def test_colors_of_the_user_do_not_reach_a_figure():
    import matplotlib

    plain = heat_map(pd.DataFrame({"x": [0.0]}, index=["a"]), hero="x")
    with matplotlib.rc_context({"axes.facecolor": "red", "text.usetex": False}):
        assert heat_map(pd.DataFrame({"x": [0.0]}, index=["a"]), hero="x") == plain


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r'pip install "modernnca\[bench\]"'):
        draw("x", "nothing", lambda canvas: None, width=1, height=1)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_room_is_entered_without_its_extras(path):
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            assert "matplotlib" not in ast.unparse(node)
            assert "jinja2" not in ast.unparse(node)
