"""Splits a document into chunks: along headings first, then along sentences. No word is lost."""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Generic, TypeVar

from semantic_text_splitter import TextSplitter

from lightwell.domain.documents import (
    MAX_CHUNK_TOKENS,
    MIN_CHUNK_TOKENS,
    TARGET_CHUNK_TOKENS,
    ChunkDraft,
    Page,
    ParsedDocument,
    Section,
    Span,
    SpanKind,
    heading_path,
)
from lightwell.domain.errors import Invalid
from lightwell.domain.reranking import HeadedPassage
from lightwell.text.language import detect_language
from lightwell.text.tokens import token_count

_TARGET_MIN, _TARGET_MAX = TARGET_CHUNK_TOKENS
_MAX_UNSPLIT_TOKENS = MAX_CHUNK_TOKENS - 2 * MIN_CHUNK_TOKENS - 50
"""Tokens; a table or code block up to this size is never split. The rest leaves room for a short piece on either side."""

_WINDOW_CHARACTERS = 8_000
"""Characters given to the splitter at once, because its time grows with the square of unbroken text."""

_CHARACTERS_PER_TOKEN = 8
"""Every 8 characters count as at least one token, so 1024 tokens hold at most 8,192 characters. Prose has four to five."""

_HEADING_SIGNS = "# \t\n*_="


@dataclass(frozen=True, slots=True)
class _Piece:
    """`text[start:end]`, without white space at its ends."""

    start: int
    end: int


_Part = TypeVar("_Part", Section, Page, Span)


@dataclass(frozen=True, slots=True)
class _Intervals(Generic[_Part]):
    """Parts sorted by their start. `reached[i]` is the furthest end among parts 0 to i, because spans may overlap."""

    parts: Sequence[_Part]
    reached: Sequence[int]

    def touching(self, piece: _Piece) -> list[_Part]:
        first = bisect_right(self.reached, piece.start)
        last = bisect_left(self.parts, piece.end, key=lambda part: part.start)
        return [part for part in self.parts[first:last] if part.end > piece.start]


def _intervals(parts: Sequence[_Part]) -> _Intervals[_Part]:
    return _Intervals(parts, list(accumulate((part.end for part in parts), max)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    text: str
    sections: _Intervals[Section]
    pages: _Intervals[Page]
    spans: _Intervals[Span]
    language: str

    @staticmethod
    def of(document: ParsedDocument) -> "_Layout":
        spans = _intervals(document.spans)
        opening = _Piece(0, _WINDOW_CHARACTERS)
        return _Layout(
            text=document.text,
            sections=_intervals(document.sections),
            pages=_intervals(document.pages),
            spans=spans,
            language=detect_language(_prose(document.text, spans.touching(opening), opening)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunking:
    """The first chunks of a document, and how many more were `omitted`."""

    drafts: tuple[ChunkDraft, ...]
    omitted: int


def split_into_chunks(document: ParsedDocument) -> tuple[ChunkDraft, ...]:
    """Return all chunks in order; between two chunks there is only white space. An empty text has no chunks.

    A document of up to 1024 tokens is one chunk. Otherwise each chunk has 100 to 2000 tokens, and 512 to 1024
    where the text allows it. No chunk has more than 16,000 characters.
    """
    return split_into_first_chunks(document, len(document.text)).drafts


def split_into_first_chunks(document: ParsedDocument, max_chunks: int) -> Chunking:
    """Return at most so many of the chunks that `split_into_chunks` returns."""
    text = document.text
    whole = _trim(text, 0, len(text))
    if whole is None:
        return Chunking(drafts=(), omitted=0)
    layout = _Layout.of(document)
    parts = [whole]
    if _piece_tokens(text, whole) > _TARGET_MAX:
        heads = frozenset(section.start for section in document.sections)
        parts = _join_short(text, _pack(text, _split_by_section(document)), heads)
    return Chunking(
        drafts=tuple(
            _make_draft(layout, index, part) for index, part in enumerate(parts[:max_chunks])
        ),
        omitted=max(0, len(parts) - max_chunks),
    )


def validate_chunk(draft: ChunkDraft) -> ChunkDraft:
    """Return a chunk that the caller supplied, unchanged; raise `Invalid` if it is empty, too short or too long."""
    if not draft.text.strip():
        raise Invalid("Chunk content cannot be empty")
    if not MIN_CHUNK_TOKENS <= draft.tokens <= MAX_CHUNK_TOKENS:
        raise Invalid(f"Chunk must be {MIN_CHUNK_TOKENS}-{MAX_CHUNK_TOKENS} tokens")
    return draft


def text_to_embed(title: str, draft: ChunkDraft) -> str:
    """Return the text to embed: title, headings and chunk text, one per line, without repetition."""
    path = draft.section_path[1:] if draft.section_path[:1] == (title,) else draft.section_path
    opening = draft.text.lstrip(_HEADING_SIGNS)
    lines = [line for line in (title, " > ".join(path)) if line and not opening.startswith(line)]
    return "\n".join([*lines, draft.text])


def headed_passage(title: str, draft: ChunkDraft) -> HeadedPassage:
    """Return the text to encode for late interaction, with its title and headings as its head."""
    return HeadedPassage(head=heading_path(title, draft.section_path), text=draft.text)


def chunk_hash(title: str, draft: ChunkDraft) -> str:
    """Return the SHA-256, in hex, of the text to embed."""
    return hashlib.sha256(text_to_embed(title, draft).encode()).hexdigest()


def _piece_tokens(text: str, piece: _Piece) -> int:
    return _weighted_tokens(text[piece.start : piece.end])


def _weighted_tokens(text: str) -> int:
    """Return the token count, but at least one token per 8 characters: a tokenizer makes one token of a hundred dots."""
    return max(token_count(text), len(text) // _CHARACTERS_PER_TOKEN)


def _trim(text: str, start: int, end: int) -> _Piece | None:
    inside = text[start:end]
    bare = inside.strip()
    if not bare:
        return None
    first = start + len(inside) - len(inside.lstrip())
    return _Piece(first, first + len(bare))


def _split_by_section(document: ParsedDocument) -> Iterator[_Piece]:
    """Yield each section as one piece, or in several pieces if it is too long."""
    text = document.text
    outermost: list[Span] = []  # of nested code blocks and tables, only these stay whole
    for span in document.spans:
        if span.kind is not SpanKind.FORMULA and (not outermost or span.start >= outermost[-1].end):
            outermost.append(span)
    solid = _intervals(outermost)
    for section in document.sections:
        piece = _trim(text, section.start, section.end)
        if piece is None:
            continue
        if _piece_tokens(text, piece) <= _TARGET_MAX:
            yield piece
        else:
            yield from _split_around_blocks(text, piece, solid.touching(piece))


def _split_around_blocks(text: str, piece: _Piece, solid: Sequence[Span]) -> Iterator[_Piece]:
    start_of_rest = piece.start
    for span in solid:
        start, end = max(span.start, start_of_rest), min(span.end, piece.end)
        whole = _trim(text, start, end) if start < end else None
        if whole is not None and _piece_tokens(text, whole) <= _MAX_UNSPLIT_TOKENS:
            yield from _split_text(text, start_of_rest, start)
            yield whole
            start_of_rest = end
    yield from _split_text(text, start_of_rest, piece.end)


def _split_text(text: str, start: int, end: int) -> Iterator[_Piece]:
    splitter = TextSplitter.from_callback(_weighted_tokens, TARGET_CHUNK_TOKENS, trim=False)
    while start < end:
        stop = _window_end(text, start, end)
        for offset, part in splitter.chunk_indices(text[start:stop]):
            piece = _trim(text, start + offset, start + offset + len(part))
            if piece is not None:
                yield piece
        start = stop


def _window_end(text: str, start: int, end: int) -> int:
    stop = start + _WINDOW_CHARACTERS
    if stop >= end:
        return end
    half = start + _WINDOW_CHARACTERS // 2
    for sign in ("\n\n", "\n", ". ", " "):
        index = text.rfind(sign, half, stop)
        if index >= 0:
            return index + len(sign)
    return stop


def _pack(text: str, pieces: Iterator[_Piece]) -> list[_Piece]:
    """Join neighbouring pieces up to the target size."""
    packed: list[_Piece] = []
    for piece in pieces:
        if (
            packed
            and _piece_tokens(text, packed[-1]) < _TARGET_MIN
            and _piece_tokens(text, _Piece(packed[-1].start, piece.end)) <= _TARGET_MAX
        ):
            packed[-1] = _Piece(packed[-1].start, piece.end)
        else:
            packed.append(piece)
    return packed


def _join_short(text: str, pieces: Sequence[_Piece], heads: frozenset[int]) -> list[_Piece]:
    """Join pieces under 100 tokens to a neighbour: to the next one if they begin a section, else to the one before."""

    def short(piece: _Piece) -> bool:
        return _piece_tokens(text, piece) < MIN_CHUNK_TOKENS

    joined_pieces: list[_Piece] = []
    for piece, last in zip(pieces, [False] * (len(pieces) - 1) + [True], strict=True):
        joins = joined_pieces and (
            short(joined_pieces[-1]) or (short(piece) and (last or piece.start not in heads))
        )
        joined = _Piece(joined_pieces[-1].start, piece.end) if joins else piece
        if joins and _piece_tokens(text, joined) <= MAX_CHUNK_TOKENS:
            joined_pieces[-1] = joined
        else:
            joined_pieces.append(piece)
    return joined_pieces


def _make_draft(layout: _Layout, index: int, piece: _Piece) -> ChunkDraft:
    text = layout.text[piece.start : piece.end]
    spans = layout.spans.touching(piece)
    kinds = {span.kind for span in spans}
    sections = layout.sections.touching(piece)
    levels = zip(*(section.path for section in sections), strict=False)
    shared = takewhile(lambda titles: len(set(titles)) == 1, levels)
    return ChunkDraft(
        index=index,
        start=piece.start,
        end=piece.end,
        text=text,
        tokens=token_count(text),
        section_path=tuple(titles[0] for titles in shared),
        sections=tuple(sections),
        pages=tuple(layout.pages.touching(piece)),
        has_code=SpanKind.CODE in kinds,
        has_formula=SpanKind.FORMULA in kinds,
        has_table=SpanKind.TABLE in kinds,
        language=detect_language(_prose(layout.text, spans, piece), default=layout.language),
    )


def _prose(text: str, spans: Sequence[Span], piece: _Piece) -> str:
    """Return the piece without code and formulas, which would mislead language detection."""
    parts: list[str] = []
    position = piece.start
    for span in spans:
        if span.kind is not SpanKind.TABLE:
            parts.append(text[position : max(position, span.start)])
            position = max(position, span.end)
    return " ".join([*parts, text[position : piece.end]])
