"""The interface of a graph store that holds a copy of what PostgreSQL records.

Such a store is asked for patterns only. What PostgreSQL alone decides is decided around it (`stores/copied_graph.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from lightwell.domain.ids import ChunkId, ClassId, DocumentId, EntityId, RelationId


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedMention:
    """An entity that a chunk mentions, how often, and how certain that is; `kind` and `description` are this chunk's."""

    entity: EntityId
    name: str
    kind: str
    description: str
    frequency: int
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedRelation:
    """A relation that a chunk states, with its two ends and their names."""

    relation: RelationId
    source: EntityId
    source_name: str
    target: EntityId
    target_name: str
    predicate: str
    description: str
    weight: float
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedChunk:
    """What the copy holds of one published chunk; `preview` is the beginning of its text, `url` its document's."""

    id: ChunkId
    document_id: DocumentId
    url: str
    class_id: ClassId
    topic: str
    preview: str
    mentions: tuple[CopiedMention, ...]
    relations: tuple[CopiedRelation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphBatch:
    """The current state of some changed chunks of one copy; `gone` are those that mention nothing any more.

    `fence` is the version of the copy (a fencing token): a store refuses a batch whose version is below that of one it has written.
    """

    graph: UUID
    fence: int
    chunks: tuple[CopiedChunk, ...]
    gone: tuple[ChunkId, ...]


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
        """Replace what the copy holds of these chunks, in one transaction; return whether the fence let it."""
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
