"""Documents: list, read, replace their chunks, change who sees them, delete."""

from datetime import date
from typing import Annotated
from uuid import UUID

from pydantic import Field, JsonValue, model_validator

import lightwell.domain.documents as domain
from lightwell.domain.access import parse_tags
from lightwell.domain.api_keys import Scope
from lightwell.domain.audiences import Reach
from lightwell.domain.document_lists import DocumentFilter, DocumentOrder, cursor_of
from lightwell.domain.documents import DocumentState
from lightwell.domain.errors import Forbidden, Invalid
from lightwell.domain.ids import ChunkId
from lightwell.domain.jobs import JobState
from lightwell.domain.questions import Filters
from lightwell.domain.requests import EmbeddedChunk
from lightwell.domain.texts import require_text
from lightwell.entrypoints.operations.declaration import Caller, Subject
from lightwell.entrypoints.operations.replies import (
    Locator,
    Moment,
    NextAfter,
    PageQuery,
    Reply,
    Schema,
    Sorted,
    Values,
    page_of,
    read_from,
)

documents = Subject(prefix="/v1/documents", tag="documents")

MAX_TAGS = 100
_MAX_CHUNKS = 500

_ID = "019f0000-0000-7000-8000-000000000000"
DocumentId = Annotated[UUID, Field(examples=[_ID])]
DocumentName = Annotated[
    str,
    Field(
        max_length=2000,
        pattern=r"^[^\x00]+$",
        description="The document's id or reference.",
        examples=[_ID],
    ),
]
AclTags = Annotated[
    list[Annotated[str, Field(max_length=200)]],
    Field(max_length=MAX_TAGS, examples=[["team:sales"]]),
]


class DocumentQuery(PageQuery):
    """Which documents to list, and in which order; all conditions must hold."""

    status: Annotated[
        tuple[DocumentState, ...],
        Field(max_length=10, description="One of these, if any is given."),
    ] = ()
    source: Annotated[Values, Field(description="Names of sources that are synced.")] = ()
    system: Annotated[Values, Field(description="Source systems: `file`, `upload`, `web`.")] = ()
    type: Annotated[Values, Field(description="Source types: `document`, `page`.")] = ()
    author: Annotated[Values, Field(description="People; a part of the name suffices.")] = ()
    tag: Annotated[Values, Field(description="Access tags of the document.")] = ()
    title: Annotated[
        str, Field(max_length=500, description="A part of the title, in any case.")
    ] = ""
    metadata: Annotated[
        tuple[Annotated[str, Field(max_length=513, pattern="=")], ...],
        Field(max_length=10, description="`KEY=VALUE`, which must all stand in the metadata."),
    ] = ()
    since: Annotated[date | None, Field(description="Dated on this day or later.")] = None
    until: Annotated[date | None, Field(description="Dated on this day or earlier.")] = None
    order: Annotated[
        DocumentOrder, Field(description="`system` is the source system, then the source type.")
    ] = DocumentOrder.URL
    descending: bool = False


class Document(Reply):
    """A document. `updatedAt` is its last change at the source, `ingestedAt` the end of its last complete ingestion.

    `waitingChunkCount` chunks are found by their words and in the graph alone: they have no vector yet.
    `hasOriginal` says that it can be downloaded as it was handed in, `pageCount` of how many pages there are pictures.
    """

    document_id: Annotated[DocumentId, read_from("documentId", "id")]
    document_ref: Annotated[str, read_from("documentRef", "ref")]
    document_url: Annotated[str, read_from("documentUrl", "url")]
    source_system: Annotated[str, read_from("sourceSystem", "system")]
    source_type: Annotated[str, read_from("sourceType", "kind")]
    title: str
    format: str
    author: str
    author_ref: str
    metadata: dict[str, str]
    raw_payload: dict[str, JsonValue]
    topic: str
    language: str
    acl_tags: Sorted
    status: Annotated[DocumentState, read_from("status", "state")]
    error_message: Annotated[str, read_from("errorMessage", "error")]
    content_hash: str
    file_size: int
    chunk_count: int
    omitted_chunk_count: Annotated[int, read_from("omittedChunkCount", "omitted_chunks")]
    waiting_chunk_count: Annotated[int, read_from("waitingChunkCount", "waiting_chunks")]
    has_original: bool
    page_count: int
    created_at: Moment
    updated_at: Moment
    ingested_at: Moment | None


class DocumentCount(Reply):
    """How many documents the caller sees of one system, type and state."""

    source_system: Annotated[str, read_from("sourceSystem", "system")]
    source_type: Annotated[str, read_from("sourceType", "kind")]
    status: Annotated[DocumentState, read_from("status", "state")]
    documents: int


class DocumentSummary(Reply):
    """What the caller sees: `documents` in all, and of each system, type and state, in this order."""

    documents: int
    kinds: list[DocumentCount]


class DocumentPage(Reply):
    documents: list[Document]
    next_after: NextAfter


class TextPassage(Reply):
    """A passage: `text` is what stands from `start` to `end` in the document's text. `locator` is given for a chunk."""

    start: int
    end: int
    text: str
    chunk_id: UUID | None
    locator: Locator | None


class DocumentText(Reply):
    """A document's text, and the passage of it that was asked for."""

    document_id: Annotated[DocumentId, read_from("documentId", "document.id")]
    document_ref: Annotated[str, read_from("documentRef", "document.ref")]
    title: Annotated[str, read_from("title", "document.title")]
    text: str
    passage: TextPassage | None


class ChunkMetadata(Reply):
    """What is known of a chunk: its document, its place, and what it holds."""

    document_id: UUID
    document_ref: str
    document_url: Annotated[str, read_from("documentUrl", "url")]
    document_title: Annotated[str, read_from("documentTitle", "title")]
    page_number: Annotated[int | None, read_from("pageNumber", "locator.page")]
    section_path: Annotated[list[str], read_from("sectionPath", "locator.section")]
    chunk_index: Annotated[int, read_from("chunkIndex", "index")]
    has_code: bool
    has_formula: bool
    has_table: bool
    language: str
    token_count: Annotated[int, read_from("tokenCount", "tokens")]
    llm_cache_ids: list[str]
    topic: str
    created_at: Moment | None
    document_updated_at: Annotated[Moment | None, read_from("documentUpdatedAt", "updated_at")]
    ingested_at: Moment | None


class DocumentChunk(Reply):
    """A chunk of a document."""

    chunk_id: UUID
    chunk_ref: str
    content: str
    locator: Locator
    metadata: ChunkMetadata

    @model_validator(mode="before")
    @classmethod
    def _of_chunk(cls, chunk: object) -> object:
        """Read a chunk of the store, whose metadata are attributes of its own."""
        if not isinstance(chunk, domain.Chunk):
            return chunk
        return {
            "chunk_id": chunk.id,
            "chunk_ref": chunk.ref,
            "content": chunk.text,
            "locator": chunk.locator,
            "metadata": chunk,
        }


class DocumentChunks(Reply):
    """A document's chunks in order; `nextAfter` is empty on the last page."""

    passages: list[DocumentChunk]
    next_after: NextAfter


class SuppliedChunk(Schema):
    """A chunk of 100 to 2000 tokens. An embedding has the dimension of the project's model; without one, it is computed."""

    content: Annotated[str, Field(examples=["Nordwind Energie receives a discount of 18 percent."])]
    embedding: Annotated[tuple[float, ...] | None, Field(max_length=16_000)] = None
    section_path: Annotated[tuple[str, ...], Field(max_length=100)] = ()


class IngestJob(Reply):
    """The job that ingests a document. The document is stored; `GET /v1/jobs/{jobId}` says how far it is."""

    job_id: Annotated[UUID, Field(examples=["019f0000-0000-7000-8000-000000000001"])]
    document_id: DocumentId
    status: Annotated[JobState, Field(examples=["queued"])]
    estimated_chunks: int | None


class RemovedRows(Reply):
    """Numbers of removed rows."""

    chunks: int
    vectors: int
    mentions: int
    relation_mentions: int


class Deletion(Reply):
    """What a deletion removed and rebuilt, of what the caller sees; entities by reference."""

    document_ids: Annotated[list[UUID], read_from("documentIds", "documents")]
    entities_deleted: list[str]
    entities_rebuilt: list[str]
    relations_deleted: int
    relations_rebuilt: int
    removed: RemovedRows
    errors: list[str]


class AudiencePart(Reply):
    """Whom an access tag of the document reaches.

    `people` counts active people of the directory, and `keys` the API keys that name no person. `names` of people are listed for
    administrators only. `throughMe`: you have this tag.
    """

    tag: str
    name: str
    kind: Reach
    groups: list[str]
    people: int
    keys: int
    names: list[str]
    through_me: bool


class AudienceChange(Reply):
    """Who gains access or loses it: through which tags, and how many active people. `names` are listed for administrators only."""

    people: int
    parts: list[AudiencePart]
    names: list[str]


class AccessPreview(Reply):
    """What a change of access tags means for the people of the directory."""

    gains: AudienceChange
    loses: AudienceChange


_EVERY = DocumentQuery()


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key, value


@documents.operation("GET")
async def list_documents(caller: Caller, query: DocumentQuery = _EVERY) -> DocumentPage:
    """List documents by URL, or in another order."""
    for text in (query.title, query.after):
        require_text(text, "The filter")
    wanted = DocumentFilter(
        states=query.status,
        filters=Filters(
            sources=query.source,
            systems=query.system,
            kinds=query.type,
            authors=query.author,
            tags=query.tag,
            metadata=tuple(_pair(text) for text in query.metadata),
            since=query.since,
            until=query.until,
        ),
        title=query.title,
        order=query.order,
        is_descending=query.descending,
    )
    following = await caller.knowledge_base.documents.list(
        caller.reader, wanted, after=query.after, limit=query.limit + 1
    )
    page, next_after = page_of(
        following, query.limit, lambda document: cursor_of(document, query.order)
    )
    shown = [Document.model_validate(document) for document in page]
    return DocumentPage(documents=shown, next_after=next_after)


@documents.operation(
    "POST",
    "/delete",
    scope=Scope.DELETE,
    alone=Scope.INGEST,
    is_repeatable=False,
    audited="document_ids",
)
async def delete_documents(
    caller: Caller,
    document_ids: Annotated[
        list[Annotated[str, Field(max_length=2000)]],
        Field(min_length=1, max_length=1000, examples=[[_ID]]),
    ],
    *,
    hard: Annotated[
        bool, Field(description="Leave no tombstone, so that not even names remain.")
    ] = False,
) -> Deletion:
    """Delete documents together; what is derived from them is rebuilt once.

    The caller needs all access tags of each, or the scope `admin`, which `hard` needs always.
    """
    if hard and not caller.authority.is_unlimited:
        raise Forbidden("A hard deletion needs a key with the scope admin")
    for name in document_ids:
        require_text(name, "The document's id")
    documents = caller.knowledge_base.documents
    await documents.require_authority(caller.reader, caller.authority, document_ids)
    delete = documents.erase if hard else documents.delete
    return Deletion.model_validate(await delete(caller.reader, document_ids))


@documents.operation(
    "POST", "/delete/preview", scope=Scope.DELETE, alone=Scope.INGEST, is_repeatable=True
)
async def preview_deletion(
    caller: Caller,
    document_ids: Annotated[
        list[Annotated[str, Field(max_length=2000)]],
        Field(min_length=1, max_length=1000, examples=[[_ID]]),
    ],
) -> Deletion:
    """Say what a deletion of these documents would remove and rebuild now, and change nothing. It is refused where the deletion is."""
    for name in document_ids:
        require_text(name, "The document's id")
    documents = caller.knowledge_base.documents
    await documents.require_authority(caller.reader, caller.authority, document_ids)
    return Deletion.model_validate(await documents.preview_deletion(caller.reader, document_ids))


@documents.operation("GET", "/summary")
async def summarize_documents(caller: Caller) -> DocumentSummary:
    """Count documents by system, type and state."""
    counts = await caller.knowledge_base.documents.count(caller.reader)
    return DocumentSummary(
        documents=sum(count.documents for count in counts),
        kinds=[DocumentCount.model_validate(count) for count in counts],
    )


@documents.operation("GET", "/{document}")
async def get_document(caller: Caller, document: DocumentName) -> Document:
    """Return a document without its text."""
    documents = caller.knowledge_base.documents
    return Document.model_validate(await documents.get(caller.reader, document))


@documents.operation("GET", "/{document}/text")
async def get_text(
    caller: Caller,
    document: DocumentName,
    chunk_id: UUID | None = None,
    start: Annotated[int | None, Field(ge=0)] = None,
    end: Annotated[int | None, Field(ge=0)] = None,
) -> DocumentText:
    """Return a document's text. A citation's `chunkId`, or its locator's `start` and `end`, mark the passage."""
    span = None if start is None or end is None else (start, end)
    if (start is None) != (end is None) or (span and chunk_id is not None):
        raise Invalid("Give start and end together, or chunkId alone")
    text = await caller.knowledge_base.documents.read(
        caller.reader, document, span=span, chunk=ChunkId(chunk_id) if chunk_id else None
    )
    return DocumentText.model_validate(text)


@documents.operation("GET", "/{document}/passages")
async def list_passages(
    caller: Caller,
    document: DocumentName,
    limit: Annotated[
        int, Field(ge=1, le=_MAX_CHUNKS, description="How many items, at most.")
    ] = 100,
    after: Annotated[
        int,
        Field(ge=0, le=1_000_000_000, description="Skip so many: `nextAfter` of the page before."),
    ] = 0,
) -> DocumentChunks:
    """List the passages of a document in order."""
    chunks = await caller.knowledge_base.documents.chunks(
        caller.reader, document, after=after, limit=limit + 1
    )
    page = [DocumentChunk.model_validate(chunk) for chunk in chunks[:limit]]
    return DocumentChunks(
        passages=page, next_after=str(after + limit) if len(chunks) > limit else ""
    )


@documents.operation(
    "PUT",
    "/{document}/passages",
    scope=Scope.INGEST,
    alone=Scope.INGEST,
    status=202,
    is_repeatable=True,
    has_job=True,
)
async def replace_passages(
    caller: Caller,
    document: DocumentName,
    passages: Annotated[
        list[SuppliedChunk],
        Field(
            min_length=1,
            max_length=10_000,
            examples=[[{"content": "Nordwind Energie receives a discount of 18 percent."}]],
        ),
    ],
) -> IngestJob:
    """Replace the passages of a document, with a job that ingests them.

    The caller needs all access tags of the document, or the scope `admin`. Citations say that the passages were supplied by hand.
    They are used until the source delivers the document again.
    """
    kb = caller.knowledge_base
    await kb.documents.require_authority(caller.reader, caller.authority, [document])
    chunks = [
        EmbeddedChunk(
            content=chunk.content, embedding=chunk.embedding, section_path=chunk.section_path
        )
        for chunk in passages
    ]
    job = await kb.ingestion.enqueue_chunks(caller.reader, document, chunks)
    return IngestJob.model_validate(job)


@documents.operation(
    "PUT", "/{document}/access", scope=Scope.CURATE, alone=Scope.INGEST, is_repeatable=True
)
async def change_access(caller: Caller, document: DocumentName, acl_tags: AclTags) -> Document:
    """Give a document other access tags; every read follows at once.

    A caller adds and removes only tags that it has, and keeps one of them; with the scope `admin`, any. The next sync of
    the document's source gives it the tags that the source says.
    """
    changed = await caller.knowledge_base.documents.change_access(
        caller.reader, caller.authority, document, parse_tags(acl_tags)
    )
    return Document.model_validate(changed)


@documents.operation(
    "POST", "/{document}/access/preview", scope=Scope.CURATE, alone=Scope.INGEST, is_repeatable=True
)
async def preview_access(
    caller: Caller, document: DocumentName, acl_tags: AclTags
) -> AccessPreview:
    """Say who would see a document with other access tags and does not now, and the reverse. It is refused where the change is.

    People who have another of the caller's tags on the document are not counted; with the scope `admin`, all are told apart, by name.
    """
    preview = await caller.knowledge_base.documents.preview_access(
        caller.reader, caller.authority, document, parse_tags(acl_tags)
    )
    return AccessPreview.model_validate(preview)


@documents.operation(
    "DELETE", "/{document}", scope=Scope.DELETE, alone=Scope.INGEST, audited="document_ids"
)
async def delete_document(
    caller: Caller,
    document: DocumentName,
    *,
    hard: Annotated[
        bool, Field(description="Leave no tombstone, so that not even its name remains.")
    ] = False,
) -> Deletion:
    """Delete a document and everything extracted from it.

    The caller needs all its access tags, or the scope `admin`, which `hard` needs always.
    """
    return await delete_documents.run(caller, [document], hard=hard)
