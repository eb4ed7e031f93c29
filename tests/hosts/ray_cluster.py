"""A Ray cluster of hosts in network namespaces, on one database."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.hosts.network import Host, stop
from tests.patience import PATIENCE

_PORT = 6379
_BIN = Path(sys.executable).parent
_OBJECT_STORE_BYTES = 80 * 1024**2


@dataclass(frozen=True, kw_only=True)
class RayCluster:
    """The head runs no tasks; the backfill's command runs on it."""

    head: Host
    settings: Mapping[str, str]

    @property
    def address(self) -> str:
        return f"{self.head.address}:{_PORT}"

    def backfill(self, *options: str, nodes: int) -> "subprocess.Popen[str]":
        """Start the command on the head."""
        cluster = ("--address", self.address, "--nodes", str(nodes))
        return lightwell(self.head, self.settings, "backfill", *cluster, "--json", *options)

    @contextmanager
    def joined(self, hosts: Iterable[Host], *, cpus: int = 1) -> Generator[None]:
        """Let hosts join one after the other (they share a folder), until the end of the block."""
        running: list[tuple[Host, subprocess.Popen[str]]] = []
        try:
            for host in hosts:
                address = f"--address={self.address}"
                running.append((host, _start_ray(host, self.settings, address, cpus=cpus)))
                _wait_until_started(running[-1][1])
            yield
        finally:
            for host, process in running:
                kill(host)
                stop(process)


@contextmanager
def ray_head(head: Host, database_url: str, settings: Mapping[str, str]) -> Generator[RayCluster]:
    """Start the head; other hosts join it."""
    with TemporaryDirectory(prefix="ray", dir="/tmp") as folder:
        everywhere = {
            "LIGHTWELL_DATABASE_URL": database_url,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
            **settings,
        }
        options = ("--head", f"--port={_PORT}", f"--temp-dir={folder}", "--include-dashboard=false")
        process = _start_ray(head, everywhere, *options, cpus=0)
        try:
            _wait_until_started(process)
            yield RayCluster(head=head, settings=everywhere)
        finally:
            kill(head)
            stop(process)


def lightwell(host: Host, settings: Mapping[str, str], *arguments: str) -> "subprocess.Popen[str]":
    """Start a command on this host with these settings."""
    return host.start(*_environment(settings), str(_BIN / "lightwell"), *arguments)


def kill(host: Host) -> None:
    """Kill every process of the host at once."""
    for pid in pids(host):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def pids(host: Host) -> list[int]:
    """Return the processes of the host."""
    found = subprocess.run(
        ["ip", "netns", "pids", host.namespace], capture_output=True, text=True, check=True
    )
    return [int(pid) for pid in found.stdout.split()]


def interrupt(host: Host) -> None:
    """Press Ctrl-C once in the backfill that runs on this host."""
    for pid in pids(host):
        if b"lightwell\0backfill" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGINT)


def report_of(process: "subprocess.Popen[str]") -> dict[str, object]:
    """Wait for the end of a backfill and return its report."""
    try:
        printed, _ = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        pytest.fail("the backfill did not end")
    assert process.returncode == 0, printed
    assert printed.startswith("{"), printed
    return json.loads(printed)


def _start_ray(
    host: Host, settings: Mapping[str, str], *options: str, cpus: int
) -> "subprocess.Popen[str]":
    return host.start(
        *_environment(settings),
        str(_BIN / "ray"),
        *("start", "--block", f"--node-ip-address={host.address}", f"--num-cpus={cpus}"),
        *(f"--object-store-memory={_OBJECT_STORE_BYTES}", *options),
    )


def _wait_until_started(process: "subprocess.Popen[str]") -> None:
    assert process.stdout is not None
    deadline, seen = time.monotonic() + PATIENCE, list[str]()
    for line in process.stdout:
        seen.append(line)
        if "Ray runtime started" in line:
            return
        if time.monotonic() > deadline:
            break
    pytest.fail(f"Ray did not start: {''.join(seen)[-2000:]}")


def _environment(settings: Mapping[str, str]) -> Sequence[str]:
    return ("env", *(f"{name}={value}" for name, value in settings.items()))
