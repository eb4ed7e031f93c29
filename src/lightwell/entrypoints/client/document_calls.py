"""Calls about documents: hand in, list, read, change who sees them, delete."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from uuid import UUID, uuid4

from lightwell.domain.documents import Format
from lightwell.entrypoints.operations.calls import Call, Upload, reader_of, segment
from lightwell.entrypoints.schemas.documents import (
    AccessBody,
    DeletionBody,
    DeletionSchema,
    DocumentPage,
    DocumentQuery,
    DocumentSchema,
    IngestBody,
    IngestResponseSchema,
    TextQuery,
    TextSchema,
    UploadResponse,
)
from lightwell.entrypoints.schemas.passages import (
    GivenPassage,
    PassagePage,
    PassageQuery,
    PassagesBody,
)

_PATH = "/v1/documents"
_read_page = reader_of(DocumentPage)
_read_document = reader_of(DocumentSchema)
_read_text = reader_of(TextSchema)
_read_passages = reader_of(PassagePage)
_read_upload = reader_of(UploadResponse)
_read_job = reader_of(IngestResponseSchema)
_read_deletion = reader_of(DeletionSchema)


def upload(  # noqa: PLR0913 - the fields of the form
    files: Sequence[str | Path],
    *,
    tags: Iterable[str] = (),
    title: str = "",
    format: Format | None = None,
    topic: str = "",
    metadata: Mapping[str, object] | None = None,
    key: str = "",
) -> Call[UploadResponse]:
    """Hand in files, all of them or none, and get a job for each. `key` is the idempotency key, a new one by default."""
    texts = {
        "title": title,
        "format": format.value if format else "",
        "topic": topic,
        "metadata": json.dumps(dict(metadata)) if metadata else "",
    }
    fields: dict[str, str | list[str]] = {name: text for name, text in texts.items() if text}
    return Call(
        method="POST",
        path=_PATH,
        upload=Upload(
            files=tuple(Path(each) for each in files), fields={**fields, "aclTags": list(tags)}
        ),
        read=_read_upload,
        key=key or str(uuid4()),
    )


def ingest(  # noqa: PLR0913 - the fields of the body
    url: str,
    *,
    tags: Iterable[str] = (),
    title: str = "",
    format: Format | None = None,
    topic: str = "",
    metadata: Mapping[str, str] | None = None,
    key: str = "",
) -> Call[IngestResponseSchema]:
    """Have the server fetch a URL, or a path of its own that is open for ingestion, and get the job."""
    body = IngestBody(
        document_url=url,
        acl_tags=list(tags),
        title=title,
        format=format,
        topic=topic,
        metadata=dict(metadata or {}),
    )
    return Call(
        method="POST",
        path=f"{_PATH}/ingest",
        body=body,
        read=_read_job,
        key=key or str(uuid4()),
    )


def list_documents(query: DocumentQuery | None = None) -> Call[DocumentPage]:
    """List a page of the documents that you see, by URL."""
    return Call(method="GET", path=_PATH, query=query, read=_read_page)


def get_document(document: str) -> Call[DocumentSchema]:
    """Return a document, by its id or reference, without its text."""
    return Call(method="GET", path=f"{_PATH}/{segment(document)}", read=_read_document)


def get_text(document: str, *, chunk: UUID | None = None) -> Call[TextSchema]:
    """Return a document's text, and the passage of it that is asked for."""
    path = f"{_PATH}/{segment(document)}/text"
    return Call(method="GET", path=path, query=TextQuery(chunk_id=chunk), read=_read_text)


def list_passages(document: str, query: PassageQuery | None = None) -> Call[PassagePage]:
    """List a page of a document's passages, in order."""
    path = f"{_PATH}/{segment(document)}/passages"
    return Call(method="GET", path=path, query=query, read=_read_passages)


def replace_passages(document: str, passages: Sequence[GivenPassage]) -> Call[IngestResponseSchema]:
    """Replace the passages of a document with your own, and get the job."""
    path = f"{_PATH}/{segment(document)}/passages"
    body = PassagesBody(passages=list(passages))
    return Call(method="PUT", path=path, body=body, read=_read_job)


def change_tags(document: str, tags: Iterable[str]) -> Call[DocumentSchema]:
    """Give a document other access tags; every read follows at once."""
    path = f"{_PATH}/{segment(document)}/access"
    return Call(method="PUT", path=path, body=AccessBody(acl_tags=list(tags)), read=_read_document)


def delete_documents(documents: Sequence[str], *, hard: bool = False) -> Call[DeletionSchema]:
    """Delete documents together, all of them or none. It is sent once: repeated, it would find nothing to delete."""
    body = DeletionBody(document_ids=list(documents), hard=hard)
    path = f"{_PATH}/delete"
    return Call(method="POST", path=path, body=body, read=_read_deletion, is_repeatable=False)
