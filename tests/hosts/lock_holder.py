"""A process that takes a project's publishing lock, prints "held", and keeps it until it is killed."""

import asyncio
import sys
from uuid import UUID

from lightwell.domain.ids import ProjectId
from lightwell.records.database import connect
from lightwell.records.locks import lock_project


async def main(url: str, project: UUID, how: str) -> None:
    async with connect(url) as database, database.transaction() as connection:
        await lock_project(connection, ProjectId(project))
        sys.stdout.write("held\n")
        sys.stdout.flush()
        if how == "in a statement":
            await connection.execute("SELECT pg_sleep(3600)")
        await asyncio.sleep(3600)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], UUID(sys.argv[2]), sys.argv[3]))
