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
    for name, label in (("plr", "M-NCA with PLR"), ("loss", "Log"), ("main", "M-NCA")):
        frame = find(read_study(name), [store]).frame
        assert frame["method"].tolist() == [label]
        assert frame["settings"].tolist() == ["default"]
    assert find(read_study("tabcon"), [store]).n == 0


def test_settings_splits_kinds_and_tuning_are_told_apart(tmp_path):
    store = Store(tmp_path)
    mcml, tuned = '{"loss": "mcml"}', {"trials": 20, "pruning": False}
    keep(store, Job("t", "modernnca-paper", settings=mcml))
    keep(store, Job("t", "modernnca-paper", settings=mcml, **tuned))
    keep(store, Job("t", "modernnca-paper", settings=mcml, split="random-3"))
    keep(store, Job("t", "modernnca-paper", settings='{"dim": 3}'))
    keep(store, Job("t", "modernnca-paper", settings=mcml, kind="search", **tuned))
    found = find(read_study("loss"), [store])
    assert found.frame["method"].tolist() == ["MCML", "MCML"]
    assert sorted(found.frame["settings"]) == ["default", "tuned"]
    assert found.earlier.empty


def test_records_of_an_earlier_definition_are_kept_apart(tmp_path):
    store, paper = Store(tmp_path), "modernnca-paper"
    cosine = '{"distance": "cosine"}'
    keep(store, Job("t", paper, settings=cosine))  # at the temperature 1
    keep(store, Job("t", paper, settings='{"dim": 3}'))
    found = find(read_study("distance"), [store])
    assert found.n == 0
    assert found.earlier["method"].tolist() == ["Cosine"]
    learned = '{"distance": "cosine", "temperature": "learned"}'
    keep(store, Job("t", paper, settings=learned))
    found = find(read_study("distance"), [store])
    assert (found.n, len(found.earlier)) == (1, 1)


def test_in_regression_records_that_stopped_by_the_mae_are_of_earlier(tmp_path):
    store = Store(tmp_path)
    for settings in ("{}", '{"eval_metric": "rmse"}'):
        job = Job("t", "modernnca-paper", settings=settings)
        store.append(Record(job, "done", task="regression", scores={"rmse": 1.0}))
    found = find(read_study("loss"), [store])
    assert found.frame["key"].tolist() == [job.key]
    assert len(found.earlier) == 1


def test_trials_that_could_be_pruned_are_of_earlier(tmp_path):
    store = Store(tmp_path)
    keep(store, Job("t", "modernnca-paper", trials=20))
    found = find(read_study("loss"), [store])
    assert (found.n, found.earlier["settings"].tolist()) == (0, ["tuned"])


def test_l_nca_is_nca_v4_by_another_name(tmp_path):
    store = Store(tmp_path)
    keep(store, Job("t", "nca", settings='{"preset": "nca-v4"}'))
    keep(store, Job("t", "l-nca"))  # trained by AdamW on sampled rows
    found = find(read_study("tabcon"), [store])
    assert found.frame["method"].tolist() == ["L-NCA"]
    assert found.earlier["method"].tolist() == ["L-NCA"]
    assert found.frame["key"].tolist() != found.earlier["key"].tolist()


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
