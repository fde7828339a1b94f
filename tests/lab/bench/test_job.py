import numpy as np
import pytest

from modernnca.lab.bench import job as job_module
from modernnca.lab.bench.job import Job, JobInput, run_job
from modernnca.lab.bench.scores import MAIN, score_all
from modernnca.lab.peers import peer
from modernnca.tune.search import SearchResult


def test_equal_questions_have_equal_keys_and_others_do_not():
    job = Job("iris", "knn", "given", 1, 20, '{"p": 1}')
    assert job.key == Job("iris", "knn", "given", 1, 20, '{"p": 1}').key
    others = [
        Job("wine", "knn", "given", 1, 20, '{"p": 1}'),
        Job("iris", "svm", "given", 1, 20, '{"p": 1}'),
        Job("iris", "knn", "random-0", 1, 20, '{"p": 1}'),
        Job("iris", "knn", "given", 2, 20, '{"p": 1}'),
        Job("iris", "knn", "given", 1, 0, '{"p": 1}'),
        Job("iris", "knn", "given", 1, 20, '{"p": 2}'),
        job.search,
    ]
    assert len({job.key, *(other.key for other in others)}) == len(others) + 1


def test_a_key_is_the_same_for_ever():
    # A store of yesterday must be found again tomorrow.
    assert Job("iris", "knn").key == "df4d27efa4222a33804f8396"


@pytest.mark.parametrize("dataset", ["builtin:iris", "builtin:diabetes"])
def test_a_record_holds_all_that_its_scores_are_made_of(dataset):
    record = run_job(JobInput(Job(dataset, "knn")))
    assert record.status == "done"
    truth = record.truth
    if record.classes is not None:
        truth = np.array(record.classes)[record.truth]
    again = score_all(record.task, truth, record.prediction, record.classes)
    assert again == pytest.approx(record.scores, rel=1e-6)
    assert MAIN[record.task] in record.scores
    assert record.facts["fit_seconds"] > 0
    assert record.facts["n_test"] == len(record.prediction)
    assert record.facts["model_bytes"] > 1000
    assert record.provenance["packages"]["numpy"] == np.__version__


def test_settings_reach_the_method():
    one, many = (
        run_job(
            JobInput(Job("builtin:iris", "knn", settings=f'{{"n_neighbors": {k}}}'))
        )
        for k in (1, 90)
    )
    assert one.used == {"n_neighbors": 1}
    assert not np.array_equal(one.prediction, many.prediction)


def test_the_seed_reaches_the_method():
    records = [
        run_job(
            JobInput(
                Job(
                    "builtin:iris",
                    "random-forest",
                    seed=seed,
                    settings='{"n_estimators": 5}',
                )
            )
        )
        for seed in (0, 0, 1)
    ]
    assert np.array_equal(records[0].prediction, records[1].prediction)
    assert not np.array_equal(records[0].prediction, records[2].prediction)


def test_a_search_finds_settings_and_keeps_its_trials(tmp_path):
    job = Job("builtin:iris", "knn", trials=6)
    record = run_job(JobInput(job.search, storage=tmp_path))
    assert record.facts["n_trials"] == 6
    assert set(record.used) <= {"n_neighbors", "weights", "p"}
    assert any(tmp_path.iterdir())
    fitted = run_job(JobInput(job, tuned=record.used))
    assert fitted.used == record.used


def test_a_class_that_train_lacks_does_not_stop_the_fit(tmp_path):
    file = tmp_path / "rare.csv"
    rows = [f"{i},{'ab'[i % 2]}" for i in range(60)] + ["99,z"]
    file.write_text("x,y\n" + "\n".join(rows) + "\n")
    for seed in range(4):  # wherever the one row of its class falls
        job = Job(
            f"{file}:y", "modernnca", f"random-{seed}", settings='{"max_epochs": 1}'
        )
        assert run_job(JobInput(job)).status == "done"


def test_the_first_trial_is_the_defaults(tmp_path):
    for method in ("modernnca", "lightgbm", "catboost", "mlp", "nca"):
        nets = ("modernnca", "mlp", "nca")
        quick = '{"max_epochs": 1}' if method in nets else "{}"
        job = Job("builtin:iris", method, trials=1, settings=quick)
        found = run_job(JobInput(job.search, storage=tmp_path)).used
        card = peer(method)
        if method == "lightgbm":  # the only card that names all defaults
            assert found == {name: card.defaults[name] for name in card.space}
        else:
            assert found == {}  # nothing is given: the method's own defaults


def test_what_is_set_after_a_search_is_not_searched(tmp_path):
    job = Job("builtin:iris", "knn", trials=3, after='{"n_neighbors": 90}')
    assert job.search == Job("builtin:iris", "knn", trials=3).search
    tuned = run_job(JobInput(job.search, storage=tmp_path)).used
    fitted = run_job(JobInput(job, tuned=tuned))
    assert fitted.used == {**tuned, "n_neighbors": 90}


def test_a_setting_may_be_searched_beyond_the_space(tmp_path, monkeypatch):
    """Cosines need a temperature that distances do not; the paper's space has none."""
    spaces = []

    def spy(objective, space, **options):
        spaces.append(space)
        return SearchResult({}, 0.0, [], "trials")

    monkeypatch.setattr(job_module, "search", spy)
    for settings in ('{"temperature": "search"}', '{"temperature": 2.0}', "{}"):
        job = Job("builtin:iris", "modernnca-paper", trials=1, settings=settings)
        run_job(JobInput(job.search, storage=tmp_path))
    assert ["temperature" in space for space in spaces] == [True, False, False]
    bad = Job("builtin:iris", "knn", trials=1, settings='{"p": "search"}')
    with pytest.raises(ValueError, match="setting to search"):
        run_job(JobInput(bad.search, storage=tmp_path))


@pytest.mark.parametrize(("pruning", "pruner"), [(True, "median"), (False, "none")])
def test_without_pruning_every_trial_runs_to_its_end(
    tmp_path, monkeypatch, pruning, pruner
):
    asked, search = [], job_module.search

    def spy(*args, **options):
        asked.append(options["pruner"])
        return search(*args, **options)

    monkeypatch.setattr(job_module, "search", spy)
    job = Job("builtin:iris", "knn", trials=1, pruning=pruning)
    run_job(JobInput(job.search, storage=tmp_path))
    assert asked == [pruner]
