"""Runs coroutines concurrently and cancels the others when one fails."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import TypeVar, cast

T = TypeVar("T")


async def gather_or_cancel(calls: Iterable[Coroutine[object, object, T]]) -> list[T]:
    """Return the results in order. If a call fails, cancel the others and raise its error, not an exception group."""
    tasks: list[asyncio.Task[T]] = []
    try:
        async with asyncio.TaskGroup() as group:
            tasks.extend(group.create_task(call) for call in calls)
    except BaseExceptionGroup as several:
        raise _first_error(several) from several
    return [task.result() for task in tasks]


def _first_error(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error
