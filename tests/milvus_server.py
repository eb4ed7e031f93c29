"""The real Milvus server for tests: one on a machine, whatever runs, since its inner ports are fixed.

The package is 58 MB and is installed into an environment of its own in the user's cache, once.
"""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import platformdirs
import pytest

URL = "http://127.0.0.1:19551"
_PORT = 19551
_REQUIREMENTS = Path(__file__).parent / "stores" / "milvus-requirements.txt"
_LAUNCHER = Path(__file__).parent / "milvus_launcher.py"
_FOLDER = platformdirs.user_cache_path("lightwell-tests") / "milvus"
_START_SECONDS = 180.0


@dataclass(frozen=True)
class MilvusUse:
    """A use of the machine's Milvus; `uses` is a file that each use holds a shared lock on."""

    url: str
    uses: TextIO

    @contextmanager
    def kill(self) -> Generator[None]:
        """Kill the server as soon as nobody else uses it; the launcher starts it again.

        The others wait with their next use until the caller leaves: it has seen the server answer by then.
        """
        fcntl.flock(self.uses, fcntl.LOCK_EX)
        try:
            os.kill(int((_FOLDER / "server.pid").read_text()), signal.SIGKILL)
            yield
        finally:
            fcntl.flock(self.uses, fcntl.LOCK_SH)


@contextmanager
def use_milvus() -> Generator[MilvusUse]:
    """Yield a use of a running Milvus; skip with a message where it cannot be installed, except in CI."""
    users = _FOLDER / "users"
    users.mkdir(parents=True, exist_ok=True)
    user = users / str(os.getpid())
    with (_FOLDER / "uses").open("w") as uses:
        fcntl.flock(uses, fcntl.LOCK_SH)
        with _locked():
            python = _install()
            user.touch()
            _start_unless_running(python)
            _wait_until_ready()
        try:
            yield MilvusUse(URL, uses)
        finally:
            user.unlink(missing_ok=True)


@contextmanager
def _locked() -> Generator[None]:
    with (_FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install() -> Path:
    python = _FOLDER / "venv" / "bin" / "python"
    if (_FOLDER / "installed").exists():
        return python
    shutil.rmtree(_FOLDER / "venv", ignore_errors=True)
    uv = os.environ.get("UV") or shutil.which("uv") or "uv"
    steps = (
        [uv, "venv", "-q", "--python", sys.executable, str(_FOLDER / "venv")],
        [uv, "pip", "install", "-q", "--python", str(python), "-r", str(_REQUIREMENTS)],
    )
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, timeout=600)
        if done.returncode:
            if os.environ.get("CI"):
                pytest.fail(f"{' '.join(step)}: {done.stderr}")
            pytest.skip(f"Milvus cannot be installed here: {done.stderr[-300:]}")
    (_FOLDER / "installed").touch()
    return python


def _start_unless_running(python: Path) -> None:
    if _is_running():
        return
    (_FOLDER / "ready").unlink(missing_ok=True)
    shutil.rmtree(_FOLDER / "data", ignore_errors=True)
    (_FOLDER / "launcher.pid").unlink(missing_ok=True)
    with (_FOLDER / "log").open("w") as log:
        # `setsid --fork` ends at once: the server outlives this process if others use it
        subprocess.run(
            ["setsid", "--fork", str(python), str(_LAUNCHER), str(_FOLDER), str(_PORT)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, "COMMON_SESSION_TTL": "10"},
            check=True,
        )


def _wait_until_ready() -> None:
    end = time.monotonic() + _START_SECONDS
    while not ((_FOLDER / "ready").exists() and _accepts_connections()):
        if time.monotonic() > end:
            pytest.fail(f"Milvus did not start: {(_FOLDER / 'log').read_text()[-2000:]}")
        time.sleep(0.2)


def _accepts_connections() -> bool:
    try:
        socket.create_connection(("127.0.0.1", _PORT), timeout=1).close()
    except OSError:
        return False
    return True


def _is_running() -> bool:
    try:
        launcher = int((_FOLDER / "launcher.pid").read_text())
        command = Path(f"/proc/{launcher}/cmdline").read_text()
    except (OSError, ValueError):
        return False
    return "milvus_launcher" in command
