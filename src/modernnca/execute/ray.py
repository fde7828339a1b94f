"""Jobs on a Ray cluster, of which a node may die on the way."""

import logging
import os
import socket
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

from modernnca.errors import MissingExtraError
from modernnca.execute.child import call_within
from modernnca.execute.executor import (
    NO_LIMITS,
    ONE_CPU,
    Limits,
    Needs,
    Outcome,
    attempt,
    raised,
)

logger = logging.getLogger(__name__)

_LEAST_IN_FLIGHT = 64  # so that an elastic cluster sees that there is work
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_enable_metrics_collection": "false",
}


class Ray:
    """Jobs on a Ray cluster, each in a child process of a worker.

    The child holds the limits and may crash; a worker or a node that is lost is no
    fault of the job, and Ray runs it again elsewhere. So a job may run twice, but has
    one outcome. The package must be installed on every node.

    Args:
        address: None starts a cluster on this machine, which ends with this executor;
            "auto" joins the one that runs on this machine, "host:port" another one.
            A connection that this process already has is used.
        retries: how often a job is run again when its worker or node is lost.
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
        needs: Needs = ONE_CPU,
        limits: Limits = NO_LIMITS,
    ) -> Iterator[Outcome]:
        """Call the function on each job; yield the outcomes as they come."""
        ray = self._connected()
        self._check_node(ray, needs)
        task = ray.remote(call_within).options(
            num_cpus=needs.cpus, num_gpus=needs.gpus, max_retries=self.retries
        )
        settings = {
            "limits": limits,
            "threads": needs.threads,
            "preload": (getattr(function, "__module__", None) or __name__,),
        }
        waiting = enumerate(jobs)
        running: dict[Any, int] = {}  # references of Ray to the places of jobs
        try:
            while True:
                room = _room(ray, needs)
                while len(running) < room and (next_job := next(waiting, None)):
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

    def _check_node(self, ray: ModuleType, needs: Needs) -> None:
        """Say so when no node can take a job; to a cluster of others one may join."""
        if any(_fits(node, needs) for node in ray.nodes()):
            return
        lack = (
            f"No node of the Ray cluster has {needs.cpus:g} CPUs and {needs.gpus:g} "
            "GPUs, which each job needs"
        )
        if self._started:
            raise ValueError(f"{lack}; ask for less, or join a larger cluster.")
        logger.warning("%s; the jobs wait until one joins.", lack)

    def _outcome(self, ray: ModuleType, reference: Any) -> Outcome:
        try:
            return ray.get(reference)
        except ray.exceptions.RayTaskError as error:  # the call could not be made
            return raised(error)
        except ray.exceptions.OutOfMemoryError as error:  # of the node, by Ray's watch
            return raised(error)._replace(kind="memory")
        except ray.exceptions.RayError as error:
            lost = f"The worker or its node was lost; {self.retries} retries were made."
            return Outcome(0, None, f"{lost}\n{error}", "died")

    def _connected(self) -> ModuleType:
        """Return ray, connected to the cluster; one that is started ends with us."""
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
            _check_answers(self.address)
            ray.init(self.address, **quiet)
        return ray


def _check_answers(address: str) -> None:
    """Raise unless something listens there; Ray itself would wait for minutes."""
    from ray._private.services import canonicalize_bootstrap_address

    try:
        place = canonicalize_bootstrap_address(address.removeprefix("ray://"))
        if place is not None:
            host, _, port = place.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"No Ray cluster answers at address {address!r}; start one with "
            "`ray start --head`, or give no address to start one for this run."
        ) from error


def _room(ray: ModuleType, needs: Needs) -> int:
    """Return how many jobs may be under way: twice what can run, or some at least."""
    n_at_once = int(ray.cluster_resources().get("CPU", 0) / needs.cpus)
    return max(_LEAST_IN_FLIGHT, 2 * n_at_once)


def _fits(node: dict[str, Any], needs: Needs) -> bool:
    has = node["Resources"] if node["Alive"] else {}
    return has.get("CPU", 0) >= needs.cpus and has.get("GPU", 0) >= needs.gpus
