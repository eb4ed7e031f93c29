"""A process that erases documents one by one and prints a line before each, for the test that kills it."""

import asyncio
import sys

from lightwell.domain.errors import NotFound
from lightwell.records.database import connect
from tests.flow.conftest import project_on


async def main(url: str, tags: list[str]) -> None:
    async with connect(url, max_connections=3) as database:
        project = await project_on(database)
        reader = await project.kb.reader(tags)
        urls = [one.url async for one in project.kb.documents.iterate(reader)]
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        for each in urls:
            try:
                await project.kb.documents.erase(reader, [each])
            except NotFound:
                continue


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
