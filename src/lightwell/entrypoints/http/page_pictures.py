"""Pages of PDFs as pictures, with the quotation marked: no PDF runs in anybody's browser."""

from asyncio import Semaphore
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from pydantic import Field

from lightwell.domain.errors import Invalid
from lightwell.entrypoints.http.authentication import Reading
from lightwell.entrypoints.operations.documents import DocumentName
from lightwell.entrypoints.operations.replies import Schema
from lightwell.knowledge_base.page_pictures import (
    DEFAULT_WIDTH,
    MAX_QUOTE,
    MAX_WIDTH,
    MIN_WIDTH,
    Mark,
)

router = APIRouter(prefix="/v1/documents", tags=["documents"])

_TYPE = "image/png"
_PICTURE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The page as a picture",
        "content": {_TYPE: {"schema": {"type": "string", "format": "binary"}}},
    },
    304: {"description": "It is the picture that the client has"},
}
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    # A browser may keep it, and asks each time, so that access is checked each time.
    "Cache-Control": "private, no-cache",
}

AT_ONCE = 2
"""How many pictures a process draws at once: each holds a whole file. More requests wait."""


class PictureQuery(Schema):
    """What to mark on the page, and how wide the picture is."""

    start: Annotated[
        int | None, Field(ge=0, description="Where the quotation begins in the document's text.")
    ] = None
    end: Annotated[int | None, Field(ge=0, description="Where it ends.")] = None
    quote: Annotated[
        str, Field(max_length=MAX_QUOTE, description="The quotation's words, in place of its span.")
    ] = ""
    width: Annotated[int, Field(ge=MIN_WIDTH, le=MAX_WIDTH, description="Pixels.")] = DEFAULT_WIDTH

    @property
    def mark(self) -> Mark:
        """What to mark; raises `Invalid`."""
        if (self.start is None) != (self.end is None) or (self.quote and self.start is not None):
            raise Invalid("Give start and end together, or quote alone")
        span = None if self.start is None or self.end is None else (self.start, self.end)
        return Mark(span=span, quote=self.quote)


def open_slots() -> Semaphore:
    """Return what limits how many pictures a process draws at once."""
    return Semaphore(AT_ONCE)


def _slots(request: Request) -> Semaphore:
    return request.app.state.picture_slots


@router.get("/{document}/pages/{page}.png", response_class=Response, responses=_PICTURE)
async def draw_page(
    document: Annotated[DocumentName, Path()],
    page: Annotated[int, Path(ge=1, le=1_000_000, examples=[3], description="From 1.")],
    query: Annotated[PictureQuery, Query()],
    caller: Reading,
    slots: Annotated[Semaphore, Depends(_slots)],
    if_none_match: Annotated[str, Header(max_length=1000)] = "",
) -> Response:
    """Draw a page of a PDF, with the part of the quotation that stands on it marked.

    404 for a page that is not there, a document without an original that is a PDF, and one that you may not see. `pageCount` of a document counts its pages.
    """
    pictures = caller.knowledge_base.pictures
    view = await pictures.view(caller.reader, document, page, query.mark, query.width)
    headers = {**_HEADERS, "ETag": f'"{view.etag}"'}
    if view.etag in if_none_match:
        return Response(status_code=304, headers=headers)
    async with slots:
        picture = await pictures.draw(caller.reader, view)
    return Response(picture.png, media_type=_TYPE, headers=headers)
