"""A task that waits for a connection of the pool ends when it is cancelled, whatever comes at the same moment."""

import asyncio

from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from lightwell.tasks import cancel_and_wait
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

    async def forget_once() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            forgotten.set()
        await asyncio.sleep(3600)

    task = asyncio.create_task(forget_once())
    await asyncio.sleep(0)
    await cancel_and_wait(task, again_seconds=0.01)
    assert forgotten.is_set()
    assert task.cancelled()
