"""Quotes: which words of a document are cited, the coherent piece around them, and how they read in an answer."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from lightwell.domain.answers import Citation
from lightwell.domain.documents import Chunk, Locator
from lightwell.domain.evidence import Evidence, Retrieval
from lightwell.text.analysis.chunk import NO_UNIT, Span, UnitAnalysis
from lightwell.text.blocks import CELL, Block, BlockKind, blocks
from lightwell.text.markup import strip_bullet, strip_markup
from lightwell.text.pieces import (
    LONGEST_PIECE,
    LONGEST_SNIPPET,
    Bounds,
    Size,
    piece_around,
    shorten,
)
from lightwell.text.regex import regex
from lightwell.text.terms import terms

_T = TypeVar("_T")

_RUN = regex(r"\S+")

_BAR = regex(r"(?<!\\)\|")
_NUMBER = regex(r"[ \t]*+(?:\d{1,3}|[a-z])[.)](?=[ \t])")
_FENCE = regex(r"^[ \t]*+(?:```|~~~)[^\n]*+\n?", re.MULTILINE)

ANSWER_PIECE = Size(extended=650, unbroken=1000)
NEAREST_PIECE = Size(extended=500, unbroken=600)
"""Characters as they are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A part of a passage, word for word: `text == chunk.text[start:end]`; `terms` are those of the units in it, or that it is a part of.

    `key` is the part of `text` that bears on the question most, where that is not all of it, else (0, 0). `number` says which of the
    passage's units it is, or is a part of, or begins with; -1 where that does not matter.
    """

    evidence: Evidence
    start: int
    end: int
    text: str
    terms: frozenset[str]
    key: tuple[int, int] = (0, 0)
    number: int = -1

    @property
    def unit(self) -> UnitAnalysis:
        """What was read in its unit."""
        return self.evidence.analysis.units[self.number] if self.number >= 0 else NO_UNIT

    @property
    def context(self) -> str:
        """What one must know to read it: the headings, a table's head, the line that a list belongs to."""
        return self.evidence.analysis.context(self.number) if self.number >= 0 else ""

    @property
    def above(self) -> tuple[UnitAnalysis, ...]:
        """The units that its context consists of."""
        return self.evidence.analysis.units_above(self.number) if self.number >= 0 else ()

    @property
    def terms_above(self) -> frozenset[str]:
        """The terms of the units that it stands under."""
        return self.evidence.analysis.terms_above[self.number] if self.number >= 0 else frozenset()

    @property
    def folded(self) -> str:
        """The words of its unit, folded."""
        return " ".join(self.unit.words)

    @property
    def place(self) -> tuple[str, int]:
        """Where its first character stands: the document, and the character there."""
        chunk = self.evidence.chunk
        return str(chunk.document_id), chunk.locator.start + self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportedSentence:
    """A sentence, or a quotation of several, and the quotes that support it, at least one: its citations are not numbered yet.

    `context` is the piece that `text` is a part of, "" where it is no part of one; `text` is its `highlight`, (0, 0) where it reads otherwise there.
    """

    text: str
    quotes: tuple[Quote, ...]
    context: str = ""
    highlight: tuple[int, int] = (0, 0)


def split_into_quotes(evidence: Evidence) -> list[Quote]:
    """Return every sentence, list item and table row of the evidence, in order."""
    analysis = evidence.analysis
    return [
        Quote(
            evidence=evidence,
            start=unit.start,
            end=unit.end,
            text=text,
            terms=unit.terms,
            number=number,
        )
        for number, (text, unit) in enumerate(zip(analysis.parts, analysis.units, strict=True))
    ]


def quotes_without_orders(evidence: Evidence) -> list[Quote]:
    """Return the same without what orders a machine about."""
    analysis = evidence.analysis
    return [
        quote
        for quote in split_into_quotes(evidence)
        if not analysis.is_inside_injection(quote.start)
    ]


def make_quote(evidence: Evidence, start: int, end: int, *, number: int = -1) -> Quote:
    """Return a part of the evidence's text as a quote."""
    return Quote(
        evidence=evidence,
        start=start,
        end=end,
        text=evidence.chunk.text[start:end],
        terms=evidence.analysis.terms_within(start, end),
        number=number,
    )


def narrow(quote: Quote, wanted: frozenset[str]) -> Quote:
    """Return the quote, or where it is long the snippet of it that holds most of the wanted terms, cut at words."""
    if len(quote.text) <= LONGEST_SNIPPET:
        return quote
    spans = [match.span() for match in _RUN.finditer(quote.text)]
    held_terms = [wanted.intersection(terms(quote.text[start:end])) for start, end in spans]
    best, most, last = (0, 0), -1, 0
    for first, (start, _) in enumerate(spans):
        while last < len(spans) and spans[last][1] - start <= LONGEST_SNIPPET:
            last += 1
        count = len(frozenset[str]().union(*held_terms[first:last]))
        if count > most:
            best, most = (start, spans[max(first, last - 1)][1]), count
    start, end = best[0], min(best[1], best[0] + LONGEST_SNIPPET)
    return make_quote(quote.evidence, quote.start + start, quote.start + end, number=quote.number)


def weighted_coverage(words: frozenset[str], weights: Mapping[str, float]) -> float:
    """Return which share of the weights, 0 to 1, these words carry."""
    whole = sum(weights.values())
    return (
        sum(weight for word, weight in weights.items() if word in words) / whole if whole else 0.0
    )


def make_citation(number: int, quote: Quote) -> Citation:
    """Return the citation `[number]` of a quote, with the published chunk and the place where its words stand."""
    member = quote.evidence.member_at(quote.start)
    return Citation(
        id=f"[{number}]",
        source_url=member.url,
        source_system=member.system,
        source_type=member.kind,
        document_ref=member.document_ref,
        document_id=str(member.document_id),
        source_address=member.source_address,
        chunk_ref=member.ref,
        chunk_id=str(member.id),
        document_title=member.title,
        created_at=member.created_at,
        dated_at=member.dated_at,
        snippet=shorten(quote.text, LONGEST_PIECE),
        highlight=quote.key,
        score=quote.evidence.relevance,
        locator=_locator(quote),
        is_supplied=member.is_supplied,
    )


def make_nearest_citation(number: int, evidence: Evidence) -> Citation:
    """Return the citation `[number]` of a passage that does not answer: its best unit, or its beginning."""
    best = evidence.highlights[0] if evidence.highlights else None
    start, end = (best.start, best.end) if best else (0, len(evidence.chunk.text))
    return make_citation(number, make_quote(evidence, start, end))


def _locator(quote: Quote) -> Locator:
    chunk = quote.evidence.chunk
    start = chunk.locator.start + quote.start
    return chunk.layout.locate(start, start + len(quote.text))


# ── the piece around a unit ────────────────────────────────────────────────────────────────────────


def quote_piece(key: Quote, retrieval: Retrieval) -> SupportedSentence:
    """Return the coherent piece around a unit, as it reads, with the unit as the key of its quotes."""
    return as_it_reads(piece_spans(key, retrieval), key)


def piece_spans(key: Quote, retrieval: Retrieval) -> tuple[Quote, ...]:
    """Return the coherent piece around a unit, as it is written: one quote, or several of one passage."""
    return _piece(key, retrieval, ANSWER_PIECE)


def add_or_join(kept: list[_T], new: _T, join: Callable[[_T, _T], _T | None]) -> None:
    """Replace the first kept one that `join` joins with the new one by both together, or append the new one."""
    for place, other in enumerate(kept):
        if joined := join(other, new):
            kept[place] = joined
            return
    kept.append(new)


def join_pieces(
    piece: SupportedSentence, other: SupportedSentence, key: Quote
) -> SupportedSentence | None:
    """Return one piece in place of two that overlap in a passage, with the key of the first; None where they do not."""
    quotes = sorted((*piece.quotes, *other.quotes), key=lambda quote: quote.start)
    joined: list[Quote] = []
    for quote in quotes:
        add_or_join(joined, quote, join_quotes)
    return as_it_reads(tuple(joined), key) if len(joined) < len(quotes) else None


def join_quotes(quote: Quote, other: Quote) -> Quote | None:
    """Return one quote in place of two that overlap in a passage, with the key of the first; None where they do not."""
    is_apart = quote.end <= other.start or other.end <= quote.start
    if quote.evidence.chunk.id != other.evidence.chunk.id or is_apart:
        return None
    start, end = min(quote.start, other.start), max(quote.end, other.end)
    key = quote.key if any(quote.key) else (0, len(quote.text))
    moved = quote.start - start
    joined = make_quote(quote.evidence, start, end, number=quote.number)
    return replace(joined, key=(key[0] + moved, key[1] + moved))


def as_it_reads(spans: tuple[Quote, ...], key: Quote) -> SupportedSentence:
    """Return the quotes of a piece, as they read, with a unit as their key."""
    quotes = tuple(_with_key(span, key) for span in spans)
    return SupportedSentence(text="\n".join(map(render_quote, quotes)), quotes=quotes)


def piece_quote(key: Quote, retrieval: Retrieval, size: Size) -> Quote:
    """Return the piece around a unit as one quote; of a piece with several spans, the span with the unit."""
    around = _piece(key, retrieval, size)
    span = next((span for span in around if span.start <= key.start < span.end), key)
    return _with_key(span, key)


def holds(quotes: Iterable[Quote], key: Quote) -> bool:
    """Return whether one of these quotes contains a unit, at the same place."""
    document, place = key.place
    return any(
        quote.place[0] == document and quote.place[1] <= place < quote.place[1] + len(quote.text)
        for quote in quotes
    )


def _piece(key: Quote, retrieval: Retrieval, size: Size) -> tuple[Quote, ...]:
    entry = key.evidence
    spans = piece_around(entry.analysis, key.start, _bounds(key, retrieval), size)
    return tuple(make_quote(entry, start, end) for start, end in spans) or (key,)


def _with_key(quote: Quote, key: Quote) -> Quote:
    """Return the quote with the key unit marked, where it is a part of it."""
    start, end = key.start - quote.start, min(key.end, quote.end) - quote.start
    is_part = 0 <= start < end and end - start < len(quote.text)
    return replace(quote, key=(start, end)) if is_part else quote


def _bounds(key: Quote, retrieval: Retrieval) -> Bounds:
    """Return the section of a unit; injected instructions are excluded unless the question asks what a message says."""
    analysis = key.evidence.analysis
    may_instruct = retrieval.analysis.asks_for_message_content
    start, end = _section(key.evidence.chunk, key.start)
    return Bounds(
        start=start,
        end=end,
        is_excluded=lambda begun, ended: not may_instruct and analysis.has_injection(begun, ended),
        row_score=lambda row_terms: weighted_coverage(row_terms, retrieval.weights),
    )


def _section(chunk: Chunk, place: int) -> Span:
    start = chunk.locator.start + place
    for section in chunk.layout.sections:
        if section.start <= start < section.end:
            return max(0, section.start - chunk.locator.start), section.end - chunk.locator.start
    return 0, len(chunk.text)


# ── how a quote reads ──────────────────────────────────────────────────────────────────────────────


def render_quote(quote: Quote) -> str:
    """Return the quote as people read it, without marks of markdown and HTML; a row with the names of its columns.

    A quote within one block is one line, without bullet. Of several blocks, each begins a line; items keep their bullets. What is
    no text to read, such as the target of a link, reads as "".
    """
    evidence = quote.evidence
    return _render(_Page(evidence.chunk.text, evidence.analysis.blocks), quote.start, quote.end)


def render_text(text: str, span: tuple[int, int] | None = None) -> str:
    """Return a snippet, or a span of it, as people read it, as `render_quote` does without knowing what stands around the snippet."""
    start, end = span or (0, len(text))
    return _render(_Page(text, blocks(text)), start, end)


@dataclass(frozen=True, slots=True)
class _Page:
    text: str
    blocks: tuple[Block, ...]


def _render(page: _Page, start: int, end: int) -> str:
    chunk = page.text
    parts = [block for block in page.blocks if block.end > start and block.start < end]
    parts = [part for part in parts if part.kind is not BlockKind.CLUTTER]
    if len(parts) == 1 and parts[0].kind not in (BlockKind.CODE, BlockKind.FIELDS):
        text = chunk[max(parts[0].start, start) : min(parts[0].end, end)]
        is_row = parts[0].kind is BlockKind.ROW
        return _row(page, text, parts[0]) if is_row else render_sentence(text)
    lines = [
        _line(page, part, chunk[max(part.start, start) : min(part.end, end)])
        for part in parts
        if not (part.is_head and _rows_of(parts, part) > 1)
    ]
    return "\n".join(line for line in lines if line.strip())


def render_sentence(text: str) -> str:
    """Return a part of one block on one line, without bullet and markup."""
    return strip_markup(strip_bullet(text.lstrip()))


def is_table_head(quote: Quote) -> bool:
    """Return whether the quote is a table's first row, which names its columns."""
    heads = quote.evidence.analysis.table_heads
    return any(head.start <= quote.start < head.end for head in heads)


def _rows_of(parts: list[Block], row: Block) -> int:
    return sum(part.table == row.table for part in parts)


def _line(page: _Page, block: Block, text: str) -> str:
    match block.kind:
        case BlockKind.ROW:
            return _row(page, text, block)
        case BlockKind.CODE:
            code = _FENCE.sub("", text)
            if (
                code == text
            ):  # the first line is without the white space before it, so the others are, too
                code = code.replace("\n" + " " * block.indent, "\n")
            return code.strip("\n").rstrip()
        case BlockKind.FIELDS:
            return "\n".join(strip_markup(line) for line in text.split("\n"))
        case BlockKind.ITEM:
            number = _NUMBER.match(text)
            mark = number[0].strip() if number else "-"
            bulleted = f"- {text[number.end() :].lstrip()}" if number else text
            return f"{'  ' * (block.indent > 1)}{mark} {render_sentence(bulleted)}"
        case _:
            return strip_markup(text)


def _row(page: _Page, row: str, block: Block) -> str:
    """Return `Band: Engineer; From: 62` for a row; without the names where the head is not as wide as the row."""
    cells = _cells(row)
    first = next(other for other in page.blocks if other.table == block.table)
    head = _cells(page.text[first.start : first.end]) if first.is_head else []
    if len(head) != len(cells) or first.start == block.start:
        head = [""] * len(cells)
    pairs = zip(head, cells, strict=True)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)


def _cells(row: str) -> list[str]:
    if CELL.search(row):
        return [strip_markup(cell) for cell in CELL.split(row)[1:]]
    bare = row.strip().removeprefix("|").removesuffix("|")
    return [strip_markup(cell) for cell in _BAR.split(bare)]
