"""A process that syncs the source "tracker", and kills itself at a given call of the business system."""

import asyncio
import os
import signal
import sys

from lightwell.ingest.item_sync import SyncRequest, sync_source
from lightwell.records import access_classes, sources
from lightwell.records.database import connect
from lightwell.testing.item_source import open_memory
from tests.flow.test_sync_faults import full


async def main(url: str, project: str, left: int) -> None:
    system = full()

    def die(call: str) -> None:
        nonlocal left
        del call
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    system.before = die
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    async with connect(url) as database:
        project_id = await access_classes.get_or_create_project(database, "tenant", project)
        source = await sources.get(database, project_id, "tracker")
        request = SyncRequest(is_full=True, with_sweep=True)
        await sync_source(database, source.id, open_memory(system), request)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
