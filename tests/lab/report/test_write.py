import os
import re
import sys

import numpy as np
import pandas as pd
import pytest
from tests.lab.report.frames import benchmark, failed, records_of, run, scores_of

from modernnca.errors import MissingExtraError
from modernnca.lab.report import write_report


def files_of(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def lead(page):
    return re.search(r'<p class="lead">(.*?)</p>', page.read_text("utf-8"))[1]


def test_a_report_has_a_page_tables_and_figures(report):
    names = set(files_of(report.parent))
    assert {"index.html", "tables/main-all.csv", "tables/main-all.md"} <= names
    assert {"tables/tuned.tex", "tables/published.csv", "tables/failures.csv"} <= names
    for figure in ("critical", "bubbles", "outcomes", "winrates", "elo", "improvement"):
        for group in ("all", "classification", "regression"):
            assert f"figures/{figure}-{group}.svg" in names
            assert f"figures/{figure}-{group}.png" in names
    assert "figures/heatmap.png" in names


def test_the_tuned_hero_is_the_one_that_is_told(report):
    table = pd.read_csv(report.parent / "tables" / "main-all.csv")
    assert table["method"].iloc[0] == "ModernNCA (tuned)"
    assert lead(report).startswith("ModernNCA (tuned) ranks first of 5 methods")


def test_text_from_data_is_never_markup(report):
    page = report.read_text("utf-8")
    assert page.count("<script>") == 1
    assert "&lt;script&gt;document.title" in page


def test_a_page_needs_nothing_else(report):
    page = report.read_text("utf-8")
    assert not re.findall(r'(?:src|href)="(?!#)', page)
    assert "@import" not in page


def test_the_same_records_give_the_same_bytes(tmp_path):
    records = benchmark(2, n_seeds=2)
    for place in ("one", "two"):
        write_report(records, tmp_path / place, facts={"date": "today"})
        records = records.sample(frac=1, random_state=0)  # in any order
    one, two = files_of(tmp_path / "one"), files_of(tmp_path / "two")
    assert one.keys() == two.keys()
    assert [name for name in one if one[name] != two[name]] == []


def test_no_records_are_said(tmp_path):
    for records in (None, records_of()):
        page = write_report(records, tmp_path / "out", facts={"machine": "mine"})
        assert lead(page) == "There are no records yet."
        assert "mine" in page.read_text("utf-8")


def test_all_failed_is_said_with_the_errors(tmp_path):
    page = write_report(records_of(failed("a"), failed("b")), tmp_path / "out")
    assert lead(page) == "No run has returned a score yet."
    assert "Boom." in page.read_text("utf-8")


def test_all_failed_on_known_tasks_is_said_as_well(tmp_path):
    page = write_report(records_of(failed("a", task="binclass")), tmp_path / "out")
    assert lead(page).startswith("No run has returned a score")


def test_one_method_on_one_table_is_a_report(tmp_path):
    page = write_report(records_of(run("a", "modernnca")), tmp_path / "out")
    assert "is the only method here" in lead(page)


def test_two_methods_on_one_table_are_a_report(tmp_path):
    records = records_of(run("a", "modernnca", 0.9), run("a", "knn", 0.8))
    page = write_report(records, tmp_path / "out")
    assert lead(page).startswith("ModernNCA ranks first of 2 methods on 1 class")
    assert "at least two methods and two datasets" in page.read_text("utf-8")


def test_one_method_on_several_tables_is_a_report(tmp_path):
    records = records_of(run("a", "svm"), run("b", "svm", task="regression"))
    page = write_report(records, tmp_path / "out")
    assert "<h2>SVM against each method</h2>" in page.read_text("utf-8")
    assert "ModernNCA is not among the compared methods; SVM" in lead(page)


def test_methods_that_never_met_are_a_report(tmp_path):
    records = records_of(run("a", "knn"), run("b", "svm", task="regression"))
    page = write_report(records, tmp_path / "out")
    assert "There is no comparison over all datasets. Not" in page.read_text("utf-8")


def test_missing_scores_are_said(tmp_path):
    rows = [run(f"t{i}", method, 0.9 - i / 50) for i in range(3) for method in "xyz"]
    records = records_of(*rows[:-1], failed("t2", "z"))
    page = write_report(records, tmp_path / "out", hero="x").read_text("utf-8")
    assert "1 of 9 scores are missing (z 1)." in page
    assert 'title="z: no score"' in page


def test_scores_alone_are_a_report(tmp_path):
    rng = np.random.default_rng(0)
    scores = scores_of(
        *(
            (f"t{i}", ("binclass", "regression")[i % 2], method, rng.random())
            for i in range(6)
            for method in ("modernNCA", "catboost", "tabr")
        )
    )
    page = write_report(None, tmp_path / "out", scores=scores)
    text = page.read_text("utf-8")
    assert "CatBoost" in text
    assert "There are no fit times of two methods" in text
    assert (page.parent / "figures" / "critical-regression.svg").exists()


def test_scores_of_a_wrong_shape_are_refused(tmp_path):
    scores = scores_of(("a", "binclass", "x", 0.9)).drop(columns="std")
    with pytest.raises(ValueError, match="has no column 'std'"):
        write_report(None, tmp_path / "out", scores=scores)
    assert list(tmp_path.iterdir()) == []


def test_an_old_report_is_replaced_whole(tmp_path):
    records = records_of(run("a", "modernnca"))
    write_report(records, tmp_path / "out", title="Old")
    (tmp_path / "out" / "tables" / "left-over.csv").write_text("old")
    page = write_report(records, tmp_path / "out", title="New")
    assert "<h1>New</h1>" in page.read_text("utf-8")
    assert not (tmp_path / "out" / "tables" / "left-over.csv").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("moment", ["while it is written", "while it is moved"])
def test_an_old_report_stays_if_the_new_one_fails(tmp_path, monkeypatch, moment):
    records = records_of(run("a", "modernnca"))
    page = write_report(records, tmp_path / "out", title="Old")
    before = files_of(tmp_path)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    rename = os.rename
    if moment == "while it is written":
        monkeypatch.setattr("pathlib.Path.write_text", full)
    else:
        monkeypatch.setattr(
            "os.rename", lambda a, b: full() if a.name == "new" else rename(a, b)
        )
    with pytest.raises(OSError, match="No space left"):
        write_report(records, tmp_path / "out", title="New")
    monkeypatch.undo()
    assert files_of(tmp_path) == before
    assert "<h1>Old</h1>" in page.read_text("utf-8")


def test_a_folder_of_other_files_is_not_replaced(tmp_path):
    (tmp_path / "thesis.txt").write_text("all my work")
    with pytest.raises(FileExistsError, match="contains files that are not a report"):
        write_report(None, tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "all my work"


def test_a_file_is_not_replaced(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(NotADirectoryError, match="a report needs a folder"):
        write_report(None, tmp_path / "out")


def test_without_jinja2_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r'pip install "modernnca\[bench\]"'):
        write_report(None, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
