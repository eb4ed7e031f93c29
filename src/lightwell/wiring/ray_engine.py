"""Ray as the engine of backfills; only the command imports this module, and the hosts of a cluster."""

import asyncio
import signal
import socket
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout

import ray
import ray.exceptions
import ray.util

from lightwell.domain.errors import EngineFailed, Invalid
from lightwell.ingest.backfill import Engine, Portion, PortionResult
from lightwell.wiring import backfill_host
from lightwell.wiring.backfill_host import Assignment
from lightwell.wiring.clusters import Cluster

_RETRIES = 3
_CANCEL_SECONDS = 20.0
_HOSTS_SECONDS = 300.0
_HEAD_SECONDS = 5.0
_OBJECT_STORE_BYTES = 80 * 1024**2  # Ray's least: ids and counts are all that it carries


@contextmanager
def open_engine(cluster: Cluster, assignment: Assignment) -> Generator[Engine]:
    """Connect to the cluster, or start one on this host; leave or stop it at the end. Raises `Invalid` and `EngineFailed`."""
    with redirect_stdout(sys.stderr):  # where Ray writes of lost hosts; a report is on stdout
        handler = signal.getsignal(signal.SIGTERM)
        try:
            _connect(cluster)
            signal.signal(
                signal.SIGTERM, handler
            )  # Ray's own ends the process before jobs are given back
            _wait_for_hosts(cluster)
            yield _engine(cluster, assignment)
        finally:
            ray.shutdown()


def _connect(cluster: Cluster) -> None:
    if cluster.address.startswith("ray://"):
        raise Invalid(
            "--address takes HOST:PORT of the head: run the command on a host of the cluster, not through Ray Client"
        )
    if cluster.address:
        _require_head(cluster.address)
    try:
        if cluster.address:
            ray.init(address=cluster.address, log_to_driver=False, configure_logging=False)
            return
        ray.init(
            address="local",
            num_cpus=cluster.slots or None,
            include_dashboard=False,
            log_to_driver=False,
            configure_logging=False,
            object_store_memory=_OBJECT_STORE_BYTES,
        )
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        first, *_ = str(error).splitlines() or [type(error).__name__]
        raise EngineFailed(f"Ray does not answer: {first}") from error


def _require_head(address: str) -> None:
    """Raise `Invalid` for what is no address, and `EngineFailed` where nothing listens: Ray itself would wait for many minutes."""
    host, _, port = address.rpartition(":")
    if not (host and port.isdecimal()):
        raise Invalid(f"--address takes HOST:PORT of the head, not {address!r}")
    try:
        socket.create_connection((host, int(port)), timeout=_HEAD_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise EngineFailed(
            f"No head of a Ray cluster answers at {address} ({error}): run `ray start --head --port={port}` there,"
            " or leave --address out to use this host alone"
        ) from error


def _wait_for_hosts(cluster: Cluster) -> None:
    deadline = time.monotonic() + _HOSTS_SECONDS
    while (there := sum(1 for node in ray.nodes() if node["Alive"])) < cluster.hosts:
        if time.monotonic() > deadline:
            raise EngineFailed(
                f"The cluster has {there} of {cluster.hosts} hosts: run `ray start --address={cluster.address}` on the others, or lower --nodes"
            )
        time.sleep(1.0)


def _retrieve(reply: asyncio.Future[str]) -> None:
    """Look at the error of a portion that was cancelled, which asyncio would report as forgotten."""
    if not reply.cancelled():
        reply.exception()


def _work(assignment: str) -> str:
    """Run on a host of the cluster."""
    host = f"{socket.gethostname()} ({ray.util.get_node_ip_address()})"
    return backfill_host.work(assignment, host)


def _engine(cluster: Cluster, assignment: Assignment) -> Engine:
    # A host that is lost or runs out of memory costs a retry; errors of the portion are in its result.
    task = ray.remote(num_cpus=cluster.cpus, max_retries=_RETRIES)(_work)

    async def run(portion: Portion) -> PortionResult:
        ref = task.remote(backfill_host.encode(assignment, portion))
        reply = asyncio.wrap_future(ref.future())
        reply.add_done_callback(_retrieve)
        try:
            result = await asyncio.shield(reply)
        except asyncio.CancelledError:
            ray.cancel(ref)
            await asyncio.wait([reply], timeout=_CANCEL_SECONDS)  # it gives its jobs back
            raise
        except ray.exceptions.RayError as error:
            raise EngineFailed(f"Ray could not run a portion: {type(error).__name__}") from error
        return backfill_host.decode_result(result)

    def slots() -> int:
        return int(ray.cluster_resources().get("CPU", 0) / cluster.cpus)

    return Engine(run=run, slots=slots)
