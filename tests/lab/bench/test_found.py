from modernnca.lab.bench.found import find
from modernnca.lab.bench.job import Job, Record
from modernnca.lab.bench.store import Store
from modernnca.lab.bench.study import read_study


def keep(store, *jobs, status="done"):
    for job in jobs:
        store.append(Record(job, status, task="binclass", scores={"accuracy": 0.5}))


def test_a_record_belongs_to_every_study_that_would_have_asked_for_it(tmp_path):
    store = Store(tmp_path)
    keep(store, Job("t", "modernnca-paper", label="whatever"))
    for name, label in (("distance", "Euclid"), ("loss", "Log"), ("main", "M-NCA")):
        frame = find(read_study(name), [store]).frame
        assert frame["method"].tolist() == [label]
        assert frame["settings"].tolist() == ["default"]
    assert find(read_study("tabcon"), [store]).n == 0


def test_settings_splits_kinds_and_tuning_are_told_apart(tmp_path):
    store = Store(tmp_path)
    cosine = '{"distance": "cosine"}'
    keep(store, Job("t", "modernnca-paper", settings=cosine))
    keep(store, Job("t", "modernnca-paper", settings=cosine, trials=20))
    keep(store, Job("t", "modernnca-paper", settings=cosine, split="random-3"))
    keep(store, Job("t", "modernnca-paper", settings='{"dim": 3}'))
    keep(store, Job("t", "modernnca-paper", settings=cosine, trials=20, kind="search"))
    frame = find(read_study("distance"), [store]).frame
    assert frame["method"].tolist() == ["Cosine", "Cosine"]
    assert sorted(frame["settings"]) == ["default", "tuned"]


def test_several_stores_are_one_and_what_is_planned_is_counted_once(tmp_path):
    study = read_study("loss")
    jobs = study.jobs(["builtin:iris"], seeds=1, trials=[0])
    one, two = Store(tmp_path / "one"), Store(tmp_path / "two")
    one.plan(jobs)
    two.plan(jobs)
    keep(one, jobs[0], jobs[1])
    keep(two, jobs[1], jobs[2])
    found = find(study, [one, two])
    assert (found.n, len(found.planned)) == (3, 4)
    assert sorted(found.frame["method"]) == ["Log", "MCML", "Sum (NCA)"]


def test_an_empty_store_has_nothing(tmp_path):
    found = find(read_study("loss"), [Store(tmp_path)])
    assert (found.n, len(found.planned), found.maps) == (0, 0, ())
    assert "status" in found.frame
