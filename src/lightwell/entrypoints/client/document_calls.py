"""Calls that carry documents: what JSON cannot hold, and what has an idempotency key."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from uuid import uuid4

from pydantic import JsonValue

from lightwell.domain.documents import Format
from lightwell.entrypoints.operations.calls import Call, Upload, reader_of, segment
from lightwell.entrypoints.operations.documents import IngestJob
from lightwell.entrypoints.operations.uploads import IngestBody, UploadJobs


def upload(  # noqa: PLR0913 - the fields of the form
    files: Sequence[str | Path],
    *,
    tags: Iterable[str] = (),
    title: str = "",
    format: Format | None = None,
    topic: str = "",
    metadata: Mapping[str, object] | None = None,
    external_id: str = "",
    key: str = "",
) -> Call[UploadJobs]:
    """Hand in files, all of them or none, and get a job for each. What one hands in again under one's own `external_id` is a new version.

    `key` is the idempotency key, a new one by default.
    """
    texts = {
        "title": title,
        "format": format.value if format else "",
        "topic": topic,
        "externalId": external_id,
        "metadata": json.dumps(dict(metadata)) if metadata else "",
    }
    fields: dict[str, str | list[str]] = {name: text for name, text in texts.items() if text}
    return Call(
        method="POST",
        path="/v1/documents",
        upload=Upload(files=tuple(map(Path, files)), fields={**fields, "aclTags": list(tags)}),
        read=reader_of(UploadJobs),
        key=key or str(uuid4()),
    )


def ingest(  # noqa: PLR0913 - the fields of the body
    url: str,
    *,
    tags: Iterable[str] = (),
    title: str = "",
    format: Format | None = None,
    topic: str = "",
    metadata: Mapping[str, JsonValue] | None = None,
    key: str = "",
) -> Call[IngestJob]:
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
        path="/v1/documents/ingest",
        body=body,
        read=reader_of(IngestJob),
        key=key or str(uuid4()),
    )


def get_original(document: str) -> Call[bytes]:
    """Get a document as it was uploaded or fetched."""
    path = f"/v1/documents/{segment(document)}/original"
    return Call(method="GET", path=path, read=lambda reply: reply.content)
