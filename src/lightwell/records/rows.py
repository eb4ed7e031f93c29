"""Rows by name: the columns of a query are called as the fields of the value that it reads."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache, partial
from types import NoneType, UnionType
from typing import (
    Any,
    LiteralString,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from psycopg import AsyncConnection, AsyncCursor, sql
from psycopg.rows import RowMaker, TupleRow, tuple_row

Row = tuple[Any, ...]
"""A row whose columns are unpacked where it is read."""

Query = LiteralString | sql.Composed
Convert = Callable[[Any], Any]
T = TypeVar("T")


@overload
async def fetch(
    connection: AsyncConnection[TupleRow],
    query: Query,
    parameters: Mapping[str, object],
    into: None = None,
) -> list[Row]: ...


@overload
async def fetch(
    connection: AsyncConnection[TupleRow],
    query: Query,
    parameters: Mapping[str, object],
    into: Callable[..., T],
) -> list[T]: ...


async def fetch(
    connection: AsyncConnection[TupleRow],
    query: Query,
    parameters: Mapping[str, object],
    into: Callable[..., Any] | None = None,
) -> list[Any]:
    """Run one query and return its rows, each made `into` a value.

    A dataclass takes the columns as its fields: a word becomes the enumeration that the field names, a list the tuple or
    frozenset, and a column `locator.page` the field of a dataclass within. Any other callable gets them by keyword as they are.
    Without `into` rows are tuples.
    """
    cursor = connection.cursor(row_factory=row_factory(into))
    await cursor.execute(query, parameters)
    return await cursor.fetchall()


async def fetch_values(
    connection: AsyncConnection[TupleRow],
    query: Query,
    parameters: Mapping[str, object],
) -> list[Any]:
    """Run one query and return its first column."""
    cursor = await connection.execute(query, parameters)
    return [value for value, *_ in await cursor.fetchall()]


def row_factory(
    into: Callable[..., Any] | None,
) -> Callable[[AsyncCursor[Any]], RowMaker[Any]]:
    """Return what makes the rows of a psycopg cursor `into` values, as `fetch` says."""
    return tuple_row if into is None else partial(_make_rows, into)


def _make_rows(into: Callable[..., Any], cursor: AsyncCursor[Any]) -> RowMaker[Any]:
    names = tuple(column.name for column in cursor.description or ())
    if is_dataclass(into):
        return _reader_of(into, names)
    return lambda values: into(**dict(zip(names, values, strict=True)))


@lru_cache(maxsize=500)
def _reader_of(kind: Any, names: tuple[str, ...]) -> Callable[[Sequence[Any]], Any]:
    """Return what turns a row with these columns into the dataclass."""
    hints = _hints_of(kind)
    conversions: list[tuple[str, Convert]] = []
    within: dict[str, list[str]] = {}
    for name in names:
        field, dot, _ = name.partition(".")
        if dot:
            within.setdefault(field, []).append(name)
        elif convert := _conversion(hints.get(name)):
            conversions.append((name, convert))
    parts = [
        (field, inner, _reader_of(hints[field], tuple(name.partition(".")[2] for name in inner)))
        for field, inner in within.items()
    ]

    def read(values: Sequence[Any]) -> Any:
        values_by_field = dict(zip(names, values, strict=True))
        for name, convert in conversions:
            values_by_field[name] = convert(values_by_field[name])
        for field, inner, read_part in parts:
            values_by_field[field] = read_part([values_by_field.pop(name) for name in inner])
        return kind(**values_by_field)

    return read


def _hints_of(kind: Any) -> dict[str, Any]:
    """Return the types of the fields, without those that type checkers alone know: what such a field holds is no column to convert."""
    hints = dict[str, Any]()
    for field in fields(kind):
        declared = {"__annotations__": {field.name: field.type}, "__module__": kind.__module__}
        with suppress(NameError):
            hints |= get_type_hints(type("Field", (), declared))
    return hints


def make(kind: type[T], /, **columns: Any) -> T:
    """Return the dataclass with these columns, as `fetch` makes it: for rows of which some columns need a word more."""
    return _reader_of(kind, tuple(columns))(tuple(columns.values()))


def _collect(kind: Convert, convert: Convert, values: Sequence[Any]) -> Any:
    return kind([convert(value) for value in values])


def _conversion(hint: Any) -> Convert | None:
    """Return what turns a column into a field of this type, None where it is that already."""
    if get_origin(hint) in (Union, UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not NoneType]
        convert = _conversion(kinds[0]) if len(kinds) == 1 else None
        return convert and (lambda value: None if value is None else convert(value))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    if (kind := get_origin(hint)) in (tuple, frozenset):
        convert = _conversion(get_args(hint)[0])
        return partial(_collect, kind, convert) if convert else kind
    return None
