"""Where a quotation stands: its page as a picture with the quotation marked, else its words with what is around them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from uuid import UUID

from lightwell.answer.quotes import render_text
from lightwell.domain.answers import Citation
from lightwell.domain.document_views import DocumentView, Placement, ReadingPlace, ViewBlock
from lightwell.domain.documents import Locator, document_address
from lightwell.domain.errors import NotFound, ParserFailed
from lightwell.domain.ids import ChunkId
from lightwell.entrypoints.channels.actions import ShowPlace, ShowSource
from lightwell.entrypoints.channels.asker import Asker
from lightwell.entrypoints.channels.messages import (
    Block,
    Button,
    Kind,
    Message,
    Rows,
    Span,
    Style,
    heading,
    in_rows,
)
from lightwell.entrypoints.channels.rendering import checked_address
from lightwell.entrypoints.sources import key_sentence, pages_of, sections_of, source_name
from lightwell.knowledge_base.page_pictures import Mark
from lightwell.text.pieces import shorten
from lightwell.text.reading import ReadBlock

_LONGEST = 1_500
_BESIDE_PICTURE = 300
"""Characters of the quotation below its picture, which shows it already. All fits into one message, whatever its letters count there."""
_AROUND = 150
"""Characters that are shown before a quotation, and behind it."""
_LONGEST_TITLE = 100
_MOST_BUTTONS = 10

_GONE = "This is not there any more"


async def show_source(asker: Asker, action: ShowSource) -> Message:
    """Show a source of an answer; raise `NotFound` where its document is out of sight, or does not say this any more."""
    answer = (await asker.read_turn(action.conversation, action.place)).answer
    for citation in answer.citations if answer else ():
        if citation.id == action.source:
            return await _show_citation(asker, citation)
    raise NotFound(_GONE)


async def show_place(asker: Asker, action: ShowPlace) -> Message:
    """Show a place of a document; raise `NotFound` where it is out of sight, or the document was changed."""
    documents, name = asker.knowledge_base.documents, str(action.document)
    await documents.read(asker.reader, name, chunk=ChunkId(action.chunk))
    return await _show(asker, name, ReadingPlace(start=action.start, end=action.end))


def place_buttons(citations: Sequence[Citation]) -> Rows:
    """Return a button for each number of a citation, ten at most, which shows the first place that it quotes."""
    first = {citation.id: citation for citation in reversed(citations)}
    return in_rows(
        [
            Button(label=mark.strip("[]"), action=_place_of(first[mark]))
            for mark in list(dict.fromkeys(citation.id for citation in citations))[:_MOST_BUTTONS]
        ]
    )


def _place_of(citation: Citation) -> ShowPlace:
    start, end = _span(citation)
    return ShowPlace(
        document=UUID(citation.document_id), chunk=UUID(citation.chunk_id), start=start, end=end
    )


def _span(citation: Citation) -> tuple[int, int]:
    start, end = citation.highlight if any(citation.highlight) else (0, len(citation.snippet))
    return citation.locator.start + start, citation.locator.start + end


async def _show_citation(asker: Asker, citation: Citation) -> Message:
    start, end = _span(citation)
    if not citation.is_supplied:
        return await _show(asker, citation.document_id, ReadingPlace(start=start, end=end))
    quote = shorten(key_sentence(citation), _LONGEST)
    return Message(
        blocks=(
            heading(shorten(source_name(citation), _LONGEST_TITLE)),
            Block((Span(quote),), Kind.QUOTE),
        )
    )


async def _show(asker: Asker, name: str, place: ReadingPlace) -> Message:
    view = await asker.knowledge_base.documents.view(asker.reader, name, place)
    if view.placement is not Placement.HERE:
        raise NotFound(_GONE)
    picture = await _draw(asker, view)
    quote = Span(shorten(render_text(view.quote), _BESIDE_PICTURE))
    body = (Block((quote,), Kind.QUOTE),) if picture else tuple(_around(view))
    return Message(blocks=(_title(view), *body), buttons=_links(asker, view), picture=picture)


def _title(view: DocumentView) -> Block:
    """Return the document's title and, behind it, where in it the quotation stands."""
    locator, title = view.locator, " ".join(view.document.title.split())
    if locator is None:
        return heading(shorten(title, _LONGEST_TITLE))
    parts = (pages_of(locator), " › ".join(sections_of(locator, view.document.title)))
    place = " ".join(", ".join(filter(None, parts)).split())
    spans = (Span(shorten(title, _LONGEST_TITLE), Style.BOLD),)
    return Block((*spans, Span(f"\n{shorten(place, _LONGEST_TITLE)}")) if place else spans)


def _around(view: DocumentView) -> Iterator[Block]:
    """Yield the quotation in bold within what stands around it, as people read it."""
    if view.locator is None:
        return
    spans: list[Span] = []
    for block in _near(view.blocks, view.locator):
        cuts = [max(0, place - block.start) for place in (view.locator.start, view.locator.end)]
        parts = tuple(_parts(block.text, *cuts))
        spans += (Span("\n"), *parts) if spans and parts else parts
    yield Block(tuple(_within(spans, _LONGEST)), Kind.QUOTE)


def _near(blocks: Sequence[ViewBlock], quoted: Locator) -> Iterator[ReadBlock]:
    """Yield the blocks that have the quotation, with the one before it and the one behind it."""
    above = [entry.block for entry in blocks if entry.block.end <= quoted.start]
    rest = [entry.block for entry in blocks if entry.block.end > quoted.start]
    yield from above[-1:]
    for block in rest:
        yield block
        if block.start >= quoted.end:
            return


def _within(spans: Iterable[Span], most: int) -> Iterator[Span]:
    """Yield the spans as far as they have no more characters together, the last one cut at a word."""
    for span in spans:
        if len(span.text) > most:
            yield replace(span, text=f"{shorten(span.text, most)} …")
            return
        most -= len(span.text)
        yield span


def _parts(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield what a block says before, in and behind the quotation, what is far from it left out."""
    before, quote, behind = (_spaced(part) for part in (text[:start], text[start:end], text[end:]))
    if before.strip():
        yield Span(before if len(before) <= _AROUND else f"…{before[-_AROUND:].lstrip()}")
    if quote.strip():
        yield Span(quote, Style.BOLD)
    if behind.strip():
        yield Span(behind if len(behind) <= _AROUND else f"{shorten(behind, _AROUND)} …")


def _spaced(part: str) -> str:
    """Return a part of a block as people read it, with a space where it has one at an end."""
    shown = render_text(part).strip()
    before, behind = part[:1].isspace(), part[-1:].isspace()
    return f"{' ' * before}{shown}{' ' * behind}"


async def _draw(asker: Asker, view: DocumentView) -> bytes:
    """Return the page of the quotation with the quotation marked; b"" where there is no picture of it."""
    locator = view.locator
    if locator is None or locator.page is None or not view.document.page_count:
        return b""
    pictures, mark = asker.knowledge_base.pictures, Mark(span=(locator.start, locator.end))
    try:
        page = await pictures.view(asker.reader, str(view.document.id), locator.page, mark)
        return (await pictures.draw(asker.reader, page)).png
    except (NotFound, ParserFailed):  # its words are shown
        return b""


def _links(asker: Asker, view: DocumentView) -> Rows:
    """Return a button that opens the place on the server, else the document at its source, where a browser finds either."""
    document, locator = view.document, view.locator
    place = (locator.start, locator.end) if locator else (0, 0)
    address = document_address(document.id, *place)
    url = checked_address(asker.server + address if asker.server else document.source_address)
    return ((Button(label="Open the document", url=url),),) if url else ()
