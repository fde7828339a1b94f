from collections import namedtuple

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from modernnca import ModernNCAClassifier, load

TABLES = {
    "good.csv": b"age,color,bought\n" + b"1,red,yes\n2,blue,no\n" * 10,
    "ragged.csv": b"a,y\n1,2\n3\n",
    "empty.csv": b"",
    "header.csv": b"a,y\n",
    "twice.csv": b"a,a,y\n1,2,3\n",
    "blank.csv": b"a,y\n1,\n2,\n",
    "dates.csv": b"a,y\n1,2024-01-01\n2,2024-01-02\n",
    "sheet.xlsx": b"",
    "text.parquet": b"this is no parquet file",
}


@pytest.fixture
def files(shell, tmp_path):
    for name, content in TABLES.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def fails(shell, *words):
    """The one line that a failing command says."""
    result = shell(*words)
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("\n")
    return result.stderr.removeprefix("Error: ").rstrip("\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("ragged.csv -t y", "Cannot read 'ragged.csv': CSV parse error: "
         "Expected 2 columns, got 1: 3; repair the file, or name another."),
        ("empty.csv -t y", "Cannot read 'empty.csv': Empty CSV file; "
         "repair the file, or name another."),
        ("header.csv -t y", "'header.csv' has no rows; name another file."),
        ("twice.csv -t y", "The column name 'a' occurs 2 times in 'twice.csv'; "
         "rename all but one of them."),
        ("sheet.xlsx -t y", "Unknown suffix '.xlsx' of 'sheet.xlsx'; "
         "choose one of: .csv, .csv.gz, .parquet, .tsv, .txt."),
        ("blank.csv -t y", "The target 'y' is missing in every row; "
         "name another with --target."),
        ("dates.csv -t y", "The target 'y' holds date32[day] values; "
         "name a column of numbers, text or booleans with --target."),
        ("good.csv -t bougth", "There is no column 'bougth' for --target; "
         "did you mean 'bought'?"),
        ("good.csv -t zzz", "There is no column 'zzz' for --target; "
         "the columns are: age, color, bought."),
        ("good.csv -t color --task regression", "The target 'color' holds text, such "
         "as 'red', but regression needs numbers; use --task classification, or name "
         "another with --target."),
        ("good.csv -t bought --keep colour", "There is no column 'colour' for --keep; "
         "did you mean 'color'?"),
        ("good.csv -t bought --drop colour", "There is no column 'colour' for --drop; "
         "did you mean 'color'?"),
        ("good.csv -t bought --set dim", "--set 'dim' has no '='; "
         "write --set name=value, such as --set dim=64."),
        ("good.csv -t bought --set dim=0", "dim must be a whole number of at least 1; "
         "got 0."),
        ("good.csv -t bought --preset x", "Unknown preset 'x'; choose one of: best, "
         "default, fast, linear, nca-v0, nca-v1, nca-v2, nca-v3, nca-v4, paper, "
         "tabcon."),
        ("good.csv -t bought --device tpu", "Unknown device 'tpu'; "
         "choose one of: cpu, cuda, mps."),
        ("good.csv -t bought --time-limit 0", "time_limit must be a number above 0 "
         "or None; got 0.0."),
        ("good.csv -t bought --numerical color", "The column 'color' is listed in "
         "numerical_features, but holds 'red' and no number at all; clean it or "
         "leave it out."),
    ],
)  # fmt: skip
def test_fit_fails_in_one_line_with_a_way_out(shell, files, words, said):
    assert fails(shell, "fit", "-o", "m.mnca", *words.split()) == said
    assert not (files / "m.mnca").exists()


def test_an_absent_table_is_named_with_its_folder(shell, tmp_path):
    assert fails(shell, "fit", "nope.csv", "-t", "y", "-o", "m.mnca") == (
        f"There is no file 'nope.csv' in {str(tmp_path)!r}; check its name and folder."
    )


def test_a_folder_is_no_table(shell, files):
    assert fails(shell, "fit", ".", "-t", "y", "-o", "m.mnca") == (
        "'.' is a folder; name a file in it."
    )


def test_a_false_parquet_file_is_named(shell, files):
    said = fails(shell, "fit", "text.parquet", "-t", "y", "-o", "m.mnca")
    assert said.startswith("Cannot read 'text.parquet': ")
    assert said.endswith("; repair the file, or name another.")


def test_an_unknown_option_gets_a_suggestion(shell, files):
    words = ("fit", "good.csv", "-t", "bought", "-o", "m.mnca", "--set", "dimm=3")
    assert fails(shell, *words) == "Unknown option 'dimm'; did you mean 'dim'?"
    words = (*words[:-1], "callbacks=3")  # which a shell cannot give
    assert fails(shell, *words).startswith("Unknown option 'callbacks'")


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_the_place_to_write_to_is_checked_before_any_work(
    shell, files, command, classifier_file
):
    words = {
        "fit": ("fit", "good.csv", "-t", "bought"),
        "predict": ("predict", classifier_file, "good.csv"),
    }[command]
    assert fails(shell, *words, "-o", "no/out.csv") == (
        "There is no folder 'no' to write 'out.csv' into; "
        "create it, or choose another with --out."
    )
    (files / "folder.csv").mkdir()
    assert fails(shell, *words, "-o", "folder.csv") == (
        "'folder.csv' is a folder; name a file in it with --out."
    )


@pytest.mark.parametrize("words", ["predict M good.csv", "info M"])
def test_a_file_that_is_no_model_is_named(shell, files, words):
    command = words.replace("M", "ragged.csv").split()
    said = fails(shell, *command)
    assert said.startswith("'ragged.csv' is not a model file of modernnca")
    said = fails(shell, *words.replace("M", "nope.mnca").split())
    assert said == (
        f"There is no file 'nope.mnca' in {str(files)!r}; check its name and folder."
    )


def test_a_damaged_model_is_named(shell, files, classifier_file):
    content = bytearray(classifier_file.read_bytes())
    content[-100] ^= 1
    (files / "damaged.mnca").write_bytes(content)
    assert "'damaged.mnca'" in fails(shell, "info", "damaged.mnca")


def test_an_unknown_suffix_is_refused(shell, files, classifier_file):
    assert fails(shell, "predict", classifier_file, "good.csv", "-o", "o.doc") == (
        "Unknown suffix '.doc' of 'o.doc'; choose one of: .csv, .csv.gz, .parquet, "
        ".tsv, .txt."
    )


def test_too_many_neighbors_are_refused(shell, shop, classifier_file):
    result = shell("predict", classifier_file, shop, "--neighbors", 88)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[1:] == [
        "Error: n_neighbors must be between 1 and the number of remembered rows, 87; "
        "got 88."
    ]


def test_a_column_of_another_kind_is_named(shell, files, regressor_file, shop):
    columns = {"age": ["old"], "color": ["red"], "zip": [7], "bought": ["no"]}
    columns |= {"joined": ["2024-01-05"], "member": [True]}
    pa_parquet.write_table(pa.table(columns), "t.parquet")
    said = fails(shell, "predict", regressor_file, "t.parquet")
    assert said == (
        "The column 'age' held numbers in fit, but now holds text, such as 'old'; "
        "convert it first."
    )


def test_developers_may_see_the_traceback(shell, files, monkeypatch):
    monkeypatch.setenv("MODERNNCA_TRACEBACK", "1")
    result = shell("fit", "header.csv", "-t", "y", "-o", "m.mnca")
    assert isinstance(result.exception, ValueError)


@pytest.mark.parametrize("words", ["fit good.csv -t y", "fit", "predict", "nothing"])
def test_usage_errors_end_with_2(shell, files, words):
    assert shell(*words.split()).exit_code == 2


def test_no_room_for_the_model_is_said_before_any_work(shell, files, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(10**6, 10**6, 1000))
    monkeypatch.setattr(ModernNCAClassifier, "fit", None)  # never called
    said = fails(shell, "fit", "good.csv", "-t", "bought", "-o", "m.mnca")
    assert said == (
        "The model will take about 0 MB, but only 0 MB are free in '.'; make room, or "
        "choose another place with --out."
    )


def test_a_folder_on_a_disk_that_refuses_is_found_before_any_work(
    shell, files, monkeypatch
):
    def refuse(dir):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    said = fails(shell, "fit", "good.csv", "-t", "bought", "-o", "m.mnca")
    assert said == (
        "The folder '.' cannot be written to (Read-only file system); choose another "
        "with --out."
    )


def test_a_model_that_cannot_be_written_is_not_lost(
    shell, files, monkeypatch, tmp_path
):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    save = ModernNCAClassifier.save

    def full(model, path, **options):
        if path.parent != home:
            raise OSError(28, "No space left on device")
        save(model, path, **options)

    monkeypatch.setattr(ModernNCAClassifier, "save", full)
    words = ("fit", "good.csv", "-t", "bought", "-o", "m.mnca", "-q")
    said = fails(shell, *words, "--set", "max_epochs=1")
    (kept,) = home.iterdir()
    assert said == (
        "Cannot write 'm.mnca': No space left on device. The model is in "
        f"{str(kept)!r} instead; move it from there."
    )
    assert load(kept).predict([[1, "red"]]).shape == (1,)
