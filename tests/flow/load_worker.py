"""A worker process for the load test: it runs until SIGTERM, and its exit status is the result."""

import asyncio
import signal
import sys
from dataclasses import replace

from lightwell.ingest import worker as work
from lightwell.records.database import connect
from lightwell.records.locks import LeaseHolder, new_lease_holder
from tests.flow.conftest import project_on

LEASE_SECONDS = 20.0
"""Longer than a busy machine keeps a process waiting; a shorter one is lost without anybody's fault."""


async def main(url: str, project_name: str) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with connect(url, max_connections=6) as database:
        project = await project_on(database, project_name)
        worker = LeaseHolder(name=new_lease_holder().name, seconds=LEASE_SECONDS)
        context = replace(project.context, worker=worker, max_batches=2)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await work.run_worker(context, lambda outcome: None, stop)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
