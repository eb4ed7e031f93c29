"""Documents: lists, texts, access tags, deletions, and what is handed in."""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from pydantic import Field, JsonValue

import lightwell.entrypoints.document_output as document_output
import lightwell.entrypoints.json_output as json_output
from lightwell.domain.access import Tags, parse_tags
from lightwell.domain.deletions import Deletion
from lightwell.domain.documents import Document, DocumentFilter, DocumentState, Format
from lightwell.domain.errors import Invalid
from lightwell.domain.requests import IngestRequest, IngestResponse
from lightwell.domain.texts import require_text
from lightwell.entrypoints.operations.replies import NextAfter, PageQuery, Schema, cut_page
from lightwell.entrypoints.schemas.questions import LocatorSchema

if TYPE_CHECKING:
    from lightwell.knowledge_base.documents import DocumentText

MAX_TAGS = 100
_MAX_METADATA = 50
_MAX_VALUE_LENGTH = 2000

AclTags = Annotated[
    list[Annotated[str, Field(max_length=200)]],
    Field(max_length=MAX_TAGS, examples=[["team:sales"]]),
]
DocumentId = Annotated[str, Field(examples=["019f0000-0000-7000-8000-000000000000"])]


class DocumentQuery(PageQuery):
    """Which documents to list; all conditions must hold."""

    status: DocumentState | None = None
    system: Annotated[
        str, Field(max_length=100, description="Source system: `file`, `upload`, `web`.")
    ] = ""
    type: Annotated[str, Field(max_length=100, description="Source type: `document`, `page`.")] = ""
    tag: Annotated[str, Field(max_length=200, description="An access tag of the document.")] = ""
    title: Annotated[
        str, Field(max_length=500, description="A part of the title, in any case.")
    ] = ""

    def to_filter(self) -> DocumentFilter:
        for each in (self.system, self.type, self.tag, self.title, self.after):
            require_text(each, "The filter")
        return DocumentFilter(
            state=self.status, system=self.system, kind=self.type, tag=self.tag, title=self.title
        )


class DocumentSchema(Schema):
    """A document. `updatedAt` is its last change at the source, `ingestedAt` the end of its last complete ingestion."""

    document_id: DocumentId
    document_ref: str
    document_url: str
    source_system: str
    source_type: str
    title: str
    format: str
    author: str
    author_ref: str
    metadata: dict[str, str]
    raw_payload: dict[str, JsonValue]
    topic: str
    language: str
    acl_tags: list[str]
    status: str
    error_message: str
    content_hash: str
    file_size: int
    chunk_count: int
    omitted_chunk_count: int
    created_at: str
    updated_at: str
    ingested_at: str | None


class DocumentPage(Schema):
    documents: list[DocumentSchema]
    next_after: NextAfter


class TextQuery(Schema):
    """Which passage of the text is asked for, if any: a chunk, or the characters from `start` to `end`."""

    chunk_id: UUID | None = None
    start: Annotated[int | None, Field(ge=0)] = None
    end: Annotated[int | None, Field(ge=0)] = None

    def span(self) -> tuple[int, int] | None:
        """Return the characters that are asked for; raise `Invalid` for half a span, and for a span of a chunk."""
        if self.start is None and self.end is None:
            return None
        if self.start is None or self.end is None or self.chunk_id is not None:
            raise Invalid("Give start and end together, or chunkId alone")
        return self.start, self.end


class PassageSchema(Schema):
    """A passage: `text` is what stands from `start` to `end` in the document's text. `locator` is given for a chunk."""

    start: int
    end: int
    text: str
    chunk_id: str | None
    locator: LocatorSchema | None


class TextSchema(Schema):
    document_id: str
    document_ref: str
    title: str
    text: str
    passage: PassageSchema | None


class AccessBody(Schema):
    """The access tags that the document has from now on."""

    acl_tags: AclTags


class DeletionBody(Schema):
    """Documents to delete: all of them, or none where one does not exist."""

    document_ids: Annotated[
        list[Annotated[str, Field(max_length=2000)]],
        Field(min_length=1, max_length=1000, examples=[["019f0000-0000-7000-8000-000000000000"]]),
    ]
    hard: Annotated[
        bool, Field(description="Leave no tombstone, so that not even names remain.")
    ] = False


class RemovedSchema(Schema):
    """Numbers of removed rows."""

    chunks: int
    vectors: int
    mentions: int
    relation_mentions: int


class DeletionSchema(Schema):
    """What a deletion removed and rebuilt, of what the caller sees; entities by reference."""

    document_ids: list[str]
    entities_deleted: list[str]
    entities_rebuilt: list[str]
    relations_deleted: int
    relations_rebuilt: int
    removed: RemovedSchema
    errors: list[str]


class IngestBody(Schema):
    """A document to fetch: the specification's IngestRequest, with access tags and a topic in addition."""

    document_url: Annotated[
        str,
        Field(
            min_length=1,
            max_length=2000,
            examples=["https://example.org/handbook.pdf"],
            description="An http or https URL, or the path of a file in a folder that is open for ingestion.",
        ),
    ]
    title: Annotated[str, Field(max_length=500, description="Overrides the document's own.")] = ""
    format: Format | None = None
    metadata: Annotated[dict[str, JsonValue], Field(max_length=_MAX_METADATA, default_factory=dict)]
    topic: Annotated[str, Field(max_length=200)] = ""
    acl_tags: Annotated[
        AclTags,
        Field(
            description="Who sees the document: tags that the caller has. Not needed where it has one only.",
            default_factory=list,
        ),
    ]

    def to_request(self, tags: Tags) -> IngestRequest:
        return IngestRequest(
            document_url=self.document_url,
            acl_tags=tags,
            title=self.title,
            format=self.format,
            metadata=metadata_texts(self.metadata),
            topic=self.topic,
        )


class IngestResponseSchema(Schema):
    """The job that ingests a document. The document is stored; `GET /v1/jobs/{jobId}` says how far it is."""

    job_id: Annotated[str, Field(examples=["019f0000-0000-7000-8000-000000000001"])]
    document_id: DocumentId
    status: Annotated[str, Field(examples=["queued"])]
    estimated_chunks: int | None


class UploadedSchema(IngestResponseSchema):
    """The job of one uploaded file."""

    file_name: str


class UploadResponse(Schema):
    """One job for each file, in the order of the files."""

    documents: list[UploadedSchema]


def document_schema(document: Document) -> DocumentSchema:
    return DocumentSchema.model_validate(json_output.document(document), by_alias=True)


def document_page(found: Sequence[Document], query: DocumentQuery) -> DocumentPage:
    """Return the page; `found` is one longer where another page follows."""
    page, following = cut_page(found, query, lambda each: each.cursor)
    return DocumentPage(documents=[document_schema(each) for each in page], next_after=following)


def text_schema(shown: "DocumentText") -> TextSchema:
    return TextSchema.model_validate(document_output.document_text(shown), by_alias=True)


def deletion_schema(deletion: Deletion) -> DeletionSchema:
    return DeletionSchema.model_validate(document_output.deletion(deletion), by_alias=True)


def ingest_response(response: IngestResponse) -> IngestResponseSchema:
    return IngestResponseSchema.model_validate(json_output.ingest_response(response), by_alias=True)


def upload_response(names: Iterable[str], responses: Iterable[IngestResponse]) -> UploadResponse:
    """Return the response to an upload of files with these names."""
    return UploadResponse(
        documents=[
            UploadedSchema.model_validate(
                {**json_output.ingest_response(response), "fileName": name}, by_alias=True
            )
            for name, response in zip(names, responses, strict=True)
        ]
    )


def parse_given_tags(words: Iterable[str]) -> Tags:
    """Return the tags that a client sent; raise `Invalid` for one that is none, and for too many."""
    tags = parse_tags(list(words))
    if len(tags) > MAX_TAGS:
        raise Invalid(f"A document has at most {MAX_TAGS} access tags")
    return tags


def metadata_texts(metadata: dict[str, JsonValue]) -> dict[str, str]:
    """Return metadata with texts as values: what is no text becomes JSON. Raises `Invalid`."""
    texts = {
        key.strip(): value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in metadata.items()
    }
    for key, value in texts.items():
        if not key or max(len(key), len(value)) > _MAX_VALUE_LENGTH:
            raise Invalid(f"Keys and values of metadata have 1 to {_MAX_VALUE_LENGTH:,} characters")
        require_text(key + value, "The metadata")
    return texts
