"""A document to read: the blocks around a place in it, each with its span, so that a quotation is marked where it stands."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from lightwell.text.reading.blocks import (
    LONGEST_BLOCK,
    Kind,
    ReadBlock,
    bare_span,
    code_block,
    note_block,
    read_markdown,
    split_long,
)
from lightwell.text.reading.plain import Plain
from lightwell.text.reading.runs import Style
from lightwell.text.regex import regex

__all__ = ["Kind", "Plain", "ReadBlock", "Style", "Window", "read_around"]

REACH = 40_000
"""Characters that are read at once, in each direction."""

LONGEST_TABLE = 200_000
"""Characters of a table in HTML; a longer one is read as text."""

_OPENER = regex(r"^[ \t]{0,40}(?:(```|~~~)|(<!--)|(<table\b))", re.MULTILINE | re.IGNORECASE)
_FENCE_END = {mark: regex(rf"\n[ \t]{{0,40}}{mark}[^\n]*+") for mark in ("```", "~~~")}
_TABLE_END = regex(r"</table\s{0,9}>", re.IGNORECASE)
_BLANK_LINE = regex(r"\n[ \t]{0,40}\n")

Read = Callable[[str, int, int], Iterator[ReadBlock]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Blocks of a document in order; `before` and `after` say where the next ones end and begin, None at an end of the document.

    `heads` are the header rows of tables that begin before the window.
    """

    blocks: tuple[ReadBlock, ...]
    heads: tuple[ReadBlock, ...]
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class _Region:
    """A part of a Markdown document that empty lines do not end: code, a comment, a table in HTML."""

    start: int
    end: int
    kind: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    document: str
    read: Read
    regions: Sequence[_Region]
    starts: Sequence[int]


def read_around(
    document: str, place: int, *, plain: Plain | None, before: int, after: int
) -> Window:
    """Return up to `before` blocks above a place, and up to `after` from the block on that stands there or below.

    `plain` says how a text without markup reads; None is Markdown. Fewer come where blocks are long.
    """
    source = _open(document, plain)
    place = min(max(place, 0), len(document))
    below = _below(source, place, after)
    edge = min(below[0].start, place) if below else place
    above = _above(source, edge, before) if before else []
    blocks = (*above, *below)
    first = blocks[0].start if blocks else place
    last = blocks[-1].end if blocks else place
    return Window(
        blocks=blocks,
        heads=_heads(source, blocks),
        before=first if (above or not before) and document[:first].strip() else None,
        after=last if (below or not after) and document[last:].strip() else None,
    )


def _open(document: str, plain: Plain | None) -> _Source:
    regions = [] if plain else list(_regions(document))
    return _Source(
        document=document,
        read=plain.read if plain else read_markdown,
        regions=regions,
        starts=[region.start for region in regions],
    )


def _regions(document: str) -> Iterator[_Region]:
    place = table_end = 0
    while match := _OPENER.search(document, place):
        place = match.end()
        if (
            match[3] and 0 <= table_end < place
        ):  # looked for once for all tables that begin before it
            close = _TABLE_END.search(document, place)
            table_end = close.end() if close else -1
        kind, end = _region_end(document, match, table_end)
        if end > place:
            place = end
            yield _Region(bare_span(document, *match.span())[0], end, kind)


def _region_end(document: str, match: re.Match[str], table_end: int) -> tuple[Kind, int]:
    """Return what begins here, and where it ends; the place itself for a table that nothing ends within reach."""
    if match[1]:
        close = _FENCE_END[match[1]].search(document, match.end())
        return Kind.CODE, close.end() if close else len(document)
    if match[2]:
        close_at = document.find("-->", match.end())
        return Kind.NOTE, len(document) if close_at < 0 else close_at + 3
    is_near = table_end - match.end() <= LONGEST_TABLE
    return Kind.ROW, table_end if is_near else match.end()


def _region_before(source: _Source, place: int) -> _Region | None:
    """Return the last region that begins at or before a place."""
    index = bisect_right(source.starts, place) - 1
    return source.regions[index] if index >= 0 else None


def _below(source: _Source, place: int, count: int) -> list[ReadBlock]:
    """Return blocks from the one at a place on."""
    start, end = _cut_before(source, place), place
    blocks: list[ReadBlock] = []
    while count and not blocks and end < len(source.document):
        end = _cut_after(source, end + REACH)
        inside = (block for block in _read(source, start, end) if block.end > place)
        blocks = list(_within_reach(islice(inside, count)))
        start = end
    return blocks


def _above(source: _Source, place: int, count: int) -> list[ReadBlock]:
    """Return blocks above a place where a block begins."""
    blocks: list[ReadBlock] = []
    start = place
    while not blocks and start > 0:
        end, start = start, _cut_before(source, max(0, start - REACH))
        inside = [block for block in _read(source, start, end) if block.start < place]
        blocks = [*_within_reach(reversed(inside[-count:]))][::-1]
    return blocks


def _within_reach(blocks: Iterable[ReadBlock]) -> Iterator[ReadBlock]:
    """Yield the first block, and those that follow it as long as all have less than `REACH` characters."""
    length = 0
    for block in blocks:
        length += len(block.text)
        if length > REACH and length > len(block.text):
            return
        yield block


def _cut_before(source: _Source, place: int) -> int:
    """Return where reading may begin at or before a place: at a region, behind an empty line, else at a line."""
    region = _region_before(source, place)
    if region and region.end > place:
        return region.start
    edge = region.end if region else 0
    near = max(edge, place - REACH)
    gap = max(
        (match.end() for match in _BLANK_LINE.finditer(source.document, near, place)), default=-1
    )
    if gap >= 0 or near == edge:
        return max(gap, edge)
    return source.document.rfind("\n", near, place) + 1 or near


def _cut_after(source: _Source, place: int) -> int:
    """Return where reading may end at or after a place."""
    if place >= len(source.document):
        return len(source.document)
    region = _region_before(source, place)
    if region and region.end > place:
        return place if region.kind is not Kind.ROW else region.end
    following = bisect_right(source.starts, place)
    most = source.starts[following] if following < len(source.starts) else len(source.document)
    most = min(most, place + REACH)
    gap = _BLANK_LINE.search(source.document, place, most)
    line = source.document.find("\n", place, most)
    return gap.end() if gap else line + 1 if line >= 0 else most


def _read(source: _Source, start: int, end: int) -> Iterator[ReadBlock]:
    """Yield the blocks that begin between two places."""
    place = start
    while place < end:
        region = _region_before(source, place)
        if region and region.end > place:
            yield from _region_blocks(source, region, place, end)
            place = region.end
            continue
        following = bisect_right(source.starts, place)
        stop = min(end, source.starts[following] if following < len(source.starts) else end)
        yield from source.read(source.document, place, stop)
        place = stop


def _region_blocks(source: _Source, region: _Region, start: int, end: int) -> Iterator[ReadBlock]:
    document = source.document
    if region.kind is Kind.ROW:
        yield from source.read(document, region.start, region.end)
        return
    for first, last in split_long(document, region.start, region.end):
        if first >= end or last <= start:
            continue
        if region.kind is Kind.CODE:
            yield code_block(document, first, last)
        else:
            yield note_block(document, first, last)


def _heads(source: _Source, blocks: Sequence[ReadBlock]) -> tuple[ReadBlock, ...]:
    """Return the header row of the table that the first block goes on with, if it does."""
    first = blocks[0] if blocks else None
    if first is None or first.kind is not Kind.ROW or first.start == first.table:
        return ()
    end = min(first.table + LONGEST_BLOCK, first.start)
    rows = source.read(source.document, first.table, end)
    return tuple(replace(row, table=first.table) for row in islice(rows, 1) if row.is_header)
