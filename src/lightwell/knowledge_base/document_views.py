"""A document as something to read: the blocks around a place, with the pages on which they stand."""

import asyncio
from collections.abc import Mapping, Sequence

from lightwell.domain.access import Reader
from lightwell.domain.document_views import (
    DocumentView,
    ReadingPlace,
    ViewBlock,
    breadcrumb,
)
from lightwell.domain.documents import Document, Format, Layout
from lightwell.domain.errors import Invalid
from lightwell.domain.formats import MARKDOWN_TEXTS
from lightwell.records.database import Database
from lightwell.records.documents import documents, published_chunks
from lightwell.text.reading import REACH, Plain, ReadBlock, Window, read_around

_LONGEST_GAP = 200
"""Characters of white space before a heading, at most."""


async def view_document(
    database: Database, reader: Reader, name: str, place: ReadingPlace
) -> DocumentView:
    """Return a part of the reader's document; raise `NotFound`, and `Invalid` for a span that ends before it starts."""
    if place.end is not None and place.end < (place.start or 0):
        raise Invalid("A place ends behind its start")
    document = await documents.get(database, reader, name)
    text = await documents.get_text(database, reader, document.id)
    here, placement = place.found_in(text)
    start, end = here.start or 0, here.end or 0
    near = (max(0, here.anchor - 3 * REACH), max(here.anchor, end) + 3 * REACH)
    layouts = await published_chunks.list_layouts(database, reader, document.id, *near)
    # Reading a window of ten million characters takes a tenth of a second.
    window = await asyncio.to_thread(_read, document, text, layouts, here)
    pages = [(page.start, page.number) for layout in layouts for page in layout.pages]
    touched = Layout(
        sections=tuple(section for layout in layouts for section in layout.sections),
        pages=tuple(dict.fromkeys(page for layout in layouts for page in layout.pages)),
    )
    return DocumentView(
        document=document,
        breadcrumb=breadcrumb(document),
        blocks=_with_pages(window.blocks, pages),
        heads=_with_pages(window.heads, pages),
        before=window.before,
        after=window.after,
        locator=touched.locate(start, end) if here.start is not None else None,
        quote=text[start:end],
        placement=placement,
    )


def _read(document: Document, text: str, layouts: Sequence[Layout], place: ReadingPlace) -> Window:
    above, below = place.counts
    plain = None if document.format in MARKDOWN_TEXTS else _plain(document, text, layouts)
    return read_around(text, place.anchor, plain=plain, before=above, after=below)


def _plain(document: Document, text: str, layouts: Sequence[Layout]) -> Plain:
    return Plain(
        headings=_headings(text, layouts),
        are_lines_apart=document.format == Format.PDF,
        is_wrapped=document.format == Format.TEXT,
    )


def _headings(text: str, layouts: Sequence[Layout]) -> Mapping[int, tuple[int, str]]:
    """Return where headings stand in the text: a section begins with its own, unless that is only in an outline."""
    headings: dict[int, tuple[int, str]] = {}
    for section in dict.fromkeys(section for layout in layouts for section in layout.sections):
        if not section.path:
            continue
        title = section.path[-1]
        near = text[section.start : section.start + len(title) + _LONGEST_GAP]
        start = section.start + len(near) - len(near.lstrip())
        line = " ".join(near.lstrip().partition("\n")[0].split())
        if line.casefold().startswith(title.casefold()):
            headings[start] = (len(section.path), title)
    return headings


def _with_pages(
    blocks: Sequence[ReadBlock], pages: Sequence[tuple[int, int]]
) -> tuple[ViewBlock, ...]:
    """Return the blocks, each with the page on which it begins."""
    ordered = sorted(dict(pages).items())
    shown: list[ViewBlock] = []
    place = 0
    for block in blocks:
        while place < len(ordered) and ordered[place][0] <= block.start:
            place += 1
        shown.append(ViewBlock(block=block, page=ordered[place - 1][1] if place else None))
    return tuple(shown)
