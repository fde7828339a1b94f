import json

import pytest

from modernnca.execute import Here, Limits, Pool
from modernnca.lab.bench.job import Job
from modernnca.lab.bench.runner import Runner, plan
from modernnca.lab.bench.store import Store

TABLES = ["builtin:iris", "builtin:diabetes"]


def scores(store):
    frame = store.frame().sort_values("key")
    return frame[["key", "status", "accuracy", "rmse"]].to_csv(index=False)


def test_only_what_is_missing_runs(tmp_path):
    jobs = plan(TABLES, ["knn", "svm"], seeds=2)
    store, seen = Store(tmp_path), []
    Runner(store, Here()).run(jobs[:3], seen.append)
    assert [record.job for record in seen] == jobs[:3]
    Runner(store, Here()).run(jobs, seen.append)
    assert [record.job for record in seen] == jobs
    Runner(store, Here()).run(jobs, seen.append)
    assert len(seen) == len(jobs)
    assert store.planned() == jobs


def test_what_is_for_classes_alone_is_not_asked_for_numbers():
    jobs = plan(
        TABLES, ["knn", "tabcaps"], seeds=1, regression_datasets=["builtin:diabetes"]
    )
    assert [(job.dataset, job.method) for job in jobs] == [
        ("builtin:iris", "knn"),
        ("builtin:iris", "tabcaps"),
        ("builtin:diabetes", "knn"),
    ]


def test_a_pool_gives_what_this_process_gives(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    jobs = plan(TABLES, ["knn", "random-forest"], seeds=1)
    for name, executor in {"here": Here(), "pool": Pool(2)}.items():
        Runner(Store(tmp_path / name), executor).run(jobs)
    assert scores(Store(tmp_path / "here")) == scores(Store(tmp_path / "pool"))


def test_a_failure_is_a_record_and_the_rest_goes_on(tmp_path):
    bad = Job("builtin:iris", "knn", settings=json.dumps({"weights": "nonsense"}))
    jobs = [bad, *plan(["builtin:iris"], ["knn"], seeds=1)]
    store = Store(tmp_path)
    Runner(store, Here()).run(jobs)
    found = {record.job: record for record in store.records()}
    assert found[bad].status == "failed"
    assert "nonsense" in found[bad].error
    assert found[jobs[1]].status == "done"


def test_a_fit_that_takes_too_long_is_a_record(tmp_path):
    slow = json.dumps({"max_epochs": 100_000, "patience": 100_000})
    job = Job("builtin:iris", "mlp", settings=slow)
    store = Store(tmp_path)
    Runner(store, Pool(1), limits=Limits(seconds=8)).run([job])
    assert store.records()[0].status == "timeout"


def test_a_tuned_fit_uses_what_its_search_found(tmp_path):
    jobs = plan(["builtin:iris"], ["knn"], seeds=2, trials=(0, 4))
    store = Store(tmp_path)
    Runner(store, Here()).run(jobs)
    records = store.records()
    (search,) = [each for each in records if each.job.kind == "search"]
    tuned = [each for each in records if each.job.trials and each.job.kind == "fit"]
    assert len(tuned) == 2
    assert all(each.used == search.used for each in tuned)
    assert sorted(set(store.frame()["settings"])) == ["default", "tuned"]


@pytest.mark.parametrize("trials", [3])
def test_a_search_that_fails_fails_its_fits(tmp_path, trials):
    wrong = json.dumps({"algorithm": "nonsense"})
    job = Job("builtin:iris", "knn", trials=trials, settings=wrong)
    store = Store(tmp_path)
    Runner(store, Here()).run([job])
    frame = store.frame()
    assert frame["status"].tolist() == ["failed"]
    assert "The search for its settings failed" in frame["error"][0]
