"""Runs coroutines together, and ends tasks of the event loop, also those that missed their cancellation."""

import asyncio
from collections.abc import Collection, Coroutine, Iterable
from typing import Any, TypeVar, cast

T = TypeVar("T")

_AGAIN_SECONDS = 5.0
"""Long enough for what a task does at its end, such as rolling a transaction back."""


async def cancel_and_wait(*tasks: asyncio.Task[Any], again_seconds: float = _AGAIN_SECONDS) -> None:
    """Cancel the tasks and return when all have ended, also where this is cancelled meanwhile; their results and exceptions stay in them.

    `asyncio.wait_for`, with which psycopg's pool waits for a connection, forgets a cancellation that comes together
    with what it waits for (Python 3.11). A task that then goes on is cancelled again, every `again_seconds`.
    """
    running: Collection[asyncio.Task[Any]] = tasks
    cancellation: asyncio.CancelledError | None = None
    while running:
        for task in running:
            task.cancel()
        try:
            _, running = await asyncio.wait(running, timeout=again_seconds)
        except asyncio.CancelledError as error:
            cancellation = error
            running = [task for task in running if not task.done()]
    if cancellation is not None:
        raise cancellation


async def run_together(
    *calls: Coroutine[object, object, None], again_seconds: float = _AGAIN_SECONDS
) -> None:
    """Run what goes on until it is cancelled, and end all of it as soon as one fails, with its error.

    A task group waits for ever for a member that forgets its only cancellation: see `cancel_and_wait`.
    """
    tasks = [asyncio.create_task(call) for call in calls]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        await cancel_and_wait(*tasks, again_seconds=again_seconds)
    for task in ended:
        task.result()


async def gather_or_cancel(calls: Iterable[Coroutine[object, object, T]]) -> list[T]:
    """Return the results in order. If a call fails, cancel the others and raise its error, not an exception group."""
    tasks: list[asyncio.Task[T]] = []
    try:
        async with asyncio.TaskGroup() as group:
            tasks.extend(group.create_task(call) for call in calls)
    except BaseExceptionGroup as several:
        error = first_error(several)
    else:
        return [task.result() for task in tasks]
    raise error


def first_error(error: BaseException) -> BaseException:
    """Return the error itself, or the first one of a group: that of the task that failed."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error
