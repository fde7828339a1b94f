import os
import re
import signal
import subprocess
import sys
import time

import pytest
from tests.processes import start
from typer.testing import CliRunner

from modernnca.cli.main import app
from modernnca.lab.bench.store import Store

RUN = ["bench", "run", "--datasets", "builtin:iris,builtin:diabetes", "--seeds", "1"]


def call(*arguments):
    return CliRunner().invoke(app, [str(part) for part in arguments])


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench") / "store"
    done = call(*RUN, "--store", folder, "--methods", "knn,svm", "--executor", "here")
    assert done.exit_code == 0, done.output
    return folder


def test_run_keeps_a_record_of_each_fit_and_says_what_to_do_next(store):
    frame = Store(store).frame()
    assert set(frame["status"]) == {"done"}
    assert len(frame) == 4


def test_run_again_runs_nothing(store):
    again = call(*RUN, "--store", store, "--methods", "knn,svm", "--executor", "here")
    assert "4 fits, 4 already done" in again.output


def test_what_is_for_classes_alone_is_not_run_on_numbers(tmp_path):
    done = call(
        *("bench", "run", "--datasets", "builtin:diabetes", "--seeds", "1"),
        *("--methods", "tabcaps,knn", "--store", tmp_path, "--executor", "here"),
    )
    assert done.exit_code == 0
    assert list(Store(tmp_path).frame()["method"]) == ["knn"]


def test_status_counts_what_is_done_and_missing(store):
    told = call("bench", "status", store)
    assert told.exit_code == 0
    assert re.search(r"knn +2 +0 +0", told.output)
    assert "4 records of 4 jobs." in told.output


def test_report_writes_a_page(store, tmp_path):
    told = call("bench", "report", store, "-o", tmp_path / "report")
    assert told.exit_code == 0, told.output
    page = (tmp_path / "report" / "index.html").read_text()
    assert "builtin:iris" in page
    assert list((tmp_path / "report" / "tables").glob("*.csv"))


def test_report_of_published_scores(tmp_path):
    rows = [
        f"t{i},regression,{method},{1 + i + 0.1 * j},0.1"
        for i in range(8)
        for j, method in enumerate(["modernNCA", "knn", "svm"])
    ]
    file = tmp_path / "published.csv"
    file.write_text("dataset,task,method,mean,std\n" + "\n".join(rows))
    told = call("bench", "report", "--published", file, "-o", tmp_path / "report")
    assert told.exit_code == 0, told.output
    assert (tmp_path / "report" / "index.html").exists()


def test_methods_shows_every_card():
    told = call("bench", "methods")
    assert told.exit_code == 0
    for name in ("modernnca: ModernNCA (Ye et al., 2025)", "lightgbm: LightGBM"):
        assert name in told.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--methods", "knm"], "Unknown method 'knm'; did you mean 'knn'?"),
        (["--suite", "everything"], "Unknown suite 'everything'; choose one of: "),
        (["--datasets", "adul"], "adul"),
        (["--executor", "moon"], "Unknown executor 'moon'; choose one of: here, pool,"),
        (["--trials", "many"], "--trials must be numbers like 0,100; got 'many'."),
        (["--methods", ","], "Expected a list of names like a,b,c; got ','."),
        (
            ["--data", "no/such/folder"],
            "The data folder 'no/such/folder' does not exist",
        ),
        (
            ["--max-rows", "1"],
            "No dataset to run on; check --data and the",
        ),
    ],
)
def test_run_says_what_is_wrong(tmp_path, arguments, words):
    told = call("bench", "run", "--store", tmp_path / "s", *arguments)
    assert told.exit_code == 1
    assert words in " ".join(told.output.split())
    assert "Traceback" not in told.output


def test_status_of_nothing_says_what_makes_a_store(tmp_path):
    told = call("bench", "status", tmp_path)
    assert told.exit_code == 1
    assert "create one with `modernnca bench run`" in told.output


def test_a_run_killed_twice_ends_with_the_records_of_a_whole_one(tmp_path):
    arguments = [*RUN, "--seeds", "1", "--methods", "knn,random-forest,svm"]
    pool = [sys.executable, "-m", "modernnca.cli", *arguments, "--executor", "pool"]
    pool += ["--workers", "2", "--store", str(tmp_path / "killed")]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for n_records in (1, 3):
        running = start(pool, env=environment, **quiet)
        while _n_records(tmp_path / "killed") < n_records and running.poll() is None:
            time.sleep(0.05)
        running.send_signal(signal.SIGKILL)
        running.wait()
    done = subprocess.run(pool, env=environment, check=False, timeout=240, **quiet)
    assert done.returncode == 0
    whole = call(*arguments, "--executor", "here", "--store", tmp_path / "whole")
    assert whole.exit_code == 0
    frames = [Store(tmp_path / name).frame() for name in ("killed", "whole")]
    columns = ["key", "status", "accuracy", "log-loss", "rmse", "mae"]
    ends = [frame.sort_values("key")[columns].to_csv(index=False) for frame in frames]
    assert len(frames[0]) == 6
    assert ends[0] == ends[1]


def _n_records(folder):
    return len(Store(folder).keys()) if (folder / "records.sqlite").exists() else 0
