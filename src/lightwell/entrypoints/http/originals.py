"""A document's original as a download, in constant memory. No browser shows it: it may be anything."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path
from fastapi.responses import StreamingResponse

from lightwell.domain.errors import NotFound
from lightwell.domain.originals import Original
from lightwell.entrypoints.http.authentication import Caller, Reading
from lightwell.entrypoints.operations.documents import DocumentName

router = APIRouter(prefix="/v1/documents", tags=["documents"])

_TYPE = "application/octet-stream"
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file, as an attachment",
        "content": {_TYPE: {"schema": {"type": "string", "format": "binary"}}},
    }
}
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-store",
}


@router.get(
    "/{document}/original",
    response_class=StreamingResponse,
    responses=_FILE,
)
async def download_original(
    document: Annotated[DocumentName, Path()], caller: Reading
) -> StreamingResponse:
    """Download a document as it was uploaded or fetched, or as its file in a folder is if nobody has changed it since.

    404 without one, as for a document that you may not see.
    """
    kb = caller.knowledge_base
    original = await kb.originals.get(caller.reader, document)
    parts = _parts(caller, original)
    try:
        # What cannot be sent is a response with a status, not a broken download.
        first = await anext(parts, b"")
    except NotFound:
        await parts.aclose()
        raise
    headers = {
        **_HEADERS,
        "Content-Disposition": disposition(original.name),
        "Content-Length": str(original.size),
    }
    return StreamingResponse(_joined(first, parts), media_type=_TYPE, headers=headers)


def disposition(name: str) -> str:
    """Return the header that has a browser save a file under this name (RFC 6266, RFC 8187)."""
    plain = "".join(
        sign if sign.isascii() and (sign.isalnum() or sign in " ._-()") else "_" for sign in name
    )
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


async def _parts(caller: Caller, original: Original) -> AsyncGenerator[bytes, None]:
    async with aclosing(caller.knowledge_base.originals.parts(caller.reader, original)) as parts:
        async for part in parts:
            yield part


async def _joined(first: bytes, parts: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(parts):
        yield first
        async for part in parts:
            yield part
