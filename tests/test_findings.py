"""The committed records lead to the committed page."""

import importlib.util
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from modernnca.cli.main import app
from modernnca.execute import Here
from modernnca.lab.bench.record_files import RecordFile
from modernnca.lab.bench.runner import Runner
from modernnca.lab.bench.store import Store
from modernnca.lab.bench.study import read_study

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "benchmarks" / "studies.csv"


@pytest.fixture(scope="module")
def script():
    path = ROOT / "benchmarks" / "findings.py"
    spec = importlib.util.spec_from_file_location("findings_script", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["findings_script"] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_is_that_of_the_records(script):
    page = script.PAGE.read_text("utf-8")
    assert page == script.page(), "Run: make findings"


def test_the_command_comes_to_the_same_page(script, tmp_path):
    folder, names = RECORDS.parent, ("studies.csv", "peers.csv", "visualise.csv")
    files = [str(folder / name) for name in names]
    published = ["--published", str(folder / "published.csv")]
    words = ["study", "report", *files, *published, "-o", str(tmp_path / "report")]
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 0, ended.output
    written = (tmp_path / "report" / "findings.md").read_text("utf-8")
    page = script.page().replace(script.INTRODUCTION, "# Findings\n", 1)
    assert written == page.replace(f"\n\n{script.PICTURE}", "", 1)


def test_a_study_resumes_from_the_committed_records(tmp_path):
    """Of a study that has not changed nothing is missing but the other seeds."""
    store, study = Store(tmp_path), read_study("nca-ladder")
    for record in RecordFile(RECORDS).records()[::1]:
        if record.job.method == "nca":
            store.append(record)
    jobs = [
        study.job(variant, dataset, "classification", seed)
        for dataset in ("credit-g", "phoneme")
        for variant in study.variants
        for seed in range(4)
    ]
    missing = Runner(store, Here()).missing(jobs)
    asked = {(job.label, job.seed) for job in missing}
    assert asked == {(label, 3) for label in study.labels} | {
        ("MLP", seed) for seed in range(4)
    }


def test_records_under_another_protocol_are_not_taken_for_new_ones(script):
    study = read_study("loss")
    found = script.find(study, [RecordFile(RECORDS)])
    new = set(found.frame.loc[found.frame["settings"] == "default", "task"])
    assert new == {"binclass", "multiclass"}  # in regression, they stopped by the MAE
    assert set(found.earlier["task"]) >= {"regression"}
