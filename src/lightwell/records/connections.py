"""How connections to PostgreSQL are opened: a host that is cut off from the network ends its session, with its locks, within seconds.

Without these limits TCP waits two hours, and as long a session keeps the publishing lock. Both ends need them: the server ends
the session of a client that is gone, and the client stops to wait for a server that is gone.
"""

from collections.abc import Mapping
from contextlib import suppress

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

_IDLE_SECONDS = 10
_INTERVAL_SECONDS = 5
_PROBES = 3
_GONE_SECONDS = _IDLE_SECONDS + _INTERVAL_SECONDS * _PROBES
"""After so long without a sign of life the other host counts as gone; a slow one answers, since its kernel does."""

_CLIENT = {
    "keepalives_idle": _IDLE_SECONDS,
    "keepalives_interval": _INTERVAL_SECONDS,
    "keepalives_count": _PROBES,
    "tcp_user_timeout": _GONE_SECONDS * 1000,
}
_SERVER = {
    "tcp_keepalives_idle": str(_IDLE_SECONDS),
    "tcp_keepalives_interval": str(_INTERVAL_SECONDS),
    "tcp_keepalives_count": str(_PROBES),
    "tcp_user_timeout": str(_GONE_SECONDS * 1000),
}
_CHECKS = {"client_connection_check_interval": str(_IDLE_SECONDS * 1000)}
"""Without it a session whose client is gone completes its statement first, however long that takes."""

# Only what nobody has set: not the URL, nor the role, the database or the server's files.
_LIMIT = """
SELECT set_config(name, given.value, false)
FROM pg_settings JOIN unnest(%(names)s::text[], %(values)s::text[]) AS given (name, value) USING (name)
WHERE source = 'default'
"""


def with_keepalives(conninfo: str) -> str:
    """Return the connection string with limits on how long a silent server is waited for, save those that it sets itself."""
    settings = conninfo_to_dict(conninfo)
    if "service" in settings:  # its file may set them, and what is written here would count more
        return conninfo
    return make_conninfo(
        conninfo, **{name: value for name, value in _CLIENT.items() if name not in settings}
    )


async def limit_silence(connection: AsyncConnection[TupleRow]) -> None:
    """Have the server end this session soon after its client is gone; a Unix socket needs no such limits."""
    if not connection.info.hostaddr:
        return
    await _limit(connection, _SERVER)
    with suppress(psycopg.errors.InvalidParameterValue):  # not every operating system can check
        await _limit(connection, _CHECKS)


async def open_connection(conninfo: str) -> AsyncConnection[TupleRow]:
    """Return a connection outside a pool that commits each statement; raise psycopg's errors."""
    connection = await AsyncConnection.connect(with_keepalives(conninfo), autocommit=True)
    try:
        await limit_silence(connection)
    except BaseException:
        await connection.close()
        raise
    return connection


async def _limit(connection: AsyncConnection[TupleRow], limits: Mapping[str, str]) -> None:
    settings = {"names": list(limits), "values": list(limits.values())}
    await connection.execute(_LIMIT, settings, prepare=False)
