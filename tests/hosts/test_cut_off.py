"""A host that is cut off from the network keeps nobody waiting for long: neither its locks nor its connections last."""

import subprocess
import threading
from uuid import uuid4

import psycopg
import pytest
from psycopg import conninfo

from tests.hosts.database_host import HostedDatabase
from tests.hosts.network import Host, stop, wait_for

pytestmark = pytest.mark.slow

LIMIT_SECONDS = 90.0
"""The limits in records/connections.py add up to 35 seconds; without them TCP waits two hours."""

_WAITING = """
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


def hold_lock(
    host: Host, database: HostedDatabase, project: str, how: str
) -> subprocess.Popen[str]:
    return host.start_module("tests.hosts.lock_holder", database.of_hosts, project, how)


def ends_within(process: subprocess.Popen[str], line: str) -> bool:
    """Return whether the program prints the line in time."""
    waiting = threading.Thread(target=wait_for, args=(process, line), daemon=True)
    waiting.start()
    waiting.join(LIMIT_SECONDS)
    return not waiting.is_alive()


def test_the_server_limits_what_the_url_leaves_open(
    network: dict[str, Host], hosted: HostedDatabase
) -> None:
    own = conninfo.make_conninfo(hosted.of_hosts, options="-c tcp_keepalives_idle=77")
    for url, expected in ((hosted.of_hosts, "10 5 3 25000 10s"), (own, "77 5 3 25000 10s")):
        shown = network["worker1"].start_module("tests.hosts.show_limits", url)
        try:
            wait_for(shown, expected)
        finally:
            stop(shown)


@pytest.mark.parametrize("how", ["between statements", "in a statement"])
def test_a_lock_of_a_host_that_is_cut_off_goes_to_the_next(
    network: dict[str, Host], hosted: HostedDatabase, how: str
) -> None:
    project = str(uuid4())
    first = hold_lock(network["worker1"], hosted, project, how)
    second = None
    try:
        wait_for(first, "held")
        second = hold_lock(network["worker2"], hosted, project, how)
        with psycopg.connect(hosted.of_test, autocommit=True) as connection:
            while connection.execute(_WAITING).fetchone() == (0,):
                assert second.poll() is None
        network["worker1"].cut_off()
        assert ends_within(second, "held")
    finally:
        for process in (first, second):
            if process is not None:
                stop(process)


def test_a_client_whose_database_is_cut_off_learns_of_it(
    network: dict[str, Host], hosted: HostedDatabase
) -> None:
    client = hold_lock(network["worker1"], hosted, str(uuid4()), "in a statement")
    try:
        wait_for(client, "held")
        network["database"].cut_off()
        assert client.wait(LIMIT_SECONDS) != 0
    finally:
        stop(client)
