"""What the shell writes: never over its input, a device or a link."""

import os
import subprocess
import sys

import pytest
from tests.cli.test_failures import TABLES, fails

FIT = ("-t", "bought", "--preset", "fast", "--set", "max_epochs=1", "-q")


@pytest.fixture
def table(shell, tmp_path):
    (tmp_path / "good.csv").write_bytes(TABLES["good.csv"])
    return tmp_path / "good.csv"


def test_the_table_is_not_replaced_by_the_model(shell, table):
    before = table.read_bytes()
    os.link(table, "hard.csv")
    os.symlink(table, "soft.csv")
    for name in ("good.csv", "./good.csv", "hard.csv", "soft.csv"):
        assert fails(shell, "fit", "good.csv", *FIT, "-o", name) == (
            "The output would replace 'good.csv', which is read; name another."
        )
    assert table.read_bytes() == before


def test_neither_the_table_nor_the_model_is_replaced_by_predictions(shell, table):
    assert shell("fit", "good.csv", *FIT, "-o", "m.csv").exit_code == 0
    for name in ("good.csv", "m.csv"):
        said = fails(shell, "predict", "m.csv", "good.csv", "-o", name)
        assert said.startswith(f"The output would replace '{name}'")


@pytest.mark.parametrize("command", ["explain -o", "explain --html", "audit -o"])
def test_what_is_found_replaces_neither_the_table_nor_the_model(
    shell, table, command, tmp_path
):
    (tmp_path / "m.csv").touch()
    name, option = command.split()
    for file in ("good.csv", "m.csv"):
        said = fails(shell, name, "m.csv", "good.csv", option, file)
        assert said.startswith(f"The output would replace '{file}'")


def test_a_device_or_a_fifo_is_not_replaced(shell, table):
    os.mkfifo("fifo")
    for name in ("/dev/null", "fifo"):
        assert fails(shell, "fit", "good.csv", *FIT, "-o", name) == (
            f"{name!r} is a device, a FIFO or a socket; name a file with --out."
        )
    os.mkfifo("fifo.csv")
    assert fails(shell, "fit", "fifo.csv", *FIT, "-o", "m") == (
        "'fifo.csv' is a FIFO, not a file; name a file."
    )


def test_a_link_stays_a_link(shell, table, tmp_path):
    (tmp_path / "far").mkdir()
    os.symlink("far/model", "link")
    assert shell("fit", "good.csv", *FIT, "-o", "link").exit_code == 0
    assert os.path.islink("link")
    assert (tmp_path / "far" / "model").stat().st_size


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_closed_streams_lose_no_model_and_are_told(table, tmp_path):
    run = f"{sys.executable} -m modernnca.cli"
    fit = f"{run} fit good.csv -t bought --preset fast --set max_epochs=1 -o m.mnca"
    done = subprocess.run(f"{fit} <&- >&- 2>&-", shell=True, cwd=tmp_path, timeout=240)
    assert done.returncode == 0
    assert (tmp_path / "m.mnca").stat().st_size
    done = subprocess.run(
        f"{run} predict m.mnca good.csv >&-",
        shell=True,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        timeout=240,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "Error: Standard output is closed; name a file with --out."
    )


PRINTS = """
import os
from modernnca.cli.closed_streams import open_closed_streams
open_closed_streams()
with open("file", "w") as file:
    print("to nobody", flush=True)
    for number in (1, 2):
        os.write(number, b"printed by a library")
"""


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_no_file_gets_the_number_of_a_closed_stream(tmp_path):
    (tmp_path / "prints.py").write_text(PRINTS)
    run = f"{sys.executable} prints.py <&- >&- 2>&-"
    done = subprocess.run(
        run, shell=True, cwd=tmp_path, capture_output=True, timeout=240
    )
    assert done.returncode == 0
    assert (tmp_path / "file").read_text() == ""
