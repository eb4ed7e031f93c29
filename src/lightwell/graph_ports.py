"""The interface of a graph store that holds a copy of what PostgreSQL records.

Such a store is asked for patterns only. What PostgreSQL alone decides is decided around it (`stores/copied_graph.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from lightwell.domain.ids import ChunkId, ClassId, DocumentId, EntityId, RelationId


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedMention:
    """An entity that a chunk mentions, how often, and how certain that is; `name` is its name in normal form.

    With `is_topic`, the chunk is about it rather than only naming it.
    """

    entity: EntityId
    name: str
    frequency: int
    confidence: float
    is_topic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedStatement:
    """A relation that a chunk states, with its two ends and their names in normal form."""

    relation: RelationId
    source: EntityId
    source_name: str
    target: EntityId
    target_name: str
    predicate: str
    weight: float
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedChunk:
    """What the copy holds of one published chunk; `preview` is the beginning of its text, `hash` that of all of it in hex.

    `before` and `after` are its neighbours in the document.
    """

    id: ChunkId
    document_id: DocumentId
    class_id: ClassId
    topic: str
    preview: str
    hash: str
    tokens: int
    has_code: bool
    has_formula: bool
    has_table: bool
    before: ChunkId | None
    after: ChunkId | None
    mentions: tuple[CopiedMention, ...]
    statements: tuple[CopiedStatement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentMention:
    """How often a document mentions an entity; `relevance` compares that with the one that it mentions most, in (0, 1]."""

    entity: EntityId
    name: str
    frequency: int
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedDocument:
    """What the copy holds of a document with published chunks."""

    id: DocumentId
    class_id: ClassId
    url: str
    title: str
    format: str
    author: str
    ingested_at: datetime | None
    chunk_count: int
    status: str
    mentions: tuple[DocumentMention, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedEntity:
    """What one access class says of an entity: `display_name` as its documents write it, `name` in normal form.

    `attributes` are those that the documents or a business system give, such as `category`; `created_at` is None where it is not known.
    """

    id: EntityId
    class_id: ClassId
    name: str
    display_name: str
    kind: str
    description: str
    attributes: Mapping[str, str]
    created_at: datetime | None
    updated_at: datetime
    source_chunks: tuple[ChunkId, ...]
    source_paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedRelation:
    """What one access class says of a relation, with its two ends and their names in normal form."""

    id: RelationId
    class_id: ClassId
    source: EntityId
    source_name: str
    target: EntityId
    target_name: str
    predicate: str
    keywords: str
    description: str
    weight: float
    comparison: str
    use_case: str
    source_chunks: tuple[ChunkId, ...]
    source_paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneSubjects:
    """What the record has no more; entities and relations by the access class that said something of them."""

    chunks: tuple[ChunkId, ...]
    documents: tuple[DocumentId, ...]
    entities: tuple[tuple[EntityId, ClassId], ...]
    relations: tuple[tuple[RelationId, ClassId], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphBatch:
    """The current state of some of what changed since the copy was last written.

    `fence` is the version of the copy (a fencing token): a store refuses a batch whose version is below that of one it has written.
    """

    graph: UUID
    fence: int
    chunks: tuple[CopiedChunk, ...]
    documents: tuple[CopiedDocument, ...]
    entities: tuple[CopiedEntity, ...]
    relations: tuple[CopiedRelation, ...]
    gone: GoneSubjects


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphScope:
    """Which copy is read, and what of it: chunks of these access classes, on this topic ("" is any).

    `roots` gives the entity that stands for another one to this reader; entities that stand for themselves are absent.
    """

    graph: UUID
    classes: Sequence[ClassId]
    topic: str
    roots: Mapping[EntityId, EntityId]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedEntity:
    """An entity that leads from chunk to chunk, the one that stands for it, and what sharing it counts."""

    entity: EntityId
    root: EntityId
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgraph:
    """What some chunks mention (bytes of entity ids by chunk, one after the other) and relate (source, target, weight)."""

    mentions: Mapping[bytes, bytes]
    relations: Sequence[tuple[bytes, bytes, float]]


class GraphStore(Protocol):
    """Copies of graphs. Every method raises `GraphFailed` where the store does not answer; a read, also without its copy."""

    @property
    def name(self) -> str:
        """The value of LIGHTWELL_GRAPH_STORE that selects this store."""
        ...

    async def prepare(self) -> None:
        """Create the constraints and indexes that are missing."""
        ...

    async def create(self, graph: UUID) -> None:
        """Create an empty copy, if there is none."""
        ...

    async def has(self, graph: UUID) -> bool:
        """Return whether this copy is there and was not dropped."""
        ...

    async def write(self, batch: GraphBatch) -> bool:
        """Replace what the copy holds of all in the batch, in one transaction; return whether the fence let it."""
        ...

    async def drop(self, graph: UUID) -> None:
        """Delete all of a copy; no batch is written to it any more."""
        ...

    async def mentioning(
        self, scope: GraphScope, entities: Sequence[EntityId], limit: int
    ) -> list[ChunkId]:
        """Return chunks that mention one of these, by their ids."""
        ...

    async def stating(
        self, scope: GraphScope, relations: Sequence[RelationId], limit: int
    ) -> list[ChunkId]:
        """Return chunks that state one of these, by their ids."""
        ...

    async def relating(
        self,
        scope: GraphScope,
        named: Sequence[EntityId],
        members: Sequence[EntityId],
        limit: int,
    ) -> list[ChunkId]:
        """Return chunks that state a relation of `members`: first those between two roots in `named`, the surest first."""
        ...

    async def mentioned(self, scope: GraphScope, chunks: Sequence[ChunkId]) -> list[EntityId]:
        """Return the distinct entities that these chunks mention, none of them replaced by its root."""
        ...

    async def sharing(
        self, scope: GraphScope, entities: Sequence[SharedEntity], limit: int
    ) -> list[ChunkId]:
        """Return chunks that mention these, those with the greatest sum of shares first; each root counts once."""
        ...

    async def subgraph(
        self, scope: GraphScope, chunks: Sequence[ChunkId], above: float
    ) -> Subgraph:
        """Return what these chunks mention and, with more confidence than `above`, relate, by root."""
        ...
