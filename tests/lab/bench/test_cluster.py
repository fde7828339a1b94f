"""A benchmark on a real cluster of two nodes, of which one is killed in the middle."""

import pytest
from tests.execute.test_ray import cluster  # noqa: F401 - a fixture

from modernnca.execute import Here
from modernnca.execute.ray import Ray
from modernnca.lab.bench.runner import Runner, plan
from modernnca.lab.bench.store import Store


@pytest.mark.ray
def test_a_node_that_dies_costs_no_record(cluster, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    tables = ["builtin:iris", "builtin:diabetes"]
    jobs = plan(tables, ["knn", "svm", "random-forest"], seeds=2)
    seen = []

    def kill_a_node_after_three(record):
        seen.append(record)
        if len(seen) == 3:
            (_, second) = cluster.list_all_nodes()
            cluster.remove_node(second, allow_graceful=False)

    far, near = Store(tmp_path / "far"), Store(tmp_path / "near")
    Runner(far, Ray(cluster.address)).run(jobs, kill_a_node_after_three)
    Runner(near, Here()).run(jobs)
    assert len(seen) == len(jobs)  # one record of each, none twice
    columns = ["key", "status", "accuracy", "log-loss", "rmse", "mae"]
    ends = [store.frame().sort_values("key")[columns] for store in (far, near)]
    assert ends[0].to_csv(index=False) == ends[1].to_csv(index=False)
