"""Every interface that can be exchanged, on one page.

PostgreSQL is not among them: it is always there, one layer below in `records/`. An interface exists only where at least two implementations are
in use. Every read takes a `Reader` and filters by its classes inside its own query. Every write is idempotent, so that a step can be repeated.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.access import Reader
from lightwell.domain.documents import ChunkDraft, NewDocument
from lightwell.domain.graph import Extraction, ProfileSubject
from lightwell.domain.ids import ChunkId, ClassId, DocumentId, EntityId, RelationId, SpaceId
from lightwell.domain.reranking import RerankedPassage

Vectors = NDArray[np.float32]
"""Shape (texts, dimension), each row of length 1, in the order of the texts."""

# ── connectors: what changed at the source? ──────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedDocument:
    """The source has this document, new or different."""

    document: NewDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class UnchangedDocument:
    """The source still has this document, with equal content; its tags may differ."""

    url: str
    document: NewDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedDocument:
    """The source no longer has the document with this URL."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableDocument:
    """The source cannot deliver this document; `reason` is a stable word, `message` says how to fix it."""

    url: str
    reason: str
    message: str


Change = ChangedDocument | UnchangedDocument | RemovedDocument | UnreadableDocument


class Connector(Protocol):
    """A source of documents. It owns all URLs that begin with its `scope`."""

    @property
    def scope(self) -> str: ...

    def changes(self, known: Mapping[str, str]) -> AsyncIterator[Change]:
        """Yield the differences from `known` (URL → content hash, of the URLs within the scope), in a stable order.

        Removed documents come before new ones where the source can tell, so that renamed documents are recognised.
        """
        ...


# ── models: which model computes? ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The tokens of one call, counted by the model's own tokenizer."""

    model: str
    input_tokens: int
    output_tokens: int


class Embedder(Protocol):
    """Turns texts into vectors. `model` and `dimension` identify the embedding space."""

    @property
    def model(self) -> str: ...
    @property
    def dimension(self) -> int: ...

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order; raise `ModelFailed`."""
        ...

    async def embed_query(self, text: str) -> Vectors:
        """Return the question's unit vector, shape (1, dimension); raise `ModelFailed`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a chat; `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's reply; `complete` is false when it was cut off at its token limit."""

    text: str
    complete: bool
    usage: Usage


Schema = Mapping[str, object]
"""A JSON schema."""


class ChatModel(Protocol):
    """A chat model behind an endpoint."""

    @property
    def model(self) -> str: ...

    async def reply(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Schema | None = None
    ) -> Reply:
        """Return the reply, as JSON by `schema` where the endpoint supports it; raise `ModelFailed`."""
        ...

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Schema | None = None
    ) -> AsyncIterator[str]:
        """Yield the parts of the reply as they arrive, as JSON by `schema` where supported; raise `ModelFailed`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionInput:
    """A chunk for an extractor; `is_first` is true for its document's first chunk, `class_id` is the access class of its document.

    None: the document is none yet.
    """

    id: ChunkId
    document_title: str
    draft: ChunkDraft
    is_first: bool
    class_id: ClassId | None = None


class Extractor(Protocol):
    """Finds mentions and relation mentions in chunks."""

    async def extract(self, chunks: Sequence[ExtractionInput]) -> list[Extraction]:
        """Return the mentions of each chunk, in order; raise `ModelFailed`."""
        ...


class Reranker(Protocol):
    """Scores passages by relevance to a question."""

    async def rerank(self, question: str, passages: Sequence[str]) -> list[RerankedPassage]:
        """Return every passage once, the most relevant first; raise `ModelFailed`."""
        ...


# ── stores: where are vectors and graph kept? ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkVector:
    """A chunk's vector in an embedding space."""

    chunk_id: ChunkId
    class_id: ClassId
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A chunk and its cosine similarity to the question, in [-1, 1]."""

    chunk_id: ChunkId
    similarity: float


class VectorIndex(Protocol):
    """Vector search over chunks. Its content can be rebuilt from the system of record."""

    async def prepare(self, space: SpaceId, dimension: int) -> None:
        """Create the storage for a space; do nothing if it exists."""
        ...

    async def drop(self, space: SpaceId) -> None:
        """Remove a space with its vectors; do nothing if it does not exist."""
        ...

    async def put(self, space: SpaceId, vectors: Sequence[ChunkVector]) -> None:
        """Insert or replace vectors, each with its chunk's current access class; ignore chunks that no longer exist."""
        ...

    async def remove(self, space: SpaceId, chunks: Sequence[ChunkId]) -> None:
        """Remove the vectors of these chunks; ignore unknown chunks."""
        ...

    async def reclassify(
        self, space: SpaceId, chunks: Sequence[ChunkId], class_id: ClassId
    ) -> None:
        """Move chunks to another access class; a chunk that has moved again meanwhile gets its current class."""
        ...

    async def describe(self, space: SpaceId, documents: Sequence[DocumentId]) -> None:
        """Write again what is kept beside the vectors of these documents' chunks, such as their URL, where that is kept."""
        ...

    async def nearest(
        self,
        space: SpaceId,
        vector: NDArray[np.float32],
        reader: Reader,
        *,
        limit: int,
        topic: str = "",
    ) -> list[Hit]:
        """Return up to `limit` of the reader's chunks, on the topic if one is given, nearest first; ties by id."""
        ...

    async def similarities(
        self, space: SpaceId, vector: NDArray[np.float32], reader: Reader, chunks: Sequence[ChunkId]
    ) -> dict[ChunkId, float]:
        """Return the cosine similarities of those of the chunks that the reader sees and that have a vector."""
        ...

    async def vectors(
        self, space: SpaceId, chunks: Sequence[ChunkId]
    ) -> dict[ChunkId, NDArray[np.float32]]:
        """Return the vectors of those of the chunks that have one; takes no reader, since the chunks come from a filtered query or from ingestion."""
        ...

    async def build(self, space: SpaceId) -> bool:
        """Build the approximate index if the space is too large for exact search; return whether it exists."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileClaim:
    """The exclusive right to write a profile's vector; it ends when the profile changes or another worker
    claims it.

    `until` distinguishes the claims on one profile. A claim that has run out stays valid until another is made.
    """

    subject_id: UUID
    class_id: ClassId
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileVector:
    """The vector of one access class's profile of an entity or a relation, and the hash of the text it was made of."""

    subject: ProfileSubject
    claim: ProfileClaim
    text_hash: bytes
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileHit:
    """An entity or a relation, and the best cosine similarity of its profiles, in [-1, 1]."""

    subject_id: UUID
    similarity: float


class ProfileIndex(Protocol):
    """Vector search over entities and relations: one vector per profile, so per access class.

    Its content can be rebuilt from the system of record.
    """

    async def prepare(self, space: SpaceId, dimension: int) -> None:
        """Create the storage for a space; do nothing if it exists."""
        ...

    async def drop(self, space: SpaceId) -> None:
        """Remove a space with its vectors; do nothing if it does not exist."""
        ...

    async def put(self, space: SpaceId, vectors: Sequence[ProfileVector]) -> None:
        """Insert or replace vectors; ignore those whose claim has ended."""
        ...

    async def remove(self, space: SpaceId, claims: Sequence[ProfileClaim]) -> None:
        """Remove the vectors of these profiles; ignore unknown ones, and those whose claim has ended."""
        ...

    async def nearest(
        self,
        space: SpaceId,
        vector: NDArray[np.float32],
        reader: Reader,
        subject: ProfileSubject,
        *,
        limit: int,
    ) -> list[ProfileHit]:
        """Return up to `limit` entities or relations, each once, nearest first by the best of the reader's profiles."""
        ...

    async def build(self, space: SpaceId) -> bool:
        """Build the approximate indexes of spaces that are too large for exact search; return whether all exist."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """The subgraph for graph ranking; every edge is stated by chunks that the reader sees.

    `mentions` (2, m) are index pairs into `chunks` and `entities`; `relations` (2, r) index pairs into
    `entities`, each related pair once, with `weights` (r,). `counts` (e,) is the number of the reader's chunks
    that mention an entity. `entities` are ids as bytes, because there are thousands of them.
    """

    chunks: tuple[ChunkId, ...]
    entities: tuple[bytes, ...]
    counts: NDArray[np.float64]
    mentions: NDArray[np.intp]
    relations: NDArray[np.intp]
    weights: NDArray[np.float64]


class GraphIndex(Protocol):
    """Graph queries within what a reader may see; with a `topic`, only chunks on it. Ranking is done in Python."""

    async def chunks_mentioning(
        self, reader: Reader, entities: Sequence[EntityId], *, limit: int, topic: str = ""
    ) -> list[ChunkId]:
        """Return up to `limit` of the reader's chunks that mention one of these entities, in order of arrival."""
        ...

    async def chunks_stating(
        self, reader: Reader, relations: Sequence[RelationId], *, limit: int, topic: str = ""
    ) -> list[ChunkId]:
        """Return up to `limit` of the reader's chunks that state one of these relations, in order of arrival."""
        ...

    async def chunks_relating(
        self, reader: Reader, entities: Sequence[EntityId], *, limit: int, topic: str = ""
    ) -> list[ChunkId]:
        """Return up to `limit` of the reader's chunks that state a relation of these entities, those between
        two of them first.
        """
        ...

    async def entities_of(self, reader: Reader, chunks: Sequence[ChunkId]) -> list[EntityId]:
        """Return the entities that these chunks mention or are sources of, of the chunks that the reader sees."""
        ...

    async def relations_of(self, reader: Reader, chunks: Sequence[ChunkId]) -> list[RelationId]:
        """Return the relations that these chunks state or are sources of, of the chunks that the reader sees."""
        ...

    async def linked_entities(
        self, reader: Reader, entities: Sequence[EntityId], *, limit: int
    ) -> list[EntityId]:
        """Return up to `limit` other entities with a confirmed, unexpired link to one of these that the reader sees."""
        ...

    async def neighbour_chunks(
        self, reader: Reader, chunks: Sequence[ChunkId], *, rarest: int, limit: int, topic: str = ""
    ) -> list[ChunkId]:
        """Return up to `limit` of the reader's chunks that share an entity with these.

        Entities that more than `rarest` of the reader's chunks mention are not followed.
        """
        ...

    async def neighbourhood(
        self, reader: Reader, chunks: Sequence[ChunkId], named: Sequence[EntityId]
    ) -> Neighbourhood:
        """Return the subgraph of what these chunks mention and state; chunks that the reader does not see have
        no edges.

        Only the named entities and those that several of the chunks mention are counted; the others count 1.
        """
        ...
