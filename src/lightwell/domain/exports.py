"""What an export is asked for, what stands in it, and what became of it."""

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

_LARGEST_BATCH = 10_000


class ExportFormat(StrEnum):
    CSV = "csv"
    XLSX = "xlsx"
    MD = "md"
    TXT = "txt"


class ExportTable(StrEnum):
    """What an export can hold, in the order in which it is written."""

    ENTITIES = "entities"
    RELATIONS = "relations"
    CHUNKS = "chunks"
    VECTORS = "vectors"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportConfig:
    """What is to be exported, how, and to which file; raises `Invalid` for what makes no sense.

    csv has one table a file: the first one goes to `output_path`, each other one beside it (`path_of`).
    `batch_size` is how many rows are held in memory at once. A file that is there is kept unless `replace`.
    `separator` stands between the parts of a description in csv and xlsx; None takes the one of the settings.
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
        export_format(self.format)
        if not 0 < self.batch_size <= _LARGEST_BATCH:
            raise Invalid(f"The batch size must be 1 to {_LARGEST_BATCH}, not {self.batch_size}")
        if not self.tables:
            raise Invalid("Nothing is left to export: name entities, relations, chunks or vectors")

    @property
    def tables(self) -> tuple[ExportTable, ...]:
        """The tables that are asked for, in order."""
        asked = {
            ExportTable.ENTITIES: self.include_entities,
            ExportTable.RELATIONS: self.include_relations,
            ExportTable.CHUNKS: self.include_chunks,
            ExportTable.VECTORS: self.include_vectors,
        }
        return tuple(table for table in ExportTable if asked[table])

    def path_of(self, table: ExportTable) -> Path:
        """Return the file that this table goes to: `graph.csv`, `graph-relations.csv`."""
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
    """What one reader sees of one relation: the profiles of the reader's classes, brought together.

    `source` and `target` are references as `Entity.ref` shows them. `sources` are at most 50 chunk references,
    `paths` the URLs of their documents, both first in first out. `comparison` and `use_case` belong to COMPARED_TO.
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
        """What names it among the reader's relations."""
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
    """A chunk's place in the active embedding space; `numbers` has shape (dimension,)."""

    chunk_ref: str
    model: str
    numbers: "NDArray[np.float32]"


ExportRecord = Entity | ExportedRelation | Passage | PassageVector


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportProgress:
    """How many rows of a table are written, of how many."""

    table: ExportTable
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What an export wrote; `cut` counts the texts that were too long for a cell of a spreadsheet."""

    files: tuple[Path, ...]
    rows: Mapping[ExportTable, int]
    shortened_texts: int


def export_format(word: str) -> ExportFormat:
    """Return the format of this name; raise `Invalid` naming those that there are."""
    try:
        return ExportFormat(word)
    except ValueError:
        known = ", ".join(ExportFormat)
        raise Invalid(f"{word!r} is not an export format; there are {known}") from None
