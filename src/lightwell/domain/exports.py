"""Exports: configuration, rows, progress and result."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from lightwell.domain.documents import Locator
from lightwell.domain.errors import Invalid
from lightwell.domain.graph import Entity, Predicate, RelationKey
from lightwell.domain.ids import ChunkId

if TYPE_CHECKING:  # an export without vectors needs no numpy
    import numpy as np
    from numpy.typing import NDArray

_MAX_BATCH_SIZE = 10_000


class ExportFormat(StrEnum):
    CSV = "csv"
    XLSX = "xlsx"
    MD = "md"
    TXT = "txt"


class ExportTable(StrEnum):
    """The tables of an export, in the order in which they are written."""

    ENTITIES = "entities"
    RELATIONS = "relations"
    CHUNKS = "chunks"
    VECTORS = "vectors"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportConfig:
    """What to export, in which format and to which file; raises `Invalid` for a combination that makes no
    sense.

    In csv, each table has its own file: the first one is `output_path`, the others stand beside it (`path_of`).
    `batch_size` is the number of rows in memory at a time. An existing file is an error unless `replace`.
    `separator` stands between the parts of a description in csv and xlsx; None uses the configured one.
    """

    format: ExportFormat
    output_path: Path
    include_entities: bool = True
    include_relations: bool = True
    include_chunks: bool = False
    include_vectors: bool = False
    batch_size: int = 1000
    replace: bool = False
    separator: str | None = None

    def __post_init__(self) -> None:
        parse_export_format(self.format)
        if not 0 < self.batch_size <= _MAX_BATCH_SIZE:
            raise Invalid(f"The batch size must be 1 to {_MAX_BATCH_SIZE}, not {self.batch_size}")
        if not self.tables:
            raise Invalid(
                "Nothing is selected for export: include entities, relations, chunks or vectors"
            )

    @property
    def tables(self) -> tuple[ExportTable, ...]:
        """The selected tables, in order."""
        selected = {
            ExportTable.ENTITIES: self.include_entities,
            ExportTable.RELATIONS: self.include_relations,
            ExportTable.CHUNKS: self.include_chunks,
            ExportTable.VECTORS: self.include_vectors,
        }
        return tuple(table for table in ExportTable if selected[table])

    def path_of(self, table: ExportTable) -> Path:
        """Return the file for this table: `graph.csv`, `graph-relations.csv`."""
        path = self.output_path
        if self.format != ExportFormat.CSV or table is self.tables[0]:
            return path
        return path.with_name(f"{path.stem}-{table.value}{path.suffix}")

    @property
    def paths(self) -> tuple[Path, ...]:
        """Every file that will be written, in order."""
        return tuple(dict.fromkeys(self.path_of(table) for table in self.tables))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedRelation:
    """One relation as one reader sees it: the profiles of the reader's classes, combined.

    `source` and `target` are references as in `Entity.ref`. `sources` are at most 50 chunk references, `paths`
    the URLs of their documents, both in order of arrival. `comparison` and `use_case` belong to COMPARED_TO.
    """

    source: str
    source_name: str
    predicate: Predicate
    target: str
    target_name: str
    keywords: tuple[str, ...]
    description: str
    comparison: str
    use_case: str
    weight: float
    chunk_count: int
    sources: tuple[str, ...]
    paths: tuple[str, ...]

    @property
    def key(self) -> RelationKey:
        """The key that identifies it among the reader's relations."""
        return RelationKey(source=self.source, predicate=self.predicate, target=self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk as it is exported."""

    id: ChunkId
    ref: str
    document_ref: str
    title: str
    url: str
    index: int
    locator: Locator
    text: str
    tokens: int
    language: str
    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageVector:
    """A chunk's vector in the active embedding space; `vector` has shape (dimension,)."""

    chunk_ref: str
    model: str
    vector: "NDArray[np.float32]"


ExportRecord = Entity | ExportedRelation | Passage | PassageVector


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportProgress:
    """How many rows of a table are written, of how many."""

    table: ExportTable
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What an export wrote; `shortened_texts` counts the texts that exceeded the length limit of a spreadsheet cell."""

    files: tuple[Path, ...]
    rows: Mapping[ExportTable, int]
    shortened_texts: int


def parse_export_format(word: str) -> ExportFormat:
    """Return the format with this name; raise `Invalid` and list the formats if there is none."""
    try:
        return ExportFormat(word)
    except ValueError:
        names = ", ".join(ExportFormat)
        raise Invalid(f"{word!r} is not an export format; the formats are {names}") from None
