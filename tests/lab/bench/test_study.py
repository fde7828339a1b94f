import json

import pytest

from modernnca.lab.bench.job import SEARCHED
from modernnca.lab.bench.study import FOLDER, read_study, study_names
from modernnca.lab.bench.study_parts import Variant
from modernnca.lab.bench.suites import SUITES
from modernnca.lab.peers import peer

STUDIES = [read_study(name) for name in study_names()]
GOOD = """
title = "Two"
paper = "Table 0"
asks = "Which?"
[full]
suite = "builtin"
[quick]
datasets = ["builtin:iris"]
seeds = 2
[[variants]]
label = "A"
method = "knn"
[[variants]]
label = "B"
method = "modernnca"
settings = { dim = 8 }
none = ["refit"]
tasks = ["classification"]
"""


def write(tmp_path, text):
    path = tmp_path / "two.toml"
    path.write_text(text)
    return path


def test_the_studies_of_the_paper_are_there_in_its_order():
    assert study_names() == [
        *("main", "nca-ladder", "architecture", "architecture-fixed", "plr"),
        *("sampling-rate", "sampling-strategy", "distance", "loss", "tabcon"),
        *("visualise", "beyond"),
    ]
    assert len(list(FOLDER.glob("*.toml"))) == 12


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_every_study_has_jobs_on_its_quick_tables(study):
    tables = study.tables(quick=True)
    assert len(tables.names) == 3
    assert not tables.missing
    jobs = study.jobs(tables.names, quick=True)
    assert len({job.key for job in jobs}) == len(jobs)
    untuned = {each.label for each in study.variants if not each.only_tuned}
    assert {job.label for job in jobs} == untuned
    assert not study.full.suite or study.full.suite in SUITES


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_every_variant_can_be_built_for_its_tasks(study):
    for variant in study.variants:
        if variant.method == "raw":
            continue
        card = peer(variant.method)
        for group in variant.tasks:
            task = "regression" if group == "regression" else "binclass"
            for trials in (0, 1):
                text = study.job(variant, "t", group, trials=trials).settings
                settings = {
                    name: value
                    for name, value in json.loads(text).items()
                    if value != SEARCHED
                }
                assert card.build(task, seed=0, settings=settings)


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_what_the_paper_printed_adds_up(study):
    """Average ranks of all variants are (k + 1) / 2 on average."""
    for printed in study.published:
        if printed.measure != "average rank" or printed.task == "all":
            continue
        k = len(printed.values)
        mean = sum(printed.values.values()) / k
        # The paper leaves out some failures, and rounds.
        assert mean == pytest.approx((k + 1) / 2, abs=0.13), printed


def test_wins_ties_and_losses_of_the_paper_add_up_to_one():
    printed = {each.measure: each.values for each in read_study("main").published}
    for label in printed["win"]:
        whole = sum(printed[measure][label] for measure in ("win", "tie", "lose"))
        assert whole == pytest.approx(1, abs=0.021)


def test_keys_stay_what_they_are():
    """Records of years must be found again: do not change these."""
    job = read_study("loss").jobs(["builtin:iris"], seeds=1, trials=[0])[2]
    assert (job.label, job.key) == ("MCML", "840e589ccb283ccd91152584")
    job = read_study("visualise").jobs(["builtin:iris"], seeds=1)[1]
    assert (job.label, job.key) == ("TabR", "d95949f7372de550a2d1be25")


def test_a_tuned_rate_changes_nothing_else():
    """The search is that of M-NCA, whatever the rate; then the rate is set."""
    study = read_study("sampling-rate")
    jobs = study.jobs(["builtin:iris"], seeds=1, trials=[0, 20])
    plain = {job.label: job for job in jobs if not job.trials}
    tuned = {job.label: job for job in jobs if job.trials}
    assert json.loads(plain["30 %"].settings) == {"sample_rate": 0.3}
    assert json.loads(tuned["30 %"].after) == {"sample_rate": 0.3}
    assert "Tuned rate" not in plain
    assert len({job.search for job in tuned.values()}) == 1
    assert len({job.key for job in jobs}) == len(jobs) == 11


def test_every_distance_has_its_temperature():
    jobs = read_study("distance").jobs(["builtin:iris"], seeds=1, trials=[0, 20])
    found = {(job.trials, json.loads(job.settings)["temperature"]) for job in jobs}
    assert found == {(0, "learned"), (20, SEARCHED)}


def test_the_exponent_of_sampling_by_distance_is_searched():
    jobs = read_study("sampling-strategy").jobs(
        ["builtin:iris"], seeds=1, trials=[0, 20]
    )
    found = {
        job.trials: json.loads(job.settings)["sample_exponent"]
        for job in jobs
        if job.label == "Distance"
    }
    assert found == {0: 1.0, 20: SEARCHED}
    assert "sample_exponent" in peer("modernnca-paper").more_space


def test_all_methods_have_one_protocol():
    main = read_study("main")
    for variant in main.variants:
        card = peer(variant.method)
        for group in variant.tasks:
            settings = json.loads(main.job(variant, "t", group).settings)
            if "batch_size" in card.defaults:
                assert settings.get("batch_size", 1024) == 1024
                assert {**card.defaults, **settings}["batch_size"] == 1024
            own = card.tuning_settings.get("refit") == "none"
            stops = settings.get("eval_metric")
            assert stops == ("rmse" if own and group == "regression" else None)
        assert not main.job(variant, "t", "classification", trials=9).pruning
    node = next(each for each in main.variants if each.label == "NODE")
    settings = main.job(node, "t", "regression").settings
    assert json.loads(settings)["learning_rate"] == 1e-3
    assert "learning_rate" not in main.job(node, "t", "regression", trials=9).settings


def test_a_variant_may_differ_more_where_nothing_is_tuned():
    mlp = read_study("architecture").variants[0]
    assert json.loads(mlp.overrides(0)) == {"n_blocks": 1}
    assert json.loads(mlp.overrides(100)) == {}
    assert Variant("a", "knn", none=("refit",)).overrides(0) == '{"refit": null}'


def test_a_study_of_ones_own_is_expanded_by_task_seed_and_trials(tmp_path):
    study = read_study(write(tmp_path, GOOD))
    assert study.name == "two"
    names = ["builtin:iris", "builtin:diabetes"]
    jobs = study.jobs(names, seeds=2, trials=[0, 5])
    assert [(job.dataset, job.label, job.trials, job.seed) for job in jobs[:4]] == [
        ("builtin:iris", "A", 0, 0),
        ("builtin:iris", "A", 0, 1),
        ("builtin:iris", "A", 5, 0),
        ("builtin:iris", "A", 5, 1),
    ]
    assert len(jobs) == 12  # B is not for regression
    assert len(study.jobs(names[:1], quick=True)) == 4


def test_tables_that_are_not_here_are_missing_and_groups_have_their_split(tmp_path):
    study = read_study("beyond")
    tables = study.tables(data=tmp_path)
    assert tables.names == ()
    assert "electricity" in tables.missing
    assert study.split_of("electricity") == "in-order"
    assert study.split_of("arcene") == "given"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('title = "Two"', "", "missing in the study: title."),
        ('label = "A"', "", "missing in variants: label."),
        ('label = "A"', 'label = "B"', "two variants have the same label"),
        ('"knn"', '"nkk"', "Unknown method 'nkk'; choose one of: "),
        ("seeds = 2", "sedes = 2", "Unknown entry of quick 'sedes'"),
        ('["classification"]', '["ranking"]', "Unknown task 'ranking'"),
        ("[full]", "full = 3\n[other]", "Unknown entry of the study 'other'"),
    ],
)
def test_a_bad_file_is_refused_in_a_sentence(tmp_path, old, new, words):
    assert old in GOOD
    with pytest.raises(ValueError) as error:
        read_study(write(tmp_path, GOOD.replace(old, new, 1)))
    assert str(error.value).startswith("The study file 'two.toml': ")
    assert words in str(error.value)


def test_claims_and_printed_numbers_must_be_of_variants(tmp_path):
    claim = '[[claims]]\nsays = "A."\nkind = "better"\nleft = "A"\nright = "C"\n'
    with pytest.raises(ValueError, match="Unknown variant 'C'"):
        read_study(write(tmp_path, GOOD + claim))
    printed = '[[published]]\nmeasure = "x"\ntask = "all"\nn_tables = 1\nvalues = {}\n'
    with pytest.raises(ValueError, match="Unknown measure 'x'"):
        read_study(write(tmp_path, GOOD + printed))


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(ValueError, match="Unknown study 'nope'; choose one of: arch"):
        read_study("nope")
    with pytest.raises(ValueError, match=r"nope.toml' cannot be read: No such file"):
        read_study(tmp_path / "nope.toml")
    with pytest.raises(ValueError, match="is not valid TOML: "):
        read_study(write(tmp_path, "title = "))
