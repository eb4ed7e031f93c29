"""A document as blocks to read: headings, paragraphs, list items, quotations, code, rows of tables, each with its span."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from lightwell.text.blocks import FIELD, Block, BlockKind, blocks
from lightwell.text.directives import find_title
from lightwell.text.markup import strip_tags
from lightwell.text.reading.runs import Run, code_runs, markdown_runs, plain_runs
from lightwell.text.regex import regex

LONGEST_BLOCK = 8_000
"""Characters; what is longer goes on in another block."""

_HASHES = regex(r"(#{1,6})[ \t]*+")
_ANCHOR = regex(r"\{#[\w-]{1,200}\}$")
_UNDERLINE = regex(r"\n[ \t]*+(=|-)[=-]*+[ \t]*+$")
_QUOTED = regex(r"(?:>[ \t]?)++")
_MARKER = regex(
    r"([-*+•‣●·▪◦]|\d{1,3}[.)]|[a-zA-Z][.)]|\([a-z\d]{1,2}\))[ \t]++(?:\[([ xX])\][ \t]++)?|<li\b[^<>]{0,500}>\s{0,9}"
)
_RULE_BELOW = regex(r"[ \t]*+\n[ \t]*+(?=[|:]?[ \t]*-)[|: \t-]++(?:\n|$)")
_RULE = regex(r"(?:[-*_][ \t]*+){3,}+")
_FENCE = regex(r"(```|~~~)[^\n]*+\n?")
_CELL = regex(r"<t[dh]\b[^<>]{0,500}>", re.I)
_CELL_END = regex(r"</t[dhr]\s{0,9}>", re.I)
_HEAD_CELL = regex(r"<th\b", re.I)
_PIPE = regex(r"\\.|`[^`\n]{1,500}+`|(\|)", re.S)
_LINE = regex(r"[^\n]++")
_BOXES = {" ": "☐", "x": "☑", "X": "☑"}


class Kind(StrEnum):
    """What a block is. A `note` is not shown by other programs: a comment, the target of a link."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    QUOTE = "quote"
    CODE = "code"
    ROW = "row"
    FIELD = "field"
    RULE = "rule"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell of a row, or the name and the value of a field."""

    start: int
    end: int
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBlock:
    """A block of a document: `text` is what stands from `start` to `end`; `runs` is what is shown of it, or `cells` of a row or a field.

    `level` is that of a heading, from 1, or how deep an item stands in lists, from 0. `marker` is an item's number or sign.
    `table` is where the table of a row starts, -1 elsewhere. `is_header` marks the row above the others.
    """

    kind: Kind
    start: int
    end: int
    text: str
    level: int = 0
    marker: str = ""
    runs: tuple[Run, ...] = ()
    cells: tuple[Cell, ...] = ()
    table: int = -1
    is_header: bool = False


def read_markdown(document: str, start: int, end: int) -> Iterator[ReadBlock]:
    """Yield the blocks of this part of a Markdown document, in order."""
    stretch = document[start:end]
    indents = [0]
    for block in blocks(stretch):
        if block.kind is BlockKind.CLUTTER and not _is_read(stretch[block.start : block.end]):
            continue
        if block.kind is BlockKind.ITEM:
            while block.indent < indents[-1]:
                indents.pop()
            if block.indent > indents[-1] + 1:
                indents.append(block.indent)
        elif block.indent < 2:
            indents = [0]
        place = (start + block.start, start + block.end)
        table = start + block.table if block.table >= 0 else -1
        if block.kind is BlockKind.FIELDS:
            yield from _fields(document, *place)
            continue
        for piece in split_long(document, *place):
            yield _markdown_block(document, block, piece, len(indents) - 1, table)


def _fields(document: str, start: int, end: int) -> Iterator[ReadBlock]:
    """Yield the lines of a paragraph in which each says `Name: value`."""
    for first, last in (line.span() for line in _LINE.finditer(document, start, end)):
        name = FIELD.match(document, first, last)
        if name is None:
            continue
        label, value = name.span(1), bare_span(document, name.end(), last)
        yield ReadBlock(
            kind=Kind.FIELD,
            start=first,
            end=last,
            text=document[first:last],
            cells=tuple(
                Cell(start=part[0], end=part[1], runs=markdown_runs(document, *part))
                for part in (label, value)
            ),
        )


def _is_read(clutter: str) -> bool:
    """Return whether there is something to see: neither tags alone nor the line below the header of a table are."""
    words = clutter if "<!--" in clutter else strip_tags(clutter)
    return any(map(str.isalnum, words)) or _RULE.fullmatch(clutter) is not None


def _markdown_block(
    document: str, block: Block, place: tuple[int, int], depth: int, table: int
) -> ReadBlock:
    start, end = place
    text = document[start:end]
    match block.kind:
        case BlockKind.HEADING:
            return _heading(document, start, end)
        case BlockKind.ITEM:
            return item_block(
                document,
                start,
                end,
                lambda first, last: markdown_runs(document, first, last),
                depth,
            )
        case BlockKind.CODE:
            return code_block(document, start, end)
        case BlockKind.ROW:
            return _row(document, start, end, table)
        case BlockKind.CLUTTER:
            return note_block(document, start, end)
        case _:
            pass
    if title := find_title(text):
        runs = markdown_runs(document, start + title[0], start + title[1])
        return ReadBlock(kind=Kind.PARAGRAPH, start=start, end=end, text=text, runs=runs)
    quoted = _QUOTED.match(text)
    if quoted:
        runs = markdown_runs(document, start + quoted.end(), end)
        return ReadBlock(kind=Kind.QUOTE, start=start, end=end, text=text, runs=runs, level=depth)
    return ReadBlock(
        kind=Kind.PARAGRAPH,
        start=start,
        end=end,
        text=text,
        runs=markdown_runs(document, start, end),
        level=depth if block.indent > 1 else 0,
    )


def _heading(document: str, start: int, end: int) -> ReadBlock:
    text = document[start:end]
    hashes = _HASHES.match(text)
    if hashes:
        level, first = len(hashes[1]), start + hashes.end()
        shown = _ANCHOR.sub("", document[first:end].rstrip(" \t")).rstrip(" \t")
        unclosed = shown.rstrip("#")
        if not unclosed or unclosed[-1] in " \t":
            shown = unclosed.rstrip(" \t")
        shown_end = first + len(shown)
    else:
        underline = _UNDERLINE.search(text)
        level, first = (2 if underline and underline[1] == "-" else 1), start
        shown_end = start + underline.start() if underline else end
    runs = markdown_runs(document, first, max(first, shown_end))
    return ReadBlock(kind=Kind.HEADING, start=start, end=end, text=text, level=level, runs=runs)


def item_block(
    document: str, start: int, end: int, read: Callable[[int, int], tuple[Run, ...]], depth: int = 0
) -> ReadBlock:
    """Return a list item; `read` gives the runs of what stands behind its sign."""
    match = _MARKER.match(document, start, end)
    sign = (match[1] or "•") if match else "•"
    marker = sign if sign[-1] in ".)" else "•"
    if match and match[2]:
        marker = _BOXES[match[2]]
    return ReadBlock(
        kind=Kind.ITEM,
        start=start,
        end=end,
        text=document[start:end],
        level=depth,
        marker=marker,
        runs=read(match.end() if match else start, end),
    )


def note_block(document: str, start: int, end: int) -> ReadBlock:
    """Return what is no text to read: a line across the page, a comment, the target of a link."""
    text = document[start:end]
    kind = Kind.RULE if _RULE.fullmatch(text) else Kind.NOTE
    runs = () if kind is Kind.RULE else plain_runs(document, start, end)
    return ReadBlock(kind=kind, start=start, end=end, text=text, runs=runs)


def code_block(document: str, start: int, end: int) -> ReadBlock:
    """Return code without its fence."""
    text = document[start:end]
    first, last = start, end
    if fence := _FENCE.match(document, start, end):
        first = fence.end()
        below = text.rpartition("\n")[2]
        if first < end and below.strip().startswith(fence[1]):
            last = max(first, end - len(below) - 1)
    return ReadBlock(
        kind=Kind.CODE, start=start, end=end, text=text, runs=code_runs(document, first, last)
    )


def _row(document: str, start: int, end: int, table: int) -> ReadBlock:
    text = document[start:end]
    is_html = text.lstrip().lower().startswith("<t")
    spans = list(_html_cells(document, start, end) if is_html else pipe_cells(document, start, end))
    cells = tuple(
        Cell(start=first, end=last, runs=markdown_runs(document, first, last))
        for first, last in spans
    )
    is_header = _HEAD_CELL.search(text) is not None if is_html else is_above_rule(document, end)
    return ReadBlock(
        kind=Kind.ROW,
        start=start,
        end=end,
        text=text,
        cells=cells,
        table=table,
        is_header=is_header,
    )


def is_above_rule(document: str, end: int) -> bool:
    """Return whether the row that ends here is the header of its table: a line of dashes stands below."""
    return _RULE_BELOW.match(document, end) is not None


def pipe_cells(document: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of a row's cells, without the white space around them."""
    pipes = [match.start() for match in _PIPE.finditer(document, start, end) if match[1]]
    edges = [start - 1, *pipes, end]
    cells = [(left + 1, right) for left, right in pairwise(edges)]
    if pipes and not document[start : pipes[0]].strip():
        cells = cells[1:]
    if pipes and not document[pipes[-1] + 1 : end].strip():
        cells = cells[:-1]
    yield from (bare_span(document, *cell) for cell in cells)


def _html_cells(document: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in _CELL.finditer(document, start, end):
        last = _CELL_END.search(document, match.end(), end)
        following = _CELL.search(document, match.end(), end)
        edge = min(last.start() if last else end, following.start() if following else end)
        yield bare_span(document, match.end(), edge)


def split_long(document: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a long block: cut at the end of a line, else at white space, else anywhere."""
    while end - start > LONGEST_BLOCK:
        cut = document.rfind("\n", start + LONGEST_BLOCK // 2, start + LONGEST_BLOCK)
        if cut < 0:
            cut = document.rfind(" ", start + LONGEST_BLOCK // 2, start + LONGEST_BLOCK)
        cut = start + LONGEST_BLOCK if cut < 0 else cut + 1
        first, last = bare_span(document, start, cut)
        if first < last:
            yield first, last
        start = cut
    first, last = start, end
    if first < last:
        yield first, last


def bare_span(document: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without the white space at both ends; of nothing else, an empty one."""
    text = document[start:end]
    first = start + len(text) - len(text.lstrip())
    return min(first, end), max(min(first, end), start + len(text.rstrip()))
