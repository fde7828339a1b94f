"""The campaigns in reliability/, in small: they find faults, and find none here."""

import functools
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "reliability"
# Of each kind of file: enough to notice a reader that does not check at all.
KINDS = {
    "model mixed, crafted": 25,
    "model nearest, damaged": 10,
    "signed model, crafted": 5,
    "checkpoint, crafted": 3,
    "knn, crafted": 8,
    "tuning journal, crafted": 6,
    "benchmark store, damaged": 5,
    "study file, crafted": 10,
    "npy pickle, crafted": 15,
    "splits, damaged": 8,
    "parquet table, damaged": 8,
}


@pytest.fixture(autouse=True)
def on_path(monkeypatch):
    """Scripts import each other by their names."""
    monkeypatch.syspath_prepend(FOLDER)


@pytest.mark.parametrize(("kind", "n_cases"), KINDS.items(), ids=KINDS)
def test_bad_files_are_refused_or_harmless(kind, n_cases, tmp_path):
    kinds, watch = importlib.import_module("kinds"), importlib.import_module("watch")
    good = kinds.made(kind, tmp_path / "good")
    ended = [kinds.run_case(kind, *good, seed) for seed in range(n_cases)]
    assert [each for each in ended if each[0] not in watch.GOOD] == []
    assert any(how in ("refused", "recovered") for how, _ in ended)


def test_the_campaign_would_notice_a_reader_that_does_not_check(tmp_path, monkeypatch):
    kinds = importlib.import_module("kinds")
    kind = "study file, crafted"
    good = kinds.made(kind, tmp_path)

    def careless(path):
        raise KeyError("variants")

    monkeypatch.setitem(kinds.KINDS, kind, replace(kinds.KINDS[kind], read=careless))
    assert kinds.run_case(kind, *good, 0)[0] == "raw"


def run_one(case):
    if case == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if case == "memory":
        bytearray(800 * 2**20)[::4096] = b"x" * (800 * 2**20 // 4096)
    if case == "hang":
        time.sleep(5)
    return "refused", ""


def prepare():
    return run_one


@pytest.mark.skipif(os.name == "nt", reason="needs limits of memory")
def test_crashes_hangs_and_memory_are_noticed(capfd):
    watch = importlib.import_module("watch")
    cases = ["fine", "crash", "memory", "hang", "fine"]
    ended = watch.run_all(prepare, cases, max_seconds=4)
    hows = [(each.case, each.how) for each in ended]
    assert hows == [
        *(("fine", "refused"), ("crash", "crash"), ("memory", "memory")),
        *(("hang", "hang"), ("fine", "refused")),
    ]
    assert capfd.readouterr().err == ""  # of the crash, too


def pausing(folder):
    def run(case):
        first = not (folder / "seen").exists()
        (folder / "seen").touch()
        time.sleep(3 if first else 0)
        return "refused", ""

    return run


def test_a_pause_of_the_machine_is_no_hang(tmp_path):
    watch = importlib.import_module("watch")
    prepare = functools.partial(pausing, tmp_path)
    (ended,) = watch.run_all(prepare, ["paused"], max_seconds=2)
    assert ended.how == "refused"


def die():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_process_that_dies_before_its_case_is_a_crash():
    watch = importlib.import_module("watch")
    ended = watch.run_all(die, ["one", "two"])
    assert [(each.case, each.how) for each in ended] == [
        *(("one", "crash"), ("two", "crash")),
    ]


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_killed_saves_leave_the_old_model_or_the_new_one(tmp_path):
    figures = tmp_path / "kills.json"
    command = [sys.executable, "-W", "ignore", str(FOLDER / "kills.py")]
    options = ["--runs", "3", "--only", "save", "--write", str(figures)]
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads(figures.read_text())["save"]
    assert {name: sum(of.values()) for name, of in counts.items()} == {
        "SIGKILL": 3,
        "SIGINT": 3,
    }
