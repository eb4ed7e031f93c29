"""Rows that vendors send: as values, as the results of reading them, and as the pages of items that they make."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from lightwell.connectors.api_client import ResponseTooLarge
from lightwell.domain.errors import SourceFailed
from lightwell.domain.ids import GlobalRef
from lightwell.domain.source_items import ItemPage, SourceItem, UnreadableItem

Json = dict[str, object]

Result = SourceItem | UnreadableItem | GlobalRef
"""What became of a row: an item, a reason why not, or the reference of what is gone."""


class Wire(BaseModel):
    """Part of a response; unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class StoredCursor(BaseModel):
    """Where a stream goes on, as it is stored."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def to_text(self) -> str:
        return self.model_dump_json(exclude_defaults=True)


W = TypeVar("W", bound=BaseModel)
C = TypeVar("C", bound=StoredCursor)
R = TypeVar("R")
S = TypeVar("S")


def parse_row(vendor: str, model: type[W], row: Json) -> W:
    """Return the row as a value; raise `SourceFailed` where it does not fit."""
    try:
        return model.model_validate(row)
    except ValidationError as error:
        raise SourceFailed(
            f"{vendor} sent a {model.__name__} in a form that is not known"
        ) from error


def parse_cursor(model: type[C], text: str) -> C:
    """Return a stored cursor, an empty one for ""; raise `SourceFailed` for one that is not ours."""
    try:
        return model.model_validate_json(text or "{}")
    except ValidationError as error:
        raise SourceFailed("The cursor of the source is damaged; sync it in full") from error


def make_page(results: Sequence[Result], cursor: str) -> ItemPage:
    """Return the results as a page."""
    return ItemPage(
        items=tuple(result for result in results if isinstance(result, SourceItem)),
        cursor=cursor,
        removed=tuple(result for result in results if isinstance(result, str)),
        unreadable=tuple(result for result in results if isinstance(result, UnreadableItem)),
    )


def size_of(result: Result) -> int:
    """Return the bytes of an item's documents, 0 for what is no item."""
    if not isinstance(result, SourceItem):
        return 0
    return sum(len(document.content) for document in result.documents)


def make_too_large(ref: GlobalRef, error: ResponseTooLarge) -> UnreadableItem:
    """Return the item whose parts are too large to be read; the others of its page are not concerned."""
    return UnreadableItem(ref=ref, reason="too_large", message=str(error))


def make_unreadable(vendor: str, ref: GlobalRef, error: ValidationError) -> UnreadableItem:
    """Return the item that a row does not fit; its message names the fields, and no value."""
    fields = sorted({".".join(map(str, problem["loc"][:2])) for problem in error.errors()})
    message = f"{vendor} sent it in a form that is not known: {', '.join(fields)}"
    return UnreadableItem(ref=ref, reason="unknown_form", message=message)


async def read_at_once(
    limit: asyncio.Semaphore, read: Callable[[R], Awaitable[S]], arguments: Sequence[R]
) -> list[S]:
    """Return the results of a call for each argument, as many at the same time as the limit lets."""

    async def limited(argument: R) -> S:
        async with limit:
            return await read(argument)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(limited(argument)) for argument in arguments]
    return [task.result() for task in tasks]
