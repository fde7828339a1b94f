"""Suites, and what is chosen of them."""

import pytest
from tests.lab.bench.made_tables import make_frame, make_parquet_folder, make_talent

from modernnca.errors import TableError
from modernnca.lab.bench.suites import SUITES, select_datasets


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv("MODERNNCA_DATA", raising=False)


@pytest.fixture
def data(tmp_path):
    make_parquet_folder(
        tmp_path, "adult", n_rows=48842, task="binclass", n_num=6, n_cat=8
    )
    make_parquet_folder(
        tmp_path, "kin", talent_name_if_in_tables="kin8nm", task="regression"
    )
    make_parquet_folder(tmp_path, "mine", n_rows=900, n_num=500)
    make_talent(tmp_path, "bank")
    return tmp_path


def test_suites_name_their_tables():
    sizes = {
        name: suite.datasets and len(suite.datasets) for name, suite in SUITES.items()
    }
    assert sizes == {"builtin": 5, "all": None, "talent-300": 300, "tiny-45": 42}
    for suite in SUITES.values():
        assert suite.title
        assert len(set(suite.datasets or ())) == len(suite.datasets or ())
    assert set(SUITES["tiny-45"].datasets) < set(SUITES["talent-300"].datasets)


def test_the_builtin_suite_needs_no_folder():
    chosen = select_datasets("builtin")
    assert chosen.names == SUITES["builtin"].datasets
    assert chosen.missing == ()


def test_all_is_what_the_folder_holds(data):
    assert select_datasets("all", data=data).names == ("adult", "bank", "kin", "mine")


def test_what_a_suite_names_and_the_folder_lacks_is_missing(data):
    chosen = select_datasets("talent-300", data=data)
    assert set(chosen.names) == {"adult", "bank", "kin"}  # kin8nm, by its folder's name
    assert len(chosen.missing) == 297
    assert "phoneme" in chosen.missing
    assert "kin8nm" not in chosen.missing


def test_without_a_folder_all_of_a_suite_is_missing():
    assert select_datasets("tiny-45") == ((), SUITES["tiny-45"].datasets)


def test_talents_wine_is_not_the_one_of_scikit_learn(data):
    assert "wine" in select_datasets("talent-300", data=data).missing
    make_parquet_folder(data, "wine", task="binclass")
    assert "wine" in select_datasets("talent-300", data=data).names
    assert "builtin:wine" in select_datasets("builtin", data=data).names


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({"task": "binclass"}, {"adult", "bank"}),
        ({"task": "multiclass"}, {"mine"}),
        ({"task": "classification"}, {"adult", "bank", "mine"}),
        ({"task": "regression"}, {"kin"}),
        ({"min_rows": 50}, {"adult", "kin", "mine"}),
        ({"max_rows": 50}, {"kin", "bank"}),
        ({"min_rows": 7, "max_rows": 900}, {"kin", "mine"}),
        ({"max_columns": 14}, {"adult", "bank", "kin"}),
        ({"max_columns": 13, "task": "classification"}, {"bank"}),
    ],
)
def test_filters_ask_for_task_and_size(data, filters, names):
    assert set(select_datasets("all", data=data, **filters).names) == names


def test_filters_read_info_only(data):
    for name in ("adult", "kin", "mine"):
        (data / name / "data.parquet").write_bytes(b"not read")
    assert (
        len(select_datasets("all", data=data, max_rows=1000, max_columns=99).names) == 2
    )


def test_a_folder_that_does_not_say_its_size_is_read(tmp_path):
    make_parquet_folder(tmp_path, n_rows=None)
    assert select_datasets("all", data=tmp_path, max_rows=50).names == ("toys",)
    assert select_datasets("all", data=tmp_path, max_rows=49).names == ()


def test_lists_may_name_anything(data):
    make_frame().to_csv(data / "a.csv", index=False)
    asked = ["kin8nm", "iris", f"{data}/a.csv:kind", "kin", "builtin:wine"]
    chosen = select_datasets(asked, data=data)
    assert chosen.names == ("kin", "builtin:iris", f"{data}/a.csv:kind", "builtin:wine")
    assert select_datasets(asked, data=data, max_rows=60).names == (
        "kin",
        f"{data}/a.csv:kind",
    )


def test_a_name_in_a_list_that_nobody_knows_is_an_error(data):
    with pytest.raises(
        TableError, match=r"Unknown dataset 'bnak'.*did you mean 'bank'"
    ):
        select_datasets(["adult", "bnak"], data=data)


def test_a_broken_folder_is_missing_and_said(data, caplog):
    (data / "adult" / "info.json").write_text("{")
    chosen = select_datasets("all", data=data)
    assert chosen.missing == ("adult",)
    assert "adult" not in chosen.names
    assert "Cannot read" in caplog.text


def test_all_without_a_folder_is_an_error():
    with pytest.raises(TableError) as error:
        select_datasets("all")
    assert str(error.value) == (
        "The suite 'all' needs a data folder; set it with --data or MODERNNCA_DATA."
    )


def test_unknown_suites_and_tasks_are_answered_with_the_choices(data):
    with pytest.raises(ValueError) as error:
        select_datasets("tiny")
    assert str(error.value) == (
        "Unknown suite 'tiny'; choose one of: all, builtin, talent-300, tiny-45."
    )
    with pytest.raises(ValueError, match="Unknown task 'ranking'; choose one of: bin"):
        select_datasets("all", data=data, task="ranking")
