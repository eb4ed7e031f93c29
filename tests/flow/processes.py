"""Child processes of tests; none outlives its block, so one failure cannot disturb the next test."""

import asyncio
import multiprocessing
import os
import runpy
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess

from psycopg import conninfo

from lightwell.records.database import Database
from tests.patience import PATIENCE

LEASE_SECONDS = 3600.0
"""No living worker loses it, however busy the machine is; a test ends the leases of a dead or stopped one."""

WORKER = "lightwell-test-worker"
"""By this name the server knows the connections of worker processes."""

_BACKENDS = """
SELECT count(*), count(*) FILTER (WHERE xact_start IS NOT NULL) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = %(name)s
"""

_END_LEASES = "UPDATE ingestion_jobs SET leased_until = now() - interval '1 second' WHERE leased_by IS NOT NULL"
_LEASED = "SELECT count(*) FROM ingestion_jobs WHERE leased_until > now()"

# A fork of a process that has the libraries already: to load them anew takes a second of the processor.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["lightwell.wiring", "lightwell.testing.endpoint", "lightwell.models.openai_chat", "pytest"]
)


@contextmanager
def running(module: str, *arguments: str) -> Generator[ForkServerProcess]:
    """Start a module as a process and wait until it prints "ready"; kill it at the end of the block."""
    ours, theirs = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(target=_run, args=(theirs, module, arguments))
    process.start()
    theirs.close()
    try:
        with open(os.dup(ours.fileno()), encoding="utf-8") as stdout:  # noqa: PTH123 - it has no path
            assert stdout.readline() == "ready\n"
        yield process
    finally:
        kill(process)
        ours.close()


def _run(stdout: Connection, module: str, arguments: Sequence[str]) -> None:
    """Run the module, in the process that was started for it."""
    os.dup2(stdout.fileno(), 1)
    stdout.close()
    sys.argv[1:] = arguments
    runpy.run_module(module, run_name="__main__")


def send(process: ForkServerProcess, sign: signal.Signals) -> None:
    assert process.pid is not None
    os.kill(process.pid, sign)


def kill(process: ForkServerProcess) -> None:
    """End the process at once, also a stopped one; do nothing if it has ended."""
    process.kill()
    process.join()


def finish(process: ForkServerProcess) -> None:
    """Wait until the process ends by itself, and require that it succeeds."""
    process.join(PATIENCE)
    assert process.exitcode == 0


def as_worker(url: str) -> str:
    """Return the connection string for a worker process, whose connections the test can tell from its own."""
    return conninfo.make_conninfo(url, application_name=WORKER)


async def kill_worker(process: ForkServerProcess, database: Database) -> None:
    """Kill a worker, and end its leases as if their time had passed, once the server has noticed its death."""
    kill(process)
    while (await database.rows(_BACKENDS, {"name": WORKER}))[0][0]:  # noqa: ASYNC110 - the server notices it
        await asyncio.sleep(0.02)
    await database.execute(_END_LEASES, {})
    await database.execute("UPDATE chunk_gaps SET taken_until = NULL", {})


async def stop_worker(process: ForkServerProcess, database: Database) -> None:
    """Stop a worker that holds jobs, outside of any transaction, and end its leases as if their time had passed."""
    while True:
        while not (await database.rows(_LEASED, {}))[0][0]:  # noqa: ASYNC110 - the worker claims
            await asyncio.sleep(0.01)
        send(process, signal.SIGSTOP)
        if not await _is_in_transaction(database):
            break
        send(process, signal.SIGCONT)
        await asyncio.sleep(0.01)
    await database.execute(_END_LEASES, {})


async def _is_in_transaction(database: Database) -> bool:
    """Return whether a stopped worker has a transaction open, after what its connections were doing has ended."""
    for _ in range(10):
        if not (await database.rows(_BACKENDS, {"name": WORKER}))[0][1]:
            return False
        await asyncio.sleep(0.02)
    return True
