"""A worker process that extracts with a model, for the test that kills it."""

import asyncio
import sys
from dataclasses import replace

from lightwell.ingest import worker as work
from lightwell.records.database import connect
from lightwell.records.locks import LeaseHolder, new_lease_holder
from tests.flow.extraction_model import read_by_model


async def main(url: str, base_url: str, lease: float) -> None:
    async with connect(url) as database, read_by_model(database, base_url) as (project, _):
        worker = LeaseHolder(name=new_lease_holder().name, seconds=lease)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        context = replace(project.context, worker=worker)
        await work.run_until_done(context, lambda outcome: None)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
