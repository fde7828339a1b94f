import os
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.processes import start

from modernnca.errors import StoreError
from modernnca.lab.bench.job import Job, Record
from modernnca.lab.bench.store import Store


def record(seed=0, *, n=50, **more):
    rng = np.random.RandomState(seed)
    given = {
        "task": "regression",
        "scores": {"rmse": 1.5 + seed, "mae": 1.0, "r2": 0.5},
        "facts": {"fit_seconds": 0.25, "n_train": 10},
        "prediction": rng.rand(n),
        "truth": rng.rand(n),
    }
    return Record(Job("diabetes", "knn", seed=seed), "done", **{**given, **more})


def test_a_record_comes_back_as_it_was(tmp_path):
    store, given = Store(tmp_path), record(used={"p": np.float64(1.5)})
    assert store.append(given)
    (back,) = store.records(arrays=True)
    assert back.job == given.job
    assert back.scores == given.scores
    assert back.used == {"p": 1.5}
    assert np.array_equal(back.prediction, given.prediction)
    assert np.array_equal(back.truth, given.truth)


def test_a_second_record_of_a_job_is_not_kept(tmp_path):
    store = Store(tmp_path)
    assert store.append(record())
    assert not store.append(record(scores={"rmse": 9.0}))
    assert store.records()[0].scores["rmse"] == 1.5


def test_the_frame_has_a_row_for_each_fit(tmp_path):
    store = Store(tmp_path)
    store.append(record(0))
    store.append(Record(Job("diabetes", "svm", label="SVM"), "timeout", "too long"))
    store.append(Record(Job("diabetes", "knn", trials=5).search, "done"))
    frame = store.frame().sort_values("method").reset_index(drop=True)
    assert frame["method"].tolist() == ["SVM", "knn"]
    assert frame["status"].tolist() == ["timeout", "done"]
    assert frame.loc[1, ["rmse", "fit_seconds", "n_train"]].tolist() == [1.5, 0.25, 10]
    assert np.isnan(frame.loc[1, "accuracy"])


def test_forgotten_records_are_gone_and_plans_are_kept(tmp_path):
    store = Store(tmp_path)
    store.append(record(0))
    store.append(record(1))
    store.plan([record(i).job for i in range(3)])
    store.delete([record(0).job.key])
    assert store.keys() == {record(1).job.key}
    assert [job.seed for job in Store(tmp_path).planned()] == [0, 1, 2]


@pytest.mark.parametrize("share", [0.15, 0.5, 0.9])
def test_a_damaged_store_is_set_aside_and_what_is_readable_kept(tmp_path, share):
    store = Store(tmp_path)
    for seed in range(60):
        store.append(record(seed, n=400))
    size = store.file.stat().st_size
    with store.file.open("r+b") as file:
        file.seek(int(size * share) // 4096 * 4096)
        file.write(os.urandom(2 * 4096))
    mended = Store(tmp_path)
    kept = mended.records(arrays=True)
    assert 30 <= len(kept) < 60  # one broken page is not the end of the others
    for each in kept:
        assert np.array_equal(each.truth, record(each.job.seed, n=400).truth)
    (note,) = mended.notes
    assert note.startswith("The store was damaged. It was set aside as damaged-")
    assert f"{len(kept)} readable records were kept" in note
    assert list(tmp_path.glob("damaged-*.sqlite"))
    assert Store(tmp_path).notes == []


def test_a_changed_record_is_found_by_its_digest(tmp_path):
    store = Store(tmp_path)
    store.append(record(0))
    store.append(record(1))
    with sqlite3.connect(store.file) as file:
        file.execute(
            "UPDATE records SET record = replace(record, '1.5', '0.1') "
            "WHERE record LIKE '%1.5%'"
        )
    mended = Store(tmp_path)
    assert [each.job.seed for each in mended.records()] == [1]


def test_a_file_that_is_no_store_is_set_aside(tmp_path):
    (tmp_path / "records.sqlite").write_bytes(b"not a database" * 1000)
    store = Store(tmp_path)
    assert "0 readable records" in store.notes[0]
    assert store.append(record())


def test_a_full_disk_loses_nothing_that_was_written(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.append(record(0))
    open_file = Store._open

    def full(self):
        file = open_file(self)
        file.execute("PRAGMA max_page_count = 1")  # SQLite's own "disk is full"
        return file

    with monkeypatch.context() as patch:
        patch.setattr(Store, "_open", full)
        with pytest.raises(StoreError, match=r"disk is full\); the records"):
            store.append(record(1, n=20_000))
    assert [each.job.seed for each in Store(tmp_path).records()] == [0]


def test_a_folder_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot be used as a store .*; choose a"):
        Store(tmp_path / "file")


def test_two_runs_at_once_are_told_apart(tmp_path):
    store = Store(tmp_path)
    with store.write_lock():
        words = rf"Process {os.getpid()} on .* is writing to the store .*; wait for it"
        with pytest.raises(StoreError, match=words), Store(tmp_path).write_lock():
            pass
        assert Store(tmp_path).frame().empty  # reading is free
    with Store(tmp_path).write_lock():
        pass


WRITER = """
import sys
from modernnca.lab.bench.store import Store
from tests.processes import start
from tests.processes import start
from tests.lab.bench.test_store import record
store = Store(sys.argv[1])
with store.write_lock():
    print("begun", flush=True)
    for seed in range(100_000):
        store.append(record(seed, n=2000))
"""


def test_a_killed_writer_leaves_whole_records_and_no_lock(tmp_path):
    for _ in range(2):
        writer = start(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE
        )
        assert writer.stdout.readline() == b"begun\n"
        time.sleep(0.3)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
    store = Store(tmp_path)
    assert store.notes == []
    kept = store.records(arrays=True)
    assert kept
    for each in kept:
        assert np.array_equal(each.truth, record(each.job.seed, n=2000).truth)
    with store.write_lock():
        pass
