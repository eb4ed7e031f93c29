"""Tables in documents, and computations over their rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from lightwell.domain.documents import heading_path
from lightwell.domain.ids import ChunkId, DocumentId

_MOST_NAMED = 3


class Aggregate(StrEnum):
    """What is made of rows."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    MOST = "most"
    LEAST = "least"
    LIST = "list"


class Value(NamedTuple):
    """A value of a column, which counts from 1, with its key and as a cell has it."""

    column: int
    key: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPlace:
    """A row, `start` to `end` in characters of its document, with the chunk in which it begins."""

    chunk: ChunkId
    start: int
    end: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of a document, of which not all was read where it `is_cut`; `number` counts from 1 in the document.

    `heading` is the one above it; with `is_whole`, its document is nothing but tables, as a spreadsheet is. `keys` are those of the columns' names, `kinds` say what is in them, `values` are those of its values for which somebody asked.
    """

    document: DocumentId
    number: int
    header: RowPlace
    title: str
    url: str
    heading: str
    is_whole: bool
    is_cut: bool
    keys: tuple[str, ...]
    kinds: tuple[str, ...]
    values: tuple[Value, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.header.cells


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What a row says in a column: one of the values with these keys, or an amount in the span, which is written as `(50000,]`; a unit that it has, if any.

    `text` says it to people.
    """

    place: int
    text: str
    keys: tuple[str, ...] = ()
    span: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Computing:
    """A computation over the column `place`, from 0, of rows of tables with the same columns; a count and a list need none.

    With a `group`, it is made for each value of that column.
    """

    aggregate: Aggregate
    tables: Sequence[Table]
    place: int
    conditions: tuple[Condition, ...]
    group: int | None = None


def name_tables(tables: Sequence[Table]) -> str:
    """Return these tables as a sentence names them, by their documents and headings, three at most."""
    named = [
        heading_path(table.title or table.url, [table.heading] if table.heading else [])
        for table in tables
    ]
    names = list(dict.fromkeys(" ".join(name.split()) for name in named))
    shown = ", ".join(f"“{name}”" for name in names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
