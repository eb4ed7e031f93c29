"""Prints what the server says of one connection's limits."""

import asyncio
import sys

from lightwell.records.database import connect

_NAMES = (
    *("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count"),
    *("tcp_user_timeout", "client_connection_check_interval"),
)


async def main(url: str) -> None:
    async with connect(url) as database:
        query = "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY(%(names)s)"
        found = dict(await database.rows(query, {"names": list(_NAMES)}))
    sys.stdout.write(" ".join(str(found[name]) for name in _NAMES) + "\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
