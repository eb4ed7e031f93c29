"""Tables in documents, and computations over their rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from lightwell.domain.ids import ChunkId, DocumentId


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

    `keys` are those of the columns' names, `kinds` say what is in them, `values` are those of its values for which somebody asked.
    """

    document: DocumentId
    number: int
    header: RowPlace
    title: str
    url: str
    section: tuple[str, ...]
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
    """A computation over the column `place`, from 0, of rows of tables with the same columns; a count and a list need none."""

    aggregate: Aggregate
    tables: Sequence[Table]
    place: int
    conditions: tuple[Condition, ...]
