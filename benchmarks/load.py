"""`python -m benchmarks load [MINUTES [SEED]]`: the load of tests/flow/test_load.py for longer, on a server of its own."""

import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo

from lightwell.records.database import connect
from lightwell.stores.embedded.server import run_server
from tests.flow import load


def main(arguments: Sequence[str]) -> None:
    minutes = float(arguments[0]) if arguments else 3.0
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    folder = Path(tempfile.mkdtemp(prefix="lightwell-load-"))
    folder.chmod(0o711)
    try:
        with run_server(folder) as uri:
            report = asyncio.run(_run(uri, seed, minutes * 60))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write(
        f"{minutes} minutes, seed {seed}: {dict(report.done)}, deadlocks {report.deadlocks}\n"
        f"workers that ended: {list(report.ended)}\ndifferences: {report.differences}\n"
    )


async def _run(uri: str, seed: int, seconds: float) -> load.Report:
    async with await AsyncConnection.connect(uri, autocommit=True) as connection:
        await connection.execute("CREATE DATABASE loaded")
        await connection.execute("CREATE DATABASE fresh")
    loaded, fresh = make_conninfo(uri, dbname="loaded"), make_conninfo(uri, dbname="fresh")
    until = time.monotonic() + seconds
    async with connect(loaded) as database, connect(fresh) as other:
        return await load.run(database, loaded, other, seed, lambda turn: time.monotonic() < until)
