"""The page as a reader has it: in a real browser."""

import pandas as pd
import pytest
from tests.lab.report.frames import benchmark
from tests.lab.report.reading import check_names, opened

from modernnca.lab.report import write_report

WIDTHS = (390, 1280)


@pytest.fixture
def page(browser, report):
    """The report, opened off-line; nothing may go wrong in it."""
    with opened(browser, report) as page:
        yield page


def column(page, table, place):
    return page.locator(f"{table} tbody tr:visible > :nth-child({place})")


def test_the_page_opens_and_is_titled_by_us(page):
    assert page.title().startswith("A small benchmark <script>")


def test_every_figure_has_a_size_and_a_text(page):
    for group in ("all", "classification", "regression"):
        page.locator(f"input[value={group}]").check(force=True)
        figures = page.locator("figure:visible svg")
        assert figures.count() == 5
        for figure in figures.all():
            box = figure.bounding_box()
            assert box["width"] > 300
            assert box["height"] > 50
            assert len(figure.get_attribute("aria-label")) > 40


def test_a_table_sorts_by_numbers_both_ways(page):
    head = page.locator("#table-main-all thead th", has_text="Elo")
    cells = column(page, "#table-main-all", 5)
    shown = [float(cell.get_attribute("data-v")) for cell in cells.all()]
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    found = [float(cell.get_attribute("data-v")) for cell in cells.all()]
    assert found == sorted(shown)
    assert found[0] < 1000 <= found[-1]  # as text, 1,100 would come before 900
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    found = [float(cell.get_attribute("data-v")) for cell in cells.all()]
    assert found == sorted(shown, reverse=True)


def test_a_table_sorts_by_text_and_from_the_keyboard(page):
    head = page.locator("#table-main-all thead th").first
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    names = column(page, "#table-main-all", 1).all_text_contents()
    assert names == sorted(names)


def test_cells_without_a_value_stay_at_the_end(page):
    head = page.locator("#table-main-all thead th", has_text="Wins")
    for _ in range(2):
        head.get_by_role("button").click()
        assert column(page, "#table-main-all", 6).all_text_contents()[-1] == "\u2013"


def test_groups_switch_the_panels_and_the_rows(page):
    assert page.locator("#table-main-all").is_visible()
    page.get_by_text("Regression", exact=True).first.click()
    assert not page.locator("#table-main-all").is_visible()
    assert page.locator("#table-main-regression").is_visible()
    tasks = page.locator("#heatmap tbody tr:visible").evaluate_all(
        "rows => rows.map(row => row.dataset.task)"
    )
    assert tasks == ["regression"] * 3


def test_filters_choose_tables_by_name_task_rows_and_columns(page):
    shown = page.locator("#shown")
    rows = page.locator("#heatmap tbody tr:visible")
    assert shown.text_content() == "10 of 10 datasets shown"
    page.get_by_label("Name").fill("TABLE-1")
    assert rows.count() == 1
    page.get_by_role("button", name="Show all").click()
    page.wait_for_function("document.getElementById('shown').value.startsWith('10')")
    page.get_by_label("Task").select_option("multiclass")
    assert shown.text_content() == "3 of 10 datasets shown"
    page.get_by_label("Columns from").fill("11")
    page.locator("[name=columns-to]").fill("30")
    assert rows.locator("th").all_text_contents() == ["table-4"]
    page.locator("[name=rows-from]").fill("9999999")
    assert rows.count() == 0
    assert page.locator("#live td").first.text_content() == ""


def check_ranks(page, report):
    """The live ranks of each group are those of its table of results."""
    for group in ("all", "classification", "regression"):
        page.locator(f"input[value={group}]").check(force=True)
        table = pd.read_csv(report.parent / "tables" / f"main-{group}.csv")
        names = page.locator("#heatmap thead th .sort").all_inner_texts()[1:]
        ranks = page.locator("#live td").all_text_contents()
        found = {name: rank for name, rank in zip(names, ranks, strict=True) if rank}
        assert found == {
            row.method: f"{row.rank:.2f}" for row in table.itertuples(index=False)
        }


def test_the_ranks_of_the_tables_shown_are_those_of_the_main_table(page, report):
    check_ranks(page, report)


def test_so_are_they_where_most_methods_were_run_on_few_tables(browser, tmp_path):
    records = benchmark()
    on_few = records["dataset"].isin(["table-0", "table-1", "table-2"])
    on_all = records["method"] == "modernnca"
    report = write_report(records[on_few | on_all], tmp_path / "out")
    with opened(browser, report) as page:
        check_ranks(page, report)
        assert page.locator("#live td").first.text_content()
    whole = pd.read_csv(report.parent / "tables" / "main-all.csv")
    assert len(whole) == 4  # four on three tables are more than one on nine


def test_cells_say_more_by_hover(page):
    cell = page.locator("#heatmap tbody td.g0").first
    assert "the best" in cell.get_attribute("title")
    assert page.locator("figure svg g > title").count() > 20


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_screen(page, width):
    page.set_viewport_size({"width": width, "height": 844})
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    for group in ("all", "regression"):
        page.locator(f"input[value={group}]").check(force=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_colors_follow_the_system_and_the_button(page):
    color = "getComputedStyle(document.body).backgroundColor"
    button = page.get_by_role("button", name="Dark colors")
    light = page.evaluate(color)
    button.click()
    dark = page.evaluate(color)
    assert dark != light
    assert button.get_attribute("aria-pressed") == "true"
    ink = page.locator("#figure-critical-all svg text").first
    assert ink.evaluate("node => getComputedStyle(node).fill") == "rgb(152, 157, 166)"
    button.click()
    assert page.evaluate(color) == light
    page.evaluate("localStorage.clear(); delete document.documentElement.dataset.theme")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(color) == dark


def test_everything_can_be_reached_by_a_screen_reader(page):
    check_names(page)
