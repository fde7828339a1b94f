"""Records in CSV files are those of a store, without predictions."""

import pytest

from modernnca.errors import StoreError
from modernnca.lab.bench.job import Job
from modernnca.lab.bench.record_files import RecordFile

LINES = """\
dataset,task,method,changes,trials,seed,status,accuracy,rmse,fit_seconds,machine
a,binclass,knn,{},0,1,done,0.5,,2.0,CPU
b,regression,knn,"{""p"": 1}",20,0,done,,3.5,1.0,CPU
b,,knn,{},0,0,failed,,,,CPU
"""


def records_of(tmp_path, text):
    file = tmp_path / "records.csv"
    file.write_text(text)
    return {record.job.key: record for record in RecordFile(file).records()}


def test_lines_are_records_of_jobs(tmp_path):
    found = records_of(tmp_path, LINES)
    one = found[Job("a", "knn", seed=1).key]
    assert (one.status, one.task, one.scores) == ("done", "binclass", {"accuracy": 0.5})
    assert one.facts == {"fit_seconds": 2.0}
    two = found[Job("b", "knn", trials=20, settings='{"p": 1}').key]
    assert two.scores == {"rmse": 3.5}
    assert found[Job("b", "knn").key].status == "failed"


def test_without_a_task_the_scores_tell_it(tmp_path):
    text = "dataset,method,seed,status,accuracy,rmse\n"
    text += "a,knn,0,done,0.5,\nb,knn,0,done,,2\n"
    tasks = {
        each.job.dataset: each.task for each in records_of(tmp_path, text).values()
    }
    assert tasks == {"a": "binclass", "b": "regression"}


def test_what_trials_were_pruned_and_what_was_set_after_them_is_read(tmp_path):
    text = "dataset,method,seed,status,trials,after,pruning\n"
    text += 'a,knn,0,done,9,"{""p"": 1}",False\n'
    job = Job("a", "knn", trials=9, after='{"p": 1}', pruning=False)
    assert list(records_of(tmp_path, text)) == [job.key]


def test_records_of_embeddings_are_kept_apart(tmp_path):
    file = tmp_path / "records.csv"
    text = "dataset,task,method,kind,seed,status,purity,trustworthiness\n"
    file.write_text(text + "a,binclass,raw,embed,0,done,0.7,0.9\n")
    assert RecordFile(file).records(kinds=("fit",)) == []
    [record] = RecordFile(file).records(kinds=("embed",))
    assert record.job == Job("a", "raw", kind="embed")
    assert record.scores == {"purity": 0.7, "trustworthiness": 0.9}


def test_other_files_are_refused(tmp_path):
    with pytest.raises(StoreError, match="have no column seed, status"):
        records_of(tmp_path, "dataset,method\n")
    with pytest.raises(StoreError, match="cannot be read"):
        RecordFile(tmp_path / "missing.csv")
