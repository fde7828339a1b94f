"""The page of the studies as a reader has it: in a real browser."""

import numpy as np
import pytest
from tests.lab.report.reading import check_names, opened

from modernnca.lab.bench.found import find
from modernnca.lab.bench.job import Record
from modernnca.lab.bench.store import Store
from modernnca.lab.bench.study import read_study
from modernnca.lab.report.studies import describe_progress, write_studies

NAMES = (
    *("distance", "sampling-rate", "visualise", "main", "beyond"),
    "architecture-fixed",  # planned, and not run
)
TASKS = ("binclass", "multiclass", "regression")
ODD = "<b>odd</b>"


def fill(store, name, tables):
    """Records as if the study had been run: each variant a little worse."""
    study = read_study(name)
    rng, jobs = np.random.default_rng(0), []
    for place, table in enumerate(tables):
        task = TASKS[place % 3]
        group = "regression" if task == "regression" else "classification"
        for skill, variant in enumerate(study.variants):
            if group not in variant.tasks or variant.only_tuned:
                continue
            job = study.job(variant, table, group)
            error = 0.1 + 0.02 * skill + rng.uniform(0, 0.03)
            scores = {"rmse": error} if group == "regression" else {}
            scores = scores or {"accuracy": 1 - error}
            points = None
            if study.kind == "embed":
                scores = {"purity": 1 - error, "trustworthiness": 0.9}
                points = rng.normal(size=(20, 2))
            facts = {"fit_seconds": 1.0 + skill, "n_train": 10 ** (2 + place % 3)}
            jobs.append(job)
            store.append(
                Record(
                    *(job, "done", None, task, scores, {}),
                    {**facts, "peak_bytes": 2.0**28, "n_columns": place + 1},
                    classes=None if group == "regression" else ["u", "v"],
                    prediction=points,
                    truth=None if points is None else rng.integers(0, 2, 20),
                )
            )
    store.plan(jobs)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies")
    store = Store(folder / "store")
    tables = [f"table-{place}" for place in range(11)] + [ODD]
    for name in NAMES[:-1]:
        fill(store, name, tables if name == "distance" else tables[-6:])
    store.plan(
        read_study("architecture-fixed").jobs(["builtin:iris"], seeds=1, trials=[0])
    )
    found = [(study, find(study, [store])) for study in map(read_study, NAMES)]
    return write_studies(found, folder / "out", facts={"versions": {"torch": "2"}})


@pytest.fixture
def page(browser, written):
    with opened(browser, written) as page:
        yield page


def test_a_report_has_findings_tables_and_figures_as_files(written):
    names = {path.name for path in written.parent.rglob("*")}
    assert {
        "findings.md",
        "findings.csv",
        "distance-default-classification.tex",
    } <= names
    for figure in (
        *("distance-default-ranks", "sampling-rate-default-curve"),
        *("visualise-default-maps", "main-default-critical-all"),
        *("main-default-bubbles-regression", "beyond-default-ratios-regression"),
    ):
        assert {f"{figure}.png", f"{figure}.svg"} <= names
    findings = (written.parent / "findings.md").read_text("utf-8")
    assert "## Distances (Table distance-fun)" in findings
    assert "**does not hold** (with default settings): In classification, cosine" in (
        findings
    )
    assert "Incomplete: 0 of 3 planned runs are recorded (0 %)." in findings
    n_open, n_told = findings.count("**undecided**"), findings.count(" would decide it")
    n_told += findings.count(" would be needed to decide it")
    assert f"Of the {n_open} undecided, {n_told} say how many datasets" in findings


def test_the_page_needs_nothing_else_and_text_is_never_markup(written):
    page = written.read_text("utf-8")
    assert page.count("<script>") == 1
    assert ODD not in page
    assert "&lt;b&gt;odd&lt;/b&gt;" in page


def test_every_study_has_a_figure_with_a_text_and_a_size(page):
    for name in NAMES[:-1]:
        figures = page.locator(f"#study-{name} figure svg:visible")
        assert figures.count() >= 1
        for figure in figures.all():
            box = figure.bounding_box()
            assert box["width"] > 300
            assert box["height"] > 50
            assert len(figure.get_attribute("aria-label")) > 60
    assert page.locator("#study-architecture-fixed figure").count() == 0


def test_figures_say_more_by_hover(page):
    titles = page.locator("#study-distance figure svg g > title").all_text_contents()
    assert any("Cosine" in title and "in the paper 2.11" in title for title in titles)


def test_findings_are_filtered_and_sorted(page):
    rows = page.locator("#table-findings tbody tr:visible")
    whole = rows.count()
    page.locator("[name=verdict]").select_option("does not hold")
    assert 0 < rows.count() < whole
    page.locator("[name=study]").select_option("Distances")
    assert rows.locator("td:nth-child(1)").all_text_contents()[0] == (
        "In classification, cosine is better than Euclidean distance."
    )
    page.locator("[name=verdict]").select_option("")
    page.locator("[name=study]").select_option("")
    assert rows.count() == whole
    head = page.locator("#table-findings thead th", has_text="Datasets")
    head.get_by_role("button").click()
    numbers = [int(text) for text in rows.locator("td:nth-child(4)").all_inner_texts()]
    assert numbers == sorted(numbers)


def test_tables_are_filtered_by_property_and_ranks_follow(page):
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    heat = "#heatmap-distance-default"
    assert page.locator("#shown").text_content() == "12 of 12 datasets shown"
    ranks = page.locator(f"{heat} .live td")
    before = ranks.all_text_contents()
    page.get_by_label("Task").select_option("multiclass")
    assert page.locator(f"{heat} tbody tr:visible").count() == 4
    assert page.locator("#shown").text_content() == "4 of 12 datasets shown"
    page.locator("[name=columns-to]").fill("2")
    assert page.locator(f"{heat} tbody tr:visible").count() == 1
    after = ranks.all_text_contents()
    assert sorted(map(float, after)) == [1, 2, 3, 4, 5]
    assert after != before


def test_groups_switch_the_panels_of_each_study(page):
    both = page.locator("#study-distance .panel:visible")
    assert both.count() == 2  # nothing is said of all tables at once
    page.get_by_text("Regression", exact=True).first.click()
    assert both.count() == 1
    assert page.locator("#table-distance-default-regression").is_visible()
    assert not page.locator("#table-main-default-all").is_visible()


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_screen(page, width):
    page.set_viewport_size({"width": width, "height": 844})
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_colors_and_names_for_a_screen_reader(page):
    color = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(color)
    page.get_by_role("button", name="Dark colors").click()
    assert page.evaluate(color) != light
    page.get_by_role("button", name="Dark colors").click()
    check_names(page)


def test_it_is_said_how_complete_a_run_is():
    assert describe_progress(0, 0) == "No runs yet."
    assert describe_progress(7, 7) == "Complete: all 7 planned runs are recorded."
