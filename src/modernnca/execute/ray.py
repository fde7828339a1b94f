"""Jobs on a Ray cluster, robust to the loss of a node."""

import logging
import os
import socket
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

from modernnca.errors import MissingExtraError
from modernnca.execute.child_process import call_in_child
from modernnca.execute.executor import (
    NO_LIMITS,
    ONE_CPU,
    Limits,
    Outcome,
    Resources,
    attempt,
    error_outcome,
)

logger = logging.getLogger(__name__)

_MIN_IN_FLIGHT = 64  # enough for an autoscaler to see that there is work
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_enable_metrics_collection": "false",
}


class Ray:
    """Runs jobs on a Ray cluster, each in a child process of a worker.

    The child process is subject to the limits and may crash. If a worker or node is
    lost, Ray runs the job again elsewhere: a job may run twice but has one outcome. The
    package must be installed on every node.

    Args:
        address: None starts a cluster on this machine, which ends with this executor;
            "auto" joins the cluster running on this machine, "host:port" another one.
            An existing connection of this process is reused.
        retries: how often to rerun a job whose worker or node is lost.
    """

    def __init__(self, address: str | None = None, retries: int = 3) -> None:
        if retries < 0:
            raise ValueError(f"{retries=} must be at least 0.")
        self.address = address
        self.retries = retries
        self._started = False

    def map(
        self,
        function: Callable[[Any], Any],
        jobs: Sequence[Any],
        *,
        resources: Resources = ONE_CPU,
        limits: Limits = NO_LIMITS,
    ) -> Iterator[Outcome]:
        """Call the function on each job; yield outcomes as jobs finish."""
        ray = self._connect()
        self._check_nodes(ray, resources)
        task = ray.remote(call_in_child).options(
            num_cpus=resources.cpus,
            num_gpus=resources.gpus,
            max_retries=self.retries,
        )
        settings = {
            "limits": limits,
            "threads": resources.threads,
            "preload": (getattr(function, "__module__", None) or __name__,),
        }
        waiting = enumerate(jobs)
        running: dict[Any, int] = {}  # Ray object reference -> index of the job
        try:
            while True:
                capacity = _max_in_flight(ray, resources)
                while len(running) < capacity and (next_job := next(waiting, None)):
                    index, job = next_job
                    packed = attempt(ray.cloudpickle.dumps, (function, job))
                    if packed.kind == "done":
                        running[task.remote(packed.value, **settings)] = index
                    else:
                        yield packed._replace(index=index)
                if not running:
                    return
                (ready, *_), _ = ray.wait(list(running))
                yield self._outcome(ray, ready)._replace(index=running.pop(ready))
        finally:
            if ray.is_initialized():
                for reference in running:
                    ray.cancel(reference)

    def _check_nodes(self, ray: ModuleType, resources: Resources) -> None:
        """Raise if no node can ever run a job; warn if a larger node may still join."""
        if any(_fits(node, resources) for node in ray.nodes()):
            return
        problem = (
            f"No node of the Ray cluster has the {resources.cpus:g} CPUs and "
            f"{resources.gpus:g} GPUs that each job needs"
        )
        if self._started:
            raise ValueError(f"{problem}; request less, or join a larger cluster.")
        logger.warning("%s; the jobs wait until such a node joins.", problem)

    def _outcome(self, ray: ModuleType, reference: Any) -> Outcome:
        try:
            return ray.get(reference)
        except ray.exceptions.RayTaskError as error:  # the call could not be made
            return error_outcome(error)
        except ray.exceptions.OutOfMemoryError as error:  # from Ray's memory monitor
            return error_outcome(error)._replace(kind="memory")
        except ray.exceptions.RayError as error:
            lost = f"The worker or its node was lost, after {self.retries} retries."
            return Outcome(0, None, f"{lost}\n{error}", "died")

    def _connect(self) -> ModuleType:
        """Return the module `ray`, connected to the cluster."""
        try:
            import ray
        except ImportError as error:
            raise MissingExtraError(
                'The executor "ray" needs Ray: pip install "modernnca[ray]"'
            ) from error
        if ray.is_initialized():
            return ray
        quiet: dict[str, Any] = {
            "log_to_driver": False,
            "logging_level": logging.ERROR,
        }
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        if self.address is None:
            ray.init("local", include_dashboard=False, **quiet)
            self._started = True
            weakref.finalize(self, ray.shutdown)
        else:
            _check_reachable(self.address)
            ray.init(self.address, **quiet)
        return ray


def _check_reachable(address: str) -> None:
    """Raise if nothing listens at the address; Ray itself would wait for minutes."""
    from ray._private.services import canonicalize_bootstrap_address

    try:
        resolved = canonicalize_bootstrap_address(address.removeprefix("ray://"))
        if resolved is not None:
            host, _, port = resolved.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"No Ray cluster responds at address {address!r}; start one with "
            "`ray start --head`, or omit the address to start one for this run."
        ) from error


def _max_in_flight(ray: ModuleType, resources: Resources) -> int:
    """Return how many jobs to submit at once: twice what the cluster can run."""
    n_parallel = int(ray.cluster_resources().get("CPU", 0) / resources.cpus)
    return max(_MIN_IN_FLIGHT, 2 * n_parallel)


def _fits(node: dict[str, Any], resources: Resources) -> bool:
    has = node["Resources"] if node["Alive"] else {}
    return has.get("CPU", 0) >= resources.cpus and has.get("GPU", 0) >= resources.gpus
