"""A task that waits for a connection of the pool ends when it is cancelled, whatever comes at the same moment."""

import asyncio

import pytest
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from lightwell.tasks import cancel_and_wait, run_together
from tests.patience import PATIENCE


async def test_a_task_ends_whose_connection_came_together_with_its_cancellation(
    database_url: str,
) -> None:
    """In Python 3.11 the first cancellation is lost then, and a server that cancelled once waited for ever."""
    async with AsyncConnectionPool[AsyncConnection](database_url, min_size=1, open=False) as pool:
        held = await pool.getconn()

        async def use_again_and_again() -> None:
            while True:
                async with pool.connection():
                    await asyncio.sleep(3600)

        task = asyncio.create_task(use_again_and_again())
        while not pool.get_stats().get("requests_waiting"):  # noqa: ASYNC110 - the pool tells nobody
            await asyncio.sleep(0)
        await pool.putconn(held)
        async with asyncio.timeout(PATIENCE):
            await cancel_and_wait(task, again_seconds=0.05)
        assert task.cancelled()


async def test_a_task_that_forgets_a_cancellation_is_cancelled_again() -> None:
    forgotten = asyncio.Event()
    task = asyncio.create_task(forget_once(forgotten))
    await asyncio.sleep(0)
    await cancel_and_wait(task, again_seconds=0.01)
    assert forgotten.is_set()
    assert task.cancelled()


async def forget_once(forgotten: asyncio.Event) -> None:
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        forgotten.set()
    await asyncio.sleep(3600)


async def test_what_runs_together_ends_also_where_one_forgets_its_cancellation() -> None:
    """A task group cancels its members once: a bot whose lock was lost at the wrong moment never ended, and its server neither."""
    forgotten = asyncio.Event()

    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("lost")

    async with asyncio.timeout(PATIENCE):
        with pytest.raises(ValueError, match="lost"):
            await run_together(fail(), forget_once(forgotten), again_seconds=0.01)
    assert forgotten.is_set()


async def test_a_cancellation_that_comes_while_tasks_end_does_not_leave_them_running() -> None:
    forgotten = asyncio.Event()
    member = asyncio.create_task(forget_once(forgotten))
    ending = asyncio.create_task(cancel_and_wait(member, again_seconds=3600))
    async with asyncio.timeout(PATIENCE):
        await forgotten.wait()
        await cancel_and_wait(ending, again_seconds=0.01)
    assert ending.cancelled()
    assert member.cancelled()
