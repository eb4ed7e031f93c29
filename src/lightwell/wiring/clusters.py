"""On which hosts a backfill runs."""

import os
import secrets
from dataclasses import dataclass

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # no report leaves the hosts
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # under `uv run` Ray would copy the folder and the environment to the hosts
}
_LOCAL = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # on every system: Ray listens on loopback alone
    "RAY_AUTH_MODE": "token",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Where portions run: the running cluster at `address`, or with "" one on this host with `slots` slots, 0 for one per core.

    A portion takes `cpus` of a host. A running cluster is used when it has `hosts` hosts.
    """

    address: str = ""
    slots: int = 0
    cpus: float = 1.0
    hosts: int = 1


def set_ray_environment(cluster: Cluster) -> None:
    """Set what Ray reads from the environment when it is imported: no telemetry, and for one host loopback and a token of its own."""
    os.environ.update(_ENVIRONMENT)
    if not cluster.address:
        os.environ.update(_LOCAL, RAY_AUTH_TOKEN=secrets.token_hex(32))
