"""LightRAG's routes for documents: lists, uploads, texts, deletions, and how far they are."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote
from uuid import uuid4

from fastapi import APIRouter, Depends, HTTPException, Request
from starlette.datastructures import UploadFile

from lightwell.connectors.intake import Intake, upload_origin
from lightwell.domain.access import Tags, parse_tags, user_from_tags
from lightwell.domain.api_keys import Scope
from lightwell.domain.document_lists import DocumentFilter, DocumentOrder, cursor_of
from lightwell.domain.documents import Document, DocumentState, NewDocument
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.formats import EXTENSIONS, format_of_text
from lightwell.domain.jobs import JobState
from lightwell.domain.questions import Filters
from lightwell.domain.requests import IngestRequest
from lightwell.entrypoints.http.audit import note_ids
from lightwell.entrypoints.http.authentication import (
    Caller,
    Ingesting,
    Reading,
    caller_with,
    projects_of,
    recheck_caller,
)
from lightwell.entrypoints.http.lightrag_schema import (
    STATUS_OF,
    STATUSES,
    CancelPipelineResponse,
    ClearDocumentsResponse,
    DeleteDocByIdResponse,
    DeleteDocRequest,
    DocStatus,
    DocStatusResponse,
    DocumentsRequest,
    InsertResponse,
    InsertTextRequest,
    InsertTextsRequest,
    PaginatedDocsResponse,
    PaginationInfo,
    PipelineStatusResponse,
    ReprocessResponse,
    ScanResponse,
    StatusCountsResponse,
    SupportedFileTypesResponse,
    TrackStatusResponse,
)
from lightwell.entrypoints.http.lightrag_speech import make_router
from lightwell.entrypoints.http.multipart import read_form
from lightwell.entrypoints.http.uploads import hold_slot, submit_files
from lightwell.entrypoints.operations.documents import delete_documents
from lightwell.ingest.submission import Submission
from lightwell.knowledge_base.documents import LARGEST_PAGE

router: APIRouter = make_router()

TRACK: Final = "track_id"
"""The key of a document's metadata under which its insertion is found again."""

_MOST_TRACKED: Final = 200
_ORDERS: Final = {
    "created_at": DocumentOrder.CREATED,
    "id": DocumentOrder.CREATED,  # an id begins with the time at which it was given
    "updated_at": DocumentOrder.CHANGED,
    "file_path": DocumentOrder.TITLE,
}
_ENDED: Final = frozenset({DocumentState.ACTIVE, DocumentState.ARCHIVED, DocumentState.FAILED})


@router.post("/documents/paginated")
async def list_documents(body: DocumentsRequest, caller: Reading) -> PaginatedDocsResponse:
    """Return a page of the caller's documents, with the numbers of all."""
    filters = body.status_filters or ([body.status_filter] if body.status_filter else STATUSES)
    counts = await _count(caller)
    total = sum(counts[status] for status in dict.fromkeys(filters))
    pages = max(1, -(-total // body.page_size))
    return PaginatedDocsResponse(
        documents=await _page(body, filters, caller) if body.page <= pages else [],
        pagination=PaginationInfo(
            page=body.page,
            page_size=body.page_size,
            total_count=total,
            total_pages=pages,
            has_next=body.page < pages,
            has_prev=body.page > 1,
        ),
        status_counts=counts,
    )


@router.get("/documents/status_counts")
async def count_documents(caller: Reading) -> StatusCountsResponse:
    """Count the caller's documents by status."""
    return StatusCountsResponse(status_counts=await _count(caller))


@router.get("/documents/track_status/{track_id}")
async def get_track_status(track_id: str, caller: Reading) -> TrackStatusResponse:
    """List the documents of one insertion, as far as the caller sees them."""
    wanted = DocumentFilter(filters=Filters(metadata=((TRACK, track_id),)))
    listed = await caller.knowledge_base.documents.list(caller.reader, wanted, limit=_MOST_TRACKED)
    shown = list(map(_show, listed))
    return TrackStatusResponse(
        track_id=track_id,
        documents=shown,
        total_count=len(shown),
        status_summary=Counter(document.status for document in shown),
    )


@router.get("/documents/pipeline_status")
async def get_pipeline_status(caller: Reading) -> PipelineStatusResponse:
    """Say how many of the caller's documents are still to be read."""
    unread = await count_unread(caller)
    message = f"{unread:,} documents are being read" if unread else "All documents are read"
    return PipelineStatusResponse(
        busy=bool(unread), docs=unread, latest_message=message, history_messages=[message]
    )


@router.get("/documents/supported_file_types")
async def list_file_types(caller: Reading) -> SupportedFileTypesResponse:
    """List the extensions of files that can be read."""
    del caller
    extensions = sorted(
        {extension for group in EXTENSIONS.values() for extension in group if extension}
    )
    return SupportedFileTypesResponse(
        supported_extensions=extensions, engines={"legacy": extensions}
    )


@router.post("/documents/upload", dependencies=[Depends(hold_slot)])
async def upload_document(request: Request, caller: Ingesting) -> InsertResponse:
    """Take a file as a new document, with the only access tag that the caller has."""
    track_id = _new_track("upload")
    async with read_form(request, request.app.state.upload_limits) as form:
        caller = await recheck_caller(request, Scope.INGEST)  # the form may have taken long
        files = [file for file in form.getlist("file") if isinstance(file, UploadFile)]
        if not files:
            raise Invalid("Send a file in the field `file`, with its name")
        tags = tags_of(caller)
        described = _describe(tags, track_id)
        await submit_files(request, caller, described, files)
    names = ", ".join(file.filename or "" for file in files)
    return InsertResponse(message=f"{names} is stored{_audience(tags)}", track_id=track_id)


@router.post("/documents/text", dependencies=[Depends(hold_slot)])
async def insert_text(
    body: InsertTextRequest, request: Request, caller: Ingesting
) -> InsertResponse:
    """Take a text as a new document."""
    return await _insert(request, caller, [body.text], [body.file_source or ""])


@router.post("/documents/texts", dependencies=[Depends(hold_slot)])
async def insert_texts(
    body: InsertTextsRequest, request: Request, caller: Ingesting
) -> InsertResponse:
    """Take texts as new documents, all or none."""
    sources = body.file_sources or []
    if sources and len(sources) != len(body.texts):
        raise Invalid("Give as many file_sources as texts, or none")
    return await _insert(request, caller, body.texts, sources or [""] * len(body.texts))


@router.delete("/documents/delete_document")
async def delete_some(
    body: DeleteDocRequest,
    request: Request,
    caller: Caller = Depends(caller_with(Scope.DELETE, Scope.INGEST)),  # noqa: B008 - FastAPI's way
) -> DeleteDocByIdResponse:
    """Delete documents and what is derived from them; the caller needs all access tags of each."""
    deletion = await delete_documents.run(caller, body.doc_ids, hard=False)
    note_ids(request, "document_ids", deletion.document_ids)
    count = len(deletion.document_ids)
    return DeleteDocByIdResponse(
        message=f"Deleted {count} documents", doc_id=", ".join(body.doc_ids)
    )


@router.post("/documents/reprocess_failed")
async def reprocess_failed(request: Request, caller: Ingesting) -> ReprocessResponse:
    """Enqueue failed jobs again, the latest thousand at most."""
    return ReprocessResponse(message=await _retry_failed(request, caller))


@router.post("/documents/scan")
async def scan(request: Request, caller: Ingesting) -> ScanResponse:
    """Enqueue failed jobs again, which LightRAG does here, too, and say that there is no folder to scan."""
    again = await _retry_failed(request, caller)
    return ScanResponse(message=f"{again}. Lightwell has no input folder: upload files")


@router.delete("/documents")
async def refuse_to_delete_all(caller: Reading) -> ClearDocumentsResponse:
    """Refuse, as LightRAG does while it is busy."""
    del caller
    return ClearDocumentsResponse(
        message="Lightwell does not delete everything at once: select the documents"
    )


@router.post("/documents/clear_cache")
async def refuse_to_clear_cache(caller: Reading) -> ClearDocumentsResponse:
    """Refuse: what is cached belongs to documents and goes with them."""
    del caller
    return ClearDocumentsResponse(
        message="Lightwell caches no answers; what models said of a document goes with it"
    )


@router.post("/documents/cancel_pipeline")
async def refuse_to_cancel(caller: Reading) -> CancelPipelineResponse:
    """Refuse where there is something to cancel: others' documents may be among it."""
    if not await count_unread(caller):
        return CancelPipelineResponse(message="All documents are read")
    raise HTTPException(
        HTTPStatus.NOT_IMPLEMENTED, "Lightwell cancels jobs one by one: `lightwell jobs cancel`"
    )


async def count_unread(caller: Caller) -> int:
    """Return how many of the caller's documents are still to be read."""
    counted = await caller.knowledge_base.documents.count(caller.reader)
    return sum(count.documents for count in counted if count.state not in _ENDED)


def name_of(title: str, url: str) -> str:
    """Return what a document is called where LightRAG has the path of its file."""
    return title or unquote(url.rstrip("/").rpartition("/")[2]) or url


async def _count(caller: Caller) -> dict[str, int]:
    counts: dict[str, int] = dict.fromkeys(("all", *STATUSES), 0)
    for count in await caller.knowledge_base.documents.count(caller.reader):
        counts["all"] += count.documents
        counts[STATUS_OF[count.state]] += count.documents
    return counts


async def _page(
    body: DocumentsRequest, filters: Sequence[DocStatus], caller: Caller
) -> list[DocStatusResponse]:
    states = tuple(state for state, status in STATUS_OF.items() if status in filters)
    if not states:
        return []
    wanted = DocumentFilter(
        states=states,
        order=_ORDERS[body.sort_field],
        is_descending=body.sort_direction == "desc",
    )
    documents, after = caller.knowledge_base.documents, ""
    skipped = (body.page - 1) * body.page_size
    while skipped:
        limit = min(skipped, LARGEST_PAGE)
        before = await documents.list(caller.reader, wanted, after=after, limit=limit)
        if len(before) < limit:
            return []
        after, skipped = cursor_of(before[-1], wanted.order), skipped - limit
    listed = await documents.list(caller.reader, wanted, after=after, limit=body.page_size)
    return list(map(_show, listed))


def _show(document: Document) -> DocStatusResponse:
    return DocStatusResponse(
        id=str(document.id),
        content_summary=name_of(document.title, document.url),
        content_length=document.file_size,
        status=STATUS_OF[document.state],
        created_at=document.created_at.isoformat(),
        updated_at=document.updated_at.isoformat(),
        track_id=document.metadata.get(TRACK),
        chunks_count=document.chunk_count or None,
        error_msg=document.error or None,
        metadata={name: text for name, text in document.metadata.items() if name != TRACK},
        file_path=name_of(document.title, document.url),
    )


async def _insert(
    request: Request, caller: Caller, texts: Sequence[str], sources: Sequence[str]
) -> InsertResponse:
    track_id = _new_track("insert")
    tags, intake = tags_of(caller), request.app.state.intake
    described = _describe(tags, track_id)
    documents = [
        _read_text(intake, described, text, source)
        for text, source in zip(texts, sources, strict=True)
    ]
    await caller.knowledge_base.documents.submit(
        Submission(documents=documents, reader=caller.reader, authority=caller.authority)
    )
    projects_of(request).has_work.set()
    return InsertResponse(
        message=f"{_texts(len(texts))} stored{_audience(tags)}", track_id=track_id
    )


def _read_text(intake: Intake, described: IngestRequest, text: str, source: str) -> NewDocument:
    origin = upload_origin(source or "text.txt")
    described = replace(described, format=format_of_text(origin.name))
    return intake.read_upload(described, origin, text.encode())


async def _retry_failed(request: Request, caller: Caller) -> str:
    jobs, count = caller.knowledge_base.jobs, 0
    for job in await jobs.list(caller.reader, state=JobState.FAILED, limit=LARGEST_PAGE):
        # Its document may have a newer job, be gone, or have no content here any more.
        with suppress(Invalid, NotFound):
            await jobs.retry(caller.reader, job.id)
            count += 1
    projects_of(request).has_work.set()
    return f"{count} failed documents will be read again"


def tags_of(caller: Caller) -> Tags:
    """Return who sees what the caller makes, since LightRAG's clients cannot say: a person alone, else whoever has the caller's only tag.

    Raises `Invalid` for a key with several tags of which none is a person's.
    """
    user = user_from_tags(caller.authority.tags)
    tags = caller.authority.choose(parse_tags([f"user:{user}"] if user else []))
    caller.authority.require_new(tags)
    return tags


def _texts(count: int) -> str:
    return "The text is" if count == 1 else f"{count} texts are"


def _audience(tags: Tags) -> str:
    return f" for {', '.join(sorted(tags))}, and will be read"


def _describe(tags: Tags, track_id: str) -> IngestRequest:
    return IngestRequest(document_url="", acl_tags=tags, metadata={TRACK: track_id})


def _new_track(kind: str) -> str:
    return f"{kind}_{uuid4().hex}"
