"""A real cluster of two nodes, of which one is killed in the middle of a run."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from modernnca.errors import MissingExtraError
from modernnca.execute.executor import Limits, Resources
from modernnca.execute.ray import Ray, _max_in_flight
from tests.execute import jobs

NODE = {"num_cpus": 1, "object_store_memory": 90_000_000, "include_dashboard": False}


@pytest.fixture(scope="module")
def cluster():
    """Two nodes, one CPU each; connecting is left to the executor."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_enable_metrics_collection", "false")
        # Workers must find this checkout wherever pytest was started.
        root = Path(__file__).parents[2]
        patch.setenv("PYTHONPATH", f"{root}{os.pathsep}{root / 'src'}")
        nodes = Cluster(initialize_head=True, head_node_args=NODE)
        try:
            nodes.add_node(**NODE)
            nodes.wait_for_nodes()
            yield nodes
        finally:
            ray.shutdown()
            nodes.shutdown()


@pytest.mark.ray
def test_a_node_killed_in_the_middle_costs_no_job(cluster, tmp_path):
    executor = Ray(cluster.address)

    # The limits are held, and a crash is an outcome and is not tried again.
    todo = [(jobs.sleep, 60), (jobs.segfault, 0), (jobs.kill_oneself, 0)]
    stopped = sorted(executor.map(jobs.call, todo, limits=Limits(seconds=2)))
    assert [outcome.kind for outcome in stopped] == ["timeout", "died", "died"]
    assert stopped[1].error == "The process was killed by SIGSEGV."

    todo = [(str(tmp_path), number, 0.5) for number in range(20)]
    outcomes = []
    for outcome in executor.map(jobs.sleep_and_note, todo):
        outcomes.append(outcome)
        if len(outcomes) == 6:
            (_, second) = cluster.list_all_nodes()
            cluster.remove_node(second, allow_graceful=False)
    assert sorted(outcomes) == [(n, n * n, None, "done") for n in range(20)]
    ran = [int(path.name.partition("-")[0]) for path in tmp_path.iterdir()]
    assert set(ran) == set(range(20))
    assert len(ran) <= 22  # at most what the dead node had under way runs twice

    (lost,) = Ray(cluster.address, retries=0).map(jobs.kill_who_waits, [0])
    assert lost.kind == "died"
    assert lost.error.startswith("The worker or its node was lost, after 0 retries.\n")


@pytest.mark.parametrize("address", ["127.0.0.1:1", "auto", "nowhere"])
def test_a_cluster_that_is_not_there_is_said_at_once(address, monkeypatch):
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)  # by another test
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1" if address == "auto" else "")
    with pytest.raises(ConnectionError) as error:
        next(Ray(address).map(jobs.square, [1]))
    assert str(error.value) == (
        f"No Ray cluster responds at address {address!r}; start one with "
        "`ray start --head`, or omit the address to start one for this run."
    )


def a_cluster(**resources):
    dead = {"Alive": False, "Resources": {"CPU": 64, "GPU": 8}}
    return SimpleNamespace(
        nodes=lambda: [dead, {"Alive": True, "Resources": resources}],
        cluster_resources=lambda: resources,
    )


def test_of_a_cluster_of_others_it_is_said_that_jobs_wait(caplog):
    Ray()._check_nodes(a_cluster(CPU=2), Resources(cpus=2))
    assert caplog.messages == []
    Ray()._check_nodes(a_cluster(CPU=2), Resources(cpus=2, gpus=0.5))
    assert caplog.messages == [
        "No node of the Ray cluster has the 2 CPUs and 0.5 GPUs that each job needs; "
        "the jobs wait until such a node joins."
    ]


def test_of_our_own_cluster_no_more_is_asked_than_it_has():
    executor = Ray()
    executor._started = True
    with pytest.raises(ValueError) as error:
        executor._check_nodes(a_cluster(CPU=2), Resources(cpus=3))
    assert str(error.value) == (
        "No node of the Ray cluster has the 3 CPUs and 0 GPUs that each job needs; "
        "request less, or join a larger cluster."
    )


@pytest.mark.parametrize(("n_cpus", "cpus", "room"), [(2, 1, 64), (500, 2, 500)])
def test_more_jobs_are_under_way_than_can_run_but_not_all(n_cpus, cpus, room):
    assert _max_in_flight(a_cluster(CPU=n_cpus), Resources(cpus=cpus)) == room


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError) as error:
        next(Ray().map(jobs.square, [1]))
    assert str(error.value) == (
        'The executor "ray" needs Ray: pip install "modernnca[ray]"'
    )


def test_retries_below_none_are_refused():
    with pytest.raises(ValueError) as error:
        Ray(retries=-1)
    assert str(error.value) == "retries=-1 must be at least 0."
