"""Methods for pictures of a document's pages, with a quotation marked."""

import hashlib
import json
from dataclasses import dataclass

from lightwell.domain.access import Reader
from lightwell.domain.documents import Page
from lightwell.domain.errors import NotFound, Unreadable
from lightwell.domain.ids import DocumentId
from lightwell.domain.originals import Original, Picture, PictureRequest
from lightwell.ingest.parser import Parser
from lightwell.knowledge_base.originals import Originals
from lightwell.records.documents import originals as records
from lightwell.text.letters import end_with_punctuation, letters_of

DEFAULT_WIDTH, MIN_WIDTH, MAX_WIDTH = 1200, 100, 2000
"""Pixels."""

MAX_QUOTE = 5_000
"""Characters of a quotation that is looked for."""

_DRAWING = 1
"""The version of how pages are drawn: what a client has of another one is drawn again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What to mark: a span of the document's text, or words that stand in it. Without either, nothing."""

    span: tuple[int, int] | None = None
    quote: str = ""


NO_MARK = Mark()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """A page that a reader may see, and what is marked on it."""

    original: Original
    request: PictureRequest

    @property
    def etag(self) -> str:
        """Equal for equal pictures, without drawing one."""
        wanted = self.request
        content = [_DRAWING, self.original.sha256.hex(), wanted.page, wanted.width]
        content += [wanted.quote, wanted.occurrence]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePictures:
    """Pictures of the pages of one project's documents, as far as a reader sees these documents."""

    originals: Originals
    parser: Parser

    async def view(
        self, reader: Reader, name: str, page: int, mark: Mark = NO_MARK, width: int = DEFAULT_WIDTH
    ) -> PageView:
        """Return which page to draw and what to mark there; raise `NotFound`, alike for a document and a page that are not there.

        Of what goes over several pages, each has its part. Only the document itself is searched for a quotation.
        """
        try:
            original = await self.originals.get(reader, name)
        except NotFound as error:
            raise NotFound(records.NO_PICTURE) from error
        if not 1 <= page <= original.pages:
            raise NotFound(records.NO_PICTURE)
        quote, occurrence = await self._part_on(reader, original.document, page, mark)
        request = PictureRequest(
            page=page,
            width=max(MIN_WIDTH, min(width, MAX_WIDTH)),
            quote=quote,
            occurrence=occurrence,
        )
        return PageView(original=original, request=request)

    async def draw(self, reader: Reader, view: PageView) -> Picture:
        """Return the picture; raise `NotFound` where the original is gone, or cannot be drawn within the limits of the parser."""
        parts = [part async for part in self.originals.parts(reader, view.original)]
        try:
            return await self.parser.draw(b"".join(parts), view.request)
        except Unreadable as error:
            raise NotFound(records.NO_PICTURE) from error

    async def _part_on(
        self, reader: Reader, document: DocumentId, number: int, mark: Mark
    ) -> tuple[str, int]:
        """Return the part of what is marked that stands on this page, and how often the page has it before; "" for none."""
        if mark == NO_MARK:
            return "", 0
        database = self.originals.database
        page = await records.find_page(database, reader, document, number)
        if page is None:
            return "", 0
        quote = mark.quote[:MAX_QUOTE]
        around = 2 * len(quote)
        start = max(0, page.start - around)
        text = await records.read_text(database, reader, document, start, page.end + around)
        on_page = Page(number=number, start=page.start - start, end=page.end - start)
        span = find_on_page(text, quote, on_page)
        if mark.span is not None:
            span = mark.span[0] - start, mark.span[1] - start
        return part_on_page(text, span, on_page)


def find_on_page(text: str, quote: str, page: Page) -> tuple[int, int] | None:
    """Return where a quotation that touches the page stands in the text, by its letters; the first such place."""
    places = letters_of(text).find_all(letters_of(quote).text)
    for start, end in places:
        if start < page.end and end > page.start:
            return start, end_with_punctuation(text, end, quote)
    return None


def part_on_page(text: str, span: tuple[int, int] | None, page: Page) -> tuple[str, int]:
    """Return what of the span stands on the page, and how often the same stands on the page before it."""
    if span is None:
        return "", 0
    start, end = max(span[0], page.start), min(span[1], page.end)
    if start >= end:
        return "", 0
    before = letters_of(text[page.start : page.end]).find_all(letters_of(text[start:end]).text)
    earlier = sum(place[0] < start - page.start for place in before)
    return text[start:end], earlier
