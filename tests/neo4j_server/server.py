"""A real Neo4j server for tests: fetched by Maven, started once for all workers of a run, stopped by the last of them."""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from neo4j import GraphDatabase
from neo4j.exceptions import DriverError, Neo4jError

from tests.java_servers import fetch, need_java
from tests.ports import free_port

HERE = Path(__file__).parent
FOLDER = Path(__file__).parents[2] / "build" / "neo4j"
PASSWORD = "lightwell-test"  # noqa: S105 - of a server that only this machine reaches
_LIFETIME_SECONDS = 1500  # a run that was killed stops no server: it ends by itself
_JVM = ["-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
_CONF = """server.default_listen_address=127.0.0.1
server.bolt.listen_address=127.0.0.1:{port}
server.http.enabled=false
server.https.enabled=false
dbms.security.auth_enabled=true
dbms.usage_report.enabled=false
server.memory.pagecache.size=64m
internal.dbms.bolt.netty_server_shutdown_quiet_period=0
internal.dbms.bolt.netty_server_shutdown_timeout=1
internal.server.bolt.thread_pool_shutdown_wait_time=1s
"""


@dataclass(frozen=True, kw_only=True)
class Neo4jServer:
    """A server in a folder of its own, which may be killed and started again on its port."""

    home: Path
    port: int

    @property
    def url(self) -> str:
        return f"bolt://127.0.0.1:{self.port}"

    def start(self) -> None:
        (self.home / "conf").mkdir(parents=True, exist_ok=True)
        (self.home / "conf" / "neo4j.conf").write_text(_CONF.format(port=self.port), "utf-8")
        if not (self.home / "data").exists():
            admin = self._command(
                "startup.Neo4jAdminCommand", "dbms", "set-initial-password", PASSWORD
            )
            subprocess.run(admin, env=self._environment(), check=True, capture_output=True)
        server = self._command(
            "CommunityEntryPoint", f"--home-dir={self.home}", f"--config-dir={self.home}/conf"
        )
        # Not our child: another worker may stop it. `timeout` makes a process group of its own.
        script = 'echo $$ > "$NEO4J_HOME/pid"; exec "$@" > "$NEO4J_HOME/out" 2>&1 < /dev/null'
        subprocess.run(
            ["setsid", "--fork", "sh", "-c", script, "sh", *server],
            env=self._environment(),
            check=True,
        )
        deadline = time.monotonic() + 180
        while not self.answers():
            if time.monotonic() > deadline:
                pytest.fail(f"Neo4j did not start: {(self.home / 'out').read_text()[-2000:]}")
            time.sleep(0.2)

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End the server and its watchdog, which are a process group of their own."""
        group = int((self.home / "pid").read_text("utf-8"))
        os.killpg(group, how)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) != 0:
                    return
            time.sleep(0.05)

    def answers(self) -> bool:
        try:
            with GraphDatabase.driver(self.url, auth=("neo4j", PASSWORD)) as driver:
                driver.verify_connectivity()
        except (DriverError, Neo4jError):
            return False
        return True

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "NEO4J_HOME": str(self.home), "NEO4J_CONF": str(self.home / "conf")}

    @staticmethod
    def _command(entry: str, *arguments: str) -> list[str]:
        limited = ["timeout", "-k", "5", str(_LIFETIME_SECONDS), "java", *_JVM]
        return [*limited, "-cp", f"{FOLDER}/lib/*", f"org.neo4j.server.{entry}", *arguments]


@contextmanager
def shared_server() -> Generator[Neo4jServer]:
    """Lend the one server of this checkout; the last who returns it stops it."""
    need_java("Neo4j")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "users").open("a") as users:
        with _alone():
            _fetch()
            server = _running() or _started()
            fcntl.flock(users, fcntl.LOCK_SH)
        try:
            yield server
        finally:
            with _alone():
                fcntl.flock(users, fcntl.LOCK_UN)
                try:
                    fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    pass
                else:
                    server.kill(signal.SIGTERM)
                    shutil.rmtree(server.home, ignore_errors=True)


@contextmanager
def own_server(home: Path) -> Generator[Neo4jServer]:
    """Start a server for one test, which may kill it; the files are those of the shared one."""
    server = Neo4jServer(home=home, port=free_port())
    server.start()
    try:
        yield server
    finally:
        if server.answers():
            server.kill()


@contextmanager
def _alone() -> Generator[None]:
    with (FOLDER / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch() -> None:
    done = FOLDER / "lib" / "complete"
    if done.exists() and done.read_text("utf-8") == (HERE / "pom.xml").read_text("utf-8"):
        return
    shutil.rmtree(FOLDER / "lib", ignore_errors=True)
    target = "-DincludeScope=runtime", f"-DoutputDirectory={FOLDER}/lib"
    fetch("Neo4j", "3.6.1:copy-dependencies", "-f", str(HERE / "pom.xml"), *target)
    done.write_text((HERE / "pom.xml").read_text("utf-8"), "utf-8")


def _running() -> Neo4jServer | None:
    home = FOLDER / "home"
    if not (home / "port").exists():
        return None
    server = Neo4jServer(home=home, port=int((home / "port").read_text("utf-8")))
    return server if server.answers() else None


def _started() -> Neo4jServer:
    home = FOLDER / "home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    server = Neo4jServer(home=home, port=free_port())
    server.start()
    (home / "port").write_text(str(server.port), "utf-8")
    return server
