"""The studies from the shell, in a size that takes seconds."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from modernnca.cli.main import app
from modernnca.ensemble import network_member
from modernnca.lab.bench.store import Store
from modernnca.lab.peers import net_model


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Two tables of 40 rows, as --datasets wants them."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.randn(40, 3), columns=list("abc"))
    X.assign(y=np.where(X["a"] > 0, "yes", "no")).to_csv(folder / "c.csv", index=False)
    X.assign(y=X["a"] + X["b"]).to_csv(folder / "r.csv", index=False)
    return f"{folder / 'c.csv'}:y,{folder / 'r.csv'}:y"


@pytest.fixture(scope="module")
def run(tmp_path_factory, tables):
    """All studies, with nets that learn for two epochs."""
    folder = tmp_path_factory.mktemp("study")
    options = ["--datasets", tables, "--seeds", 1, "--executor", "here"]
    with pytest.MonkeyPatch.context() as patch:
        for room in (network_member, net_model):
            patch.setattr(room, "train", _short(room.train))
        options += ["--trials", 0, "--store", folder / "store"]
        told = call("study", "all", *options)
        again = call("study", "loss", *options, "--out", folder / "again")
    assert told.exit_code == 0, told.output
    return folder, told.output, again.output


def _short(train):
    def few_epochs(learner, plan, *args, **options):
        plan = replace(plan, max_epochs=min(plan.max_epochs, 2))
        return train(learner, plan, *args, **options)

    return few_epochs


def test_every_variant_of_every_study_runs_once(run):
    folder, told, again = run
    records = Store(folder / "store").records()
    assert {record.status for record in records} == {"done"}
    assert f"visualise, beyond on 2 datasets: {len(records)} fits, 0 already" in told
    assert "loss on 2 datasets: 6 fits, 6 already done" in again


def test_every_study_is_drawn_and_judged(run):
    folder, told, _ = run
    report = folder / "store" / "report"
    assert "index.html" in told
    figures = {path.name for path in (report / "figures").glob("*.png")}
    for name in (
        *("nca-ladder", "architecture", "architecture-fixed", "plr", "sampling-rate"),
        *("sampling-strategy", "distance", "loss", "tabcon", "visualise", "beyond"),
        "main",
    ):
        assert any(figure.startswith(f"{name}-default") for figure in figures), name
    findings = (report / "findings.md").read_text("utf-8")
    assert "of 66 claims 0 hold, 0 do not, and 66 are undecided." in findings


def test_the_report_can_be_written_from_published_scores_alone(tmp_path):
    rows = [
        f"t{i},regression,{method},{1 + i + 0.1 * j},0.1"
        for i in range(8)
        for j, method in enumerate(["modernNCA", "tabr", "catboost"])
    ]
    file = tmp_path / "published.csv"
    file.write_text("dataset,task,method,mean,std\n" + "\n".join(rows))
    out = tmp_path / "report"
    told = call(
        *("study", "report", "--published", file, "-o", out, "--studies", "main")
    )
    assert told.exit_code == 0, told.output
    findings = (out / "findings.md").read_text("utf-8")
    assert "**holds** (from published scores): M-NCA outperforms TabR." in findings


def test_the_studies_are_listed():
    told = call("study", "list")
    assert told.exit_code == 0
    for name in ("main", "nca-ladder", "beyond"):
        assert name in told.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nope"], "Unknown study 'nope'; choose one of: architecture"),
        (["loss", "--trials", "x"], "--trials must be numbers like 0,100; got 'x'."),
        (["loss"], "No dataset to run on; set the data folder with --data"),
        (["report"], "Give a store, or a file with --published."),
        (["report", "nowhere"], "There is no store in 'nowhere'"),
        (["loss", "--quick", "--executor", "x"], "Unknown executor 'x'"),
    ],
)
def test_mistakes_are_told_in_one_line(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MODERNNCA_DATA", raising=False)
    told = call("study", *words)
    assert told.exit_code == 1
    assert said in " ".join(told.output.split())


def test_help_is_for_the_studies():
    told = call("study", "--help")
    assert told.exit_code == 0
    assert "report" in told.output
    assert "--quick" in call("study", "loss", "--help").output
