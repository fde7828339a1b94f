"""The page of an explanation: self-contained, escaped, light and dark."""

import re

import pytest

from modernnca import ModernNCAClassifier, load
from modernnca.evidence import explanation_page
from tests.evidence.test_explanation import LABELS, X


@pytest.fixture(scope="module")
def model():
    kind = ModernNCAClassifier(n_members=1, max_epochs=2, random_state=0)
    return kind.fit(X.rename(columns={"noise": "<noise>"}), LABELS)


@pytest.fixture(scope="module")
def found(model):
    return model.explain(X.rename(columns={"noise": "<noise>"})[:12], n_neighbors=4)


def test_the_page_shows_each_neighbor_and_its_columns(found):
    page = found.to_html(n_queries=2, rows=[40, 41])
    assert page.count("<section>") == 2
    assert "Row 41 of the table" in page
    assert "10 more queries" in page
    for share in found.shares[:2].ravel():
        assert f"{share:.1%}" in page
    for index in found.counterfactuals.indices[:2].ravel():
        assert f"row {index} of the training table" in page


def test_the_page_is_self_contained_and_escaped(found):
    page = found.to_html()
    assert not re.search(r"<(script|link|img)|https?:|url\(", page)
    assert "<b>Ulm</b>" not in page
    assert "&lt;b&gt;Ulm&lt;/b&gt;" in page
    assert "<noise>" not in page
    assert "prefers-color-scheme:dark" in page
    assert 'name="viewport"' in page


def test_a_notebook_shows_a_part_of_a_page(found):
    shown = found._repr_html_()
    assert shown.startswith('<div class="mnca">')
    assert shown.count("<section>") == 3


def test_without_rows_the_page_says_what_is_missing(model, tmp_path):
    model.save(tmp_path / "model", rows=False)
    again = load(tmp_path / "model").explain(X.rename(columns={"noise": "<noise>"})[:1])
    page = again.to_html()
    assert "saved without its rows" in page
    assert f"{again.shares[0, 0]:.1%}" in page


def test_a_plot_has_a_bar_for_each_neighbor(found):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    axes = found.plot(1)
    assert [label.get_text().split(":")[0] for label in axes.get_yticklabels()] == [
        f"row {index}" for index in found.indices[1]
    ]
    ends = max(bar.get_x() + bar.get_width() for bar in axes.patches)
    assert ends == pytest.approx(found.shares[1].max(), abs=1e-5)
    pyplot.close(axes.figure)
    with pytest.raises(ValueError, match="query must be between 0 and 11"):
        found.plot(12)


def test_columns_that_move_rows_nearer_are_gray():
    assert "less" in explanation_page._track(-0.5)
    assert "less" not in explanation_page._track(0.5)
    assert "width:50%" in explanation_page._track(-0.5)
