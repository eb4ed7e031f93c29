"""One network of hosts for the tests of this folder: a database, two workers, two servers of the API, and a client."""

from collections.abc import Iterator

import pytest

from tests.hosts.database_host import DatabaseHost, HostedDatabase, database_on
from tests.hosts.network import Host, hosts

_NAMES = ("database", "worker1", "worker2", "api1", "api2", "client")


@pytest.fixture(scope="session")
def network() -> Iterator[dict[str, Host]]:
    with hosts(_NAMES) as found:
        yield found


@pytest.fixture(scope="session")
def database_host(network: dict[str, Host]) -> Iterator[DatabaseHost]:
    with database_on(network["database"]) as found:
        yield found


@pytest.fixture
def hosted(database_host: DatabaseHost) -> HostedDatabase:
    return database_host.create_database()


@pytest.fixture(autouse=True)
def links_up(network: dict[str, Host]) -> Iterator[None]:
    """Join every host again after a test that cut one off."""
    yield
    for host in network.values():
        host.join()
