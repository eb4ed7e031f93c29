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
from lightwell.domain.ids import (
    ChunkId,
    ClassId,
    DocumentId,
    EntityId,
    GlobalRef,
    RelationId,
    SpaceId,
)
from lightwell.domain.multi_vectors import MultiVector
from lightwell.domain.questions import NO_FILTERS, Filters
from lightwell.domain.reranking import (
    EncodedSpan,
    HeadedPassage,
    RerankedPassage,
    TextMatch,
    WindowMatch,
)
from lightwell.domain.source_items import ItemPage, SourceDirectory, WebhookHint

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedFiles:
    """What the source leaves out since it is no document: how many files of each kind, such as `.png`; a folder counts once."""

    kinds: Mapping[str, int]


Change = ChangedDocument | UnchangedDocument | RemovedDocument | UnreadableDocument | SkippedFiles


class Connector(Protocol):
    """A source of documents. It owns all URLs that begin with its `scope`."""

    @property
    def scope(self) -> str: ...

    def changes(self, hashes: Mapping[str, str]) -> AsyncIterator[Change]:
        """Yield the differences from `hashes` (URL → content hash, of the URLs within the scope), in a stable order.

        Removed documents come before new ones where the source can tell, so that renamed documents are recognised.
        """
        ...


class ItemSource(Protocol):
    """One workspace of a business system, which stores nothing.

    `docs/connectors.md` tells how to write one, and `lightwell.testing.connector_contract` checks it.
    Every method raises `SourceFailed` when the system refuses or fails for good; waits for rate limits happen inside.
    """

    @property
    def system(self) -> str:
        """The system's name, the first part of its references: `linear`."""
        ...

    @property
    def streams(self) -> tuple[str, ...]:
        """The kinds of items, in the order in which to pull them."""
        ...

    def pull(self, stream: str, cursor: str) -> AsyncIterator[ItemPage]:
        """Yield what is new or changed in a stream since the cursor, "" for everything.

        After a crash the next pull begins at the cursor of the last page that was stored, so each page's cursor must lead to
        all that is missing then. An item may come again unchanged, and in several pages; memory does not grow with their number.
        """
        ...

    def list_present(self, stream: str) -> AsyncIterator[Sequence[GlobalRef]]:
        """Yield the references of all items that the stream has now. A listing that is not complete ends with an error."""
        ...

    async def fetch(self, refs: Sequence[GlobalRef]) -> ItemPage:
        """Return these items as they are now; those that the system no longer has, or no longer shows, are `removed`.

        The page's cursor is "".
        """
        ...

    async def directory(self) -> SourceDirectory:
        """Return the people and groups of the workspace."""
        ...

    def read_webhook(
        self, headers: Mapping[str, str], body: bytes, received_at: datetime
    ) -> WebhookHint:
        """Return what a webhook says has changed; raise `Refused` for a wrong signature or time, `Invalid` for a wrong body.

        Names of headers are in lower case. `received_at` has a time zone.
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


class LateInteraction(Protocol):
    """Encodes passages once, and compares questions with what it encoded, and with parts of it."""

    @property
    def model(self) -> str:
        """The name of what its vectors are made with: those of another name are not compared."""
        ...

    @property
    def space(self) -> str:
        """The model of the embedding spaces whose chunk vectors are made of the windows that it encodes."""
        ...

    async def encode(self, passages: Sequence[HeadedPassage]) -> list[MultiVector]:
        """Return the vectors of each passage, in order; raise `ModelFailed`."""
        ...

    async def match(
        self, question: str, vectors: Sequence[MultiVector]
    ) -> list[tuple[WindowMatch, ...]]:
        """Return how the windows of each passage match the question, in order; raise `ModelFailed`."""
        ...

    async def compare(
        self, question: str, texts: Sequence[Sequence[EncodedSpan]]
    ) -> list[TextMatch]:
        """Return how each text, given as parts of chunks, compares with the question, in order; raise `ModelFailed`."""
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
        filters: Filters = NO_FILTERS,
        visible: int | None = None,
    ) -> list[Hit]:
        """Return up to `limit` of the reader's chunks that match the filters, nearest first; ties by id.

        `visible` is how many chunks the reader sees, where the caller knows.
        """
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
    that mention an entity: where the question does not name it, beyond `RAREST` only that it is more. `entities` are ids as bytes, because there are thousands of them.
    """

    chunks: tuple[ChunkId, ...]
    entities: tuple[bytes, ...]
    counts: NDArray[np.float64]
    mentions: NDArray[np.intp]
    relations: NDArray[np.intp]
    weights: NDArray[np.float64]


class GraphIndex(Protocol):
    """Graph queries within what a reader may see, of chunks that match the filters. Ranking is done in Python."""

    async def chunks_mentioning(
        self,
        reader: Reader,
        entities: Sequence[EntityId],
        *,
        limit: int,
        filters: Filters = NO_FILTERS,
    ) -> list[ChunkId]:
        """Return up to `limit` of the reader's chunks that mention one of these entities, in order of arrival."""
        ...

    async def chunks_stating(
        self,
        reader: Reader,
        relations: Sequence[RelationId],
        *,
        limit: int,
        filters: Filters = NO_FILTERS,
    ) -> list[ChunkId]:
        """Return up to `limit` of the reader's chunks that state one of these relations, in order of arrival."""
        ...

    async def chunks_relating(
        self,
        reader: Reader,
        entities: Sequence[EntityId],
        *,
        limit: int,
        filters: Filters = NO_FILTERS,
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
        self,
        reader: Reader,
        chunks: Sequence[ChunkId],
        *,
        rarest: int,
        limit: int,
        filters: Filters = NO_FILTERS,
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


# ── copies of the graph in another store, which is asked for patterns only; what PostgreSQL alone decides is decided around it ──


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
