"""Documents: list, read, change who sees them, delete. `uploads` takes new ones."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from lightwell.domain.api_keys import Scope
from lightwell.domain.errors import Forbidden
from lightwell.domain.ids import ChunkId
from lightwell.domain.texts import require_text
from lightwell.entrypoints.http.audit import note_ids
from lightwell.entrypoints.http.authentication import (
    Caller,
    Curating,
    Deleting,
    Ingesting,
    Reading,
    projects_of,
)
from lightwell.entrypoints.http.projects import Projects
from lightwell.entrypoints.http.usage import add_usage_headers, usage_headers
from lightwell.entrypoints.schemas.documents import (
    AccessBody,
    DeletionBody,
    DeletionSchema,
    DocumentPage,
    DocumentQuery,
    DocumentSchema,
    IngestResponseSchema,
    TextQuery,
    TextSchema,
    deletion_schema,
    document_page,
    document_schema,
    ingest_response,
    parse_given_tags,
    text_schema,
)
from lightwell.entrypoints.schemas.passages import (
    PassagePage,
    PassageQuery,
    PassagesBody,
    passage_page,
)

router = APIRouter(prefix="/v1/documents", tags=["documents"])

DocumentName = Annotated[
    str,
    Path(
        max_length=2000,
        pattern=r"^[^\x00]+$",
        description="The document's id or reference.",
        examples=["019f0000-0000-7000-8000-000000000000"],
    ),
]


@router.get("")
async def list_documents(query: Annotated[DocumentQuery, Query()], caller: Reading) -> DocumentPage:
    """List documents by URL."""
    found = await caller.knowledge_base.documents.list(
        caller.reader, query.to_filter(), after=query.after, limit=query.limit + 1
    )
    return document_page(found, query)


@router.post("/delete")
async def delete_documents(
    request: Request, body: DeletionBody, caller: Deleting, response: Response
) -> DeletionSchema:
    """Delete documents together; what is derived from them is rebuilt once.

    The caller needs all access tags of each, or the scope `admin`, which `hard` needs always.
    """
    return await _delete(request, caller, body, response)


@router.get("/{document}")
async def get_document(document: DocumentName, caller: Reading) -> DocumentSchema:
    """Return a document without its text."""
    return document_schema(await caller.knowledge_base.documents.get(caller.reader, document))


@router.get("/{document}/text")
async def get_text(
    document: DocumentName, query: Annotated[TextQuery, Query()], caller: Reading
) -> TextSchema:
    """Return a document's text. A citation's `chunkId`, or its locator's `start` and `end`, mark the passage."""
    shown = await caller.knowledge_base.documents.read(
        caller.reader,
        document,
        span=query.span(),
        chunk=ChunkId(query.chunk_id) if query.chunk_id else None,
    )
    return text_schema(shown)


@router.get("/{document}/passages")
async def list_passages(
    document: DocumentName, query: Annotated[PassageQuery, Query()], caller: Reading
) -> PassagePage:
    """List the passages of a document in order."""
    found = await caller.knowledge_base.documents.chunks(
        caller.reader, document, after=query.after, limit=query.limit + 1
    )
    return passage_page(found, query)


@router.put("/{document}/passages", status_code=202)
async def replace_passages(
    document: DocumentName,
    body: PassagesBody,
    caller: Ingesting,
    response: Response,
    projects: Annotated[Projects, Depends(projects_of)],
) -> IngestResponseSchema:
    """Replace the passages of a document, with a job that ingests them.

    The caller needs all access tags of the document, or the scope `admin`. Citations say that the passages were supplied by hand.
    They are used until the source delivers the document again.
    """
    kb = caller.knowledge_base
    await kb.documents.require_authority(caller.reader, caller.authority, [document])
    answer = await kb.ingestion.enqueue_chunks(caller.reader, document, body.to_chunks())
    projects.has_work.set()
    response.headers["Location"] = f"/v1/jobs/{answer.job_id}"
    return ingest_response(answer)


@router.put("/{document}/access")
async def change_access(
    document: DocumentName, body: AccessBody, caller: Curating, response: Response
) -> DocumentSchema:
    """Give a document other access tags; every read follows at once.

    A caller adds and removes only tags that it has, and keeps one of them; with the scope `admin`, any. The next sync of
    the document's source gives it the tags that the source says.
    """
    tags = parse_given_tags(body.acl_tags)
    with usage_headers(response):
        changed = await caller.knowledge_base.documents.change_access(
            caller.reader, caller.authority, document, tags
        )
    return document_schema(changed)


@router.delete("/{document}")
async def delete_document(
    request: Request,
    document: DocumentName,
    caller: Deleting,
    response: Response,
    hard: Annotated[  # noqa: FBT002 - a query parameter
        bool, Query(description="Leave no tombstone, so that not even its name remains.")
    ] = False,
) -> DeletionSchema:
    """Delete a document and everything extracted from it.

    The caller needs all its access tags, or the scope `admin`, which `hard` needs always.
    """
    return await _delete(
        request, caller, DeletionBody(document_ids=[document], hard=hard), response
    )


async def _delete(
    request: Request, caller: Caller, body: DeletionBody, response: Response
) -> DeletionSchema:
    """Delete documents, and say in headers what models cost for what the caller sees."""
    if body.hard and not caller.allows(Scope.ADMIN):
        raise Forbidden("A hard deletion needs a key with the scope admin")
    kb = caller.knowledge_base
    for each in body.document_ids:
        require_text(each, "The document's id")
    await kb.documents.require_authority(caller.reader, caller.authority, body.document_ids)
    deleted = await (kb.documents.erase if body.hard else kb.documents.delete)(
        caller.reader, body.document_ids
    )
    note_ids(request, "document_ids", deleted.documents)
    add_usage_headers(response, deleted.usage)
    return deletion_schema(deleted)
