"""Every seam of the system, on one page.

PostgreSQL is not here: it is always there, one floor up in `records/`. A seam exists only where two
implementations are really used. Whatever reads takes a `Reader` and filters by its classes inside its own
query; whatever writes is idempotent, so that a step may be repeated after a crash.
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
from lightwell.domain.ids import ChunkId, ClassId, EntityId, RelationId, SpaceId

Vectors = NDArray[np.float32]
"""Shape (texts, dimension), each row of length 1, in the order of the texts."""

# ── connectors: what changed over there? ──────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedDocument:
    """The source has this document, new or different."""

    document: NewDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class UnchangedDocument:
    """The source still has it, with equal content; its tags may differ."""

    url: str
    document: NewDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedDocument:
    """The source no longer has what was known under this URL."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableDocument:
    """The source has it and cannot hand it over; `reason` is a stable word, `message` says how to mend it."""

    url: str
    reason: str
    message: str


Change = ChangedDocument | UnchangedDocument | RemovedDocument | UnreadableDocument


class Connector(Protocol):
    """A source of documents; what it speaks of are the URLs that begin with its `scope`."""

    @property
    def scope(self) -> str: ...

    def changes(self, known: Mapping[str, str]) -> AsyncIterator[Change]:
        """Yield what differs from `known` (URL → content hash, those within the scope), in a stable order.

        What is gone comes before what is new where the source can tell: then a renamed document is recognised.
        """
        ...


# ── models: which machine thinks? ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one call cost, in the model's own tokens."""

    model: str
    input_tokens: int
    output_tokens: int


class Embedder(Protocol):
    """Texts to vectors. `model` and `dimension` name the embedding space."""

    @property
    def model(self) -> str: ...
    @property
    def dimension(self) -> int: ...

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order; raise `ModelFailed`."""
        ...

    async def query(self, text: str) -> Vectors:
        """Return the question's unit vector, shape (1, dimension); raise `ModelFailed`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn; `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's whole reply; `complete` is false when it was cut at its token limit."""

    text: str
    complete: bool
    usage: Usage


class ChatModel(Protocol):
    """A chat model behind an endpoint."""

    @property
    def model(self) -> str: ...

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> Reply:
        """Return the reply, as JSON by `schema` where the endpoint can; raise `ModelFailed`."""
        ...

    def stream(self, messages: Sequence[Message], *, max_tokens: int) -> AsyncIterator[str]:
        """Yield the reply's text as it comes; raise `ModelFailed`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionInput:
    """A chunk as an extractor sees it; `is_first` is true for its document's first chunk."""

    id: ChunkId
    document_title: str
    draft: ChunkDraft
    is_first: bool


class Extractor(Protocol):
    """Chunks to mentions and statements."""

    async def extract(self, chunks: Sequence[ExtractionInput]) -> list[Extraction]:
        """Return what each chunk says, in order; raise `ModelFailed`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranked:
    """A passage's place in what was handed in, from 0, and its calibrated relevance in [0, 1]."""

    place: int
    relevance: float


class Reranker(Protocol):
    """Passages by relevance to a question."""

    async def rerank(self, question: str, passages: Sequence[str]) -> list[Reranked]:
        """Return every passage once, most relevant first; raise `ModelFailed`."""
        ...


# ── stores: where is it kept? ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkVector:
    """A chunk's place in an embedding space."""

    chunk_id: ChunkId
    class_id: ClassId
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A chunk and its cosine similarity to the question, in [-1, 1]."""

    chunk_id: ChunkId
    similarity: float


class VectorIndex(Protocol):
    """Chunks by meaning. What it holds can be rebuilt from the system of record."""

    async def prepare(self, space: SpaceId, dimension: int) -> None:
        """Make room for a space; do nothing when it is there."""
        ...

    async def drop(self, space: SpaceId) -> None:
        """Remove a space and all it holds; do nothing when it is gone."""
        ...

    async def put(self, space: SpaceId, vectors: Sequence[ChunkVector]) -> None:
        """Insert or replace; a chunk that has another class by now gets that one, one that is gone is ignored."""
        ...

    async def remove(self, space: SpaceId, chunks: Sequence[ChunkId]) -> None:
        """Remove; unknown chunks are ignored."""
        ...

    async def reclassify(
        self, space: SpaceId, chunks: Sequence[ChunkId], class_id: ClassId
    ) -> None:
        """Move chunks to another access class; one that has moved on meanwhile goes where it is by now."""
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
        """Return up to `limit` of the reader's chunks, of the topic if one is given, nearest first; equal ones by id."""
        ...

    async def similarities(
        self, space: SpaceId, vector: NDArray[np.float32], reader: Reader, chunks: Sequence[ChunkId]
    ) -> dict[ChunkId, float]:
        """Return the cosine similarity of those given chunks that the reader sees and that have a vector."""
        ...

    async def vectors(
        self, space: SpaceId, chunks: Sequence[ChunkId]
    ) -> dict[ChunkId, NDArray[np.float32]]:
        """Return the vectors of those given chunks that have one.

        It takes no reader: the chunks come from a query that was filtered by one, or from ingestion, which shows
        nothing to anybody.
        """
        ...

    async def build(self, space: SpaceId) -> bool:
        """Build the approximate index when the space has grown past exact search; return whether one stands."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileClaim:
    """The right to write a profile's vector; it ends when the profile changes or another worker claims it.

    `until` tells the claims on one profile apart; a claim that has run out stands until another is made.
    """

    subject_id: UUID
    class_id: ClassId
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileVector:
    """The place in an embedding space of what one access class says of an entity or a relation."""

    subject: ProfileSubject
    claim: ProfileClaim
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileHit:
    """An entity or a relation, and the best cosine similarity of its profiles, in [-1, 1]."""

    subject_id: UUID
    similarity: float


class ProfileIndex(Protocol):
    """Entities and relations by what is said of them: a vector per profile, so per access class.

    What it holds can be rebuilt from the system of record.
    """

    async def prepare(self, space: SpaceId, dimension: int) -> None:
        """Make room for a space; do nothing when it is there."""
        ...

    async def drop(self, space: SpaceId) -> None:
        """Remove a space and all it holds; do nothing when it is gone."""
        ...

    async def put(self, space: SpaceId, vectors: Sequence[ProfileVector]) -> None:
        """Insert or replace; vectors whose claim has ended are ignored."""
        ...

    async def remove(self, space: SpaceId, claims: Sequence[ProfileClaim]) -> None:
        """Remove the vectors of these profiles; unknown ones, and those whose claim has ended, are ignored."""
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
        """Return up to `limit` subjects of this kind, each once, nearest first by the reader's profiles of them."""
        ...

    async def build(self, space: SpaceId) -> bool:
        """Build the approximate indexes when the space has grown past exact search; return whether they stand."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """The part of the graph that a walk needs; every edge is backed by chunks the reader sees.

    `mentions` (2, m) are places in `chunks` and in `entities`; `relations` (2, r) places in `entities`, each stated
    pair once, with `weights` (r,). `entities` are the bytes of their ids: a walk meets thousands of them. `counts` (e,) says in how many of the reader's chunks an entity is mentioned.
    """

    chunks: tuple[ChunkId, ...]
    entities: tuple[bytes, ...]
    counts: NDArray[np.float64]
    mentions: NDArray[np.intp]
    relations: NDArray[np.intp]
    weights: NDArray[np.float64]


class GraphIndex(Protocol):
    """The neighbourhood that a reader may see. Ranking happens in Python, alike for every store.

    With a `topic`, only chunks on it are drawn.
    """

    async def chunks_mentioning(
        self, reader: Reader, entities: Sequence[EntityId], *, limit: int, topic: str = ""
    ) -> list[ChunkId]:
        """Return up to `limit` of the reader's chunks that mention one of these, the first to arrive first."""
        ...

    async def chunks_stating(
        self, reader: Reader, relations: Sequence[RelationId], *, limit: int, topic: str = ""
    ) -> list[ChunkId]:
        """Return up to `limit` of the reader's chunks that state one of these, the first to arrive first."""
        ...

    async def chunks_relating(
        self, reader: Reader, entities: Sequence[EntityId], *, limit: int, topic: str = ""
    ) -> list[ChunkId]:
        """Return up to `limit` of the reader's chunks that relate one of these to something, two of these first."""
        ...

    async def entities_of(self, reader: Reader, chunks: Sequence[ChunkId]) -> list[EntityId]:
        """Return the entities that the reader's of these chunks mention, or are given as a source of."""
        ...

    async def relations_of(self, reader: Reader, chunks: Sequence[ChunkId]) -> list[RelationId]:
        """Return the relations that the reader's of these chunks state, or are given as a source of."""
        ...

    async def linked_entities(
        self, reader: Reader, entities: Sequence[EntityId], *, limit: int
    ) -> list[EntityId]:
        """Return up to `limit` other entities that confirmed, unexpired links the reader sees join to these."""
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
        """Return what these chunks mention and state; chunks that the reader does not see have no edges.

        Only the named entities and those that several of the chunks mention are counted; the others count 1.
        """
        ...
