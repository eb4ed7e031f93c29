"""Hosts in network namespaces, joined by a switch in a namespace of its own: no packet leaves them."""

import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

_PREFIX = "10.213.77"
_LIFETIME_SECONDS = 1500  # a run that was killed ends no process: each ends by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A namespace with one link to the switch."""

    namespace: str
    switch: str
    port: str
    address: str

    def start(
        self, *command: str, account: tuple[int, int] | None = None
    ) -> "subprocess.Popen[str]":
        """Start a program on this host, under an account's user and group; what it prints can be read."""
        user = () if account is None else ("-S", str(account[0]), "-G", str(account[1]))
        return subprocess.Popen(
            [
                *("timeout", "-k", "5", str(_LIFETIME_SECONDS)),
                *("nsenter", f"--net=/run/netns/{self.namespace}", *user, "--", *command),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def start_module(self, module: str, *arguments: str) -> "subprocess.Popen[str]":
        """Start a Python module on this host."""
        return self.start(sys.executable, "-m", module, *arguments)

    def cut_off(self) -> None:
        """Take the host's link down: its packets, and those to it, are lost without a word."""
        _ip("-n", self.switch, "link", "set", self.port, "down")

    def join(self) -> None:
        """Take the host's link up."""
        _ip("-n", self.switch, "link", "set", self.port, "up")


@contextmanager
def hosts(names: Iterable[str]) -> Generator[dict[str, Host]]:
    """Make hosts that reach each other; skip with a message where that is not permitted."""
    run = f"lightwell{os.getpid()}"
    switch = f"{run}-switch"
    made: list[str] = []
    try:
        _require_namespaces(switch)
        made.append(switch)
        _ip("-n", switch, "link", "add", "switch", "type", "bridge")
        _ip("-n", switch, "link", "set", "switch", "up")
        found: dict[str, Host] = {}
        for number, name in enumerate(names, start=1):
            host = Host(
                namespace=f"{run}-{name}",
                switch=switch,
                port=f"port{number}",
                address=f"{_PREFIX}.{number}",
            )
            _ip("netns", "add", host.namespace)
            made.append(host.namespace)
            _connect(host)
            found[name] = host
        yield found
    finally:
        for namespace in made:
            _ip("netns", "delete", namespace)


def stop(process: "subprocess.Popen[str]") -> None:
    """End a host's program and its children at once."""
    if process.poll() is None:
        os.killpg(process.pid, 9)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def wait_for(process: "subprocess.Popen[str]", line: str) -> None:
    """Wait until the program prints this line."""
    assert process.stdout is not None
    seen: list[str] = []
    for printed in process.stdout:
        seen.append(printed.strip())
        if seen[-1] == line:
            return
    pytest.fail(f"the program ended before it printed {line!r}: {process.wait()}, {seen[-5:]}")


def _require_namespaces(probe: str) -> None:
    missing = [name for name in ("ip", "nsenter", "timeout") if shutil.which(name) is None]
    reason = f"{', '.join(missing)} missing (iproute2, util-linux)" if missing else ""
    if not missing:
        done = subprocess.run(
            ["ip", "netns", "add", probe], capture_output=True, text=True, check=False
        )
        reason = done.stderr.strip() if done.returncode else ""
    if reason:
        pytest.skip(f"network namespaces cannot be made here: {reason}")


def _connect(host: Host) -> None:
    _ip(
        *("-n", host.switch, "link", "add", host.port, "type", "veth"),
        *("peer", "name", "eth0", "netns", host.namespace),
    )
    _ip("-n", host.switch, "link", "set", host.port, "master", "switch", "up")
    _ip("-n", host.namespace, "address", "add", f"{host.address}/24", "dev", "eth0")
    _ip("-n", host.namespace, "link", "set", "eth0", "up")
    _ip("-n", host.namespace, "link", "set", "lo", "up")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], capture_output=True, check=True)
