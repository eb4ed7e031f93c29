"""A PostgreSQL server on a host of the test: the programs and a data directory of the embedded one, with an address."""

import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import conninfo, sql

from lightwell.stores.embedded import _programs
from lightwell.stores.embedded.server import run_server, status
from lightwell.testing.server import temporary_folder
from tests.hosts.network import Host, stop
from tests.patience import PATIENCE

_PORT = 5432
_OPTIONS = {
    "port": str(_PORT),
    "fsync": "off",
    "full_page_writes": "off",
    "deadlock_timeout": "1s",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseHost:
    """A server that other hosts reach by its address, and the test by its socket, whatever becomes of the network."""

    address: str
    socket: str

    def create_database(self) -> "HostedDatabase":
        """Make an empty database."""
        name = f"test_{uuid4().hex}"
        with psycopg.connect(self.url(self.socket, "lightwell"), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return HostedDatabase(
            of_hosts=self.url(self.address, name), of_test=self.url(self.socket, name)
        )

    def url(self, host: str, database: str) -> str:
        """Return the connection string of a database at the address or the socket."""
        return conninfo.make_conninfo(
            host=host, port=_PORT, user="lightwell", dbname=database, application_name="lightwell"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedDatabase:
    """One database, as the hosts and as the test reach it."""

    of_hosts: str
    of_test: str


@contextmanager
def database_on(host: Host) -> Generator[DatabaseHost]:
    """Start a server on this host, and stop it at the end."""
    with temporary_folder() as folder:
        with run_server(folder):
            cluster = status(folder).cluster
        with (cluster / "pg_hba.conf").open("a", encoding="utf-8") as rules:
            rules.write("host all all samenet trust\n")
        with _running(host, cluster) as server:
            found = DatabaseHost(address=host.address, socket=str(cluster))
            _wait_until_it_answers(found, server)
            yield found


@contextmanager
def _running(host: Host, cluster: Path) -> Generator["subprocess.Popen[str]"]:
    account = _programs.server_account(cluster)
    options = {
        **_OPTIONS,
        "listen_addresses": host.address,
        "unix_socket_directories": str(cluster),
    }
    server = host.start(
        str(_programs.program_path("postgres", account)),
        *("-D", str(cluster)),
        *(part for pair in options.items() for part in ("-c", "=".join(pair))),
        account=None if account is None else (account.user, account.group),
    )
    try:
        yield server
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(60)
        finally:
            stop(server)


def _wait_until_it_answers(found: DatabaseHost, server: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        try:
            psycopg.connect(found.url(found.socket, "lightwell")).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("PostgreSQL did not start on its host")
