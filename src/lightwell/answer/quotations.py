"""What is quoted around the units that bear on the question: coherent pieces of the documents, not loose sentences."""

from dataclasses import replace

from lightwell.answer.generation import VerifiedSentence
from lightwell.answer.quotes import Quote, make_quote, weighted_coverage
from lightwell.answer.rendering import render_quote
from lightwell.domain.documents import Chunk
from lightwell.domain.evidence import Retrieval
from lightwell.text.injection import has_injection
from lightwell.text.pieces import Bounds, Size, Span, piece_around
from lightwell.text.terms import terms

ANSWER_PIECE = Size(extended=650, unbroken=1000)
NEAREST_PIECE = Size(extended=500, unbroken=600)
"""Characters as they are read."""


def quote_piece(key: Quote, retrieval: Retrieval) -> VerifiedSentence:
    """Return the coherent piece around a unit, as it reads, with the unit as its highlight."""
    quotes = tuple(_with_key(each, key) for each in _piece(key, retrieval, ANSWER_PIECE))
    text = "\n".join(map(render_quote, quotes))
    told = render_quote(key)
    at = text.find(told)
    highlight = (at, at + len(told)) if at >= 0 and len(told) < len(text) else (0, 0)
    return VerifiedSentence(text=text, quotes=quotes, highlight=highlight)


def piece_quote(key: Quote, retrieval: Retrieval, size: Size) -> Quote:
    """Return the piece around a unit as one quote: of a piece that stands in several places, the place with the unit."""
    around = _piece(key, retrieval, size)
    own = next((each for each in around if each.start <= key.start < each.end), key)
    return _with_key(own, key)


def holds(piece: VerifiedSentence, key: Quote) -> bool:
    """Return whether a piece has the words of a unit, from the same place."""
    document, place = key.place
    return any(
        each.place[0] == document and each.place[1] <= place < each.place[1] + len(each.text)
        for each in piece.quotes
    )


def _piece(key: Quote, retrieval: Retrieval, size: Size) -> tuple[Quote, ...]:
    entry = key.evidence
    spans = piece_around(entry.chunk.text, key.start, _bounds(key, retrieval), size)
    return tuple(make_quote(entry, start, end) for start, end in spans) or (key,)


def _with_key(quote: Quote, key: Quote) -> Quote:
    """Return the quote with the key unit marked, where it is a part of it."""
    start, end = key.start - quote.start, min(key.end, quote.end) - quote.start
    is_part = 0 <= start < end and end - start < len(quote.text)
    return replace(quote, key=(start, end)) if is_part else quote


def _bounds(key: Quote, retrieval: Retrieval) -> Bounds:
    """Return the section that holds a unit; an order to a machine is left out unless it is asked for."""
    text = key.evidence.chunk.text
    may_order = retrieval.analysis.asks_for_message_content
    start, end = _section(key.evidence.chunk, key.start)
    return Bounds(
        start=start,
        end=end,
        is_barred=lambda begun, ended: not may_order and has_injection(text, begun, ended),
        wanted=lambda row: weighted_coverage(frozenset(terms(row)), retrieval.weights),
    )


def _section(chunk: Chunk, place: int) -> Span:
    at = chunk.locator.start + place
    for each in chunk.layout.sections:
        if each.start <= at < each.end:
            return max(0, each.start - chunk.locator.start), each.end - chunk.locator.start
    return 0, len(chunk.text)
