"""What a text is made of: headings, paragraphs, list items, table rows and code, apart from what is no text to read."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise

from lightwell.text.markup import strip_markup, strip_tags
from lightwell.text.regex import regex

_LINE = regex(r"[^\n]*\n?")
_FENCE = regex(r"[ \t]*+(```|~~~)")
_FENCE_END = {mark: regex(rf"\n[ \t]*+{mark}[^\n]*+") for mark in ("```", "~~~")}
_HEADING = regex(r"[ \t]*+#{1,6}[ \t]")
_UNDERLINE = regex(r"[ ]{0,3}(?:=++|-++)[ \t]*+")
_RULE = regex(r"[\s|:=_*+.-]*+")
_DEFINITION = regex(r"[ ]{0,3}\[[^\]\^\n][^\]\n]{0,200}\]:[ \t]*+\S")
_ITEM = regex(r"[ \t]*+(?:(?:[-*+•‣]|\d{1,3}[.)]|[a-z][.)]|\([a-z\d]{1,2}\))[ \t]|<li\b)")
_ROW = regex(r"[ \t]*+\|")
_TABLE_START, _TABLE_END = regex(r"<table\b", re.I), regex(r"</table\s{0,9}>", re.I)
_TABLE_ROW = regex(r"<tr\b", re.I)
_METADATA = regex(
    r"---[ \t]*+\n(?:[\w-]++:[^\n]*+\n|[ \t]++[^\n]*+\n|- [^\n]*+\n)++---[ \t]*+(?:\n|$)"
)
CELL = regex(r"<t[dh]\b[^<>]*>", re.IGNORECASE)
"""Where a cell of a row of HTML begins."""

_BOLD = regex(r"\s*(?:<(?:b|strong)\b|\*\*)", re.IGNORECASE)
_HEAD_MARK = regex(r"\n[ \t]*+\|?+[ \t]*+:?+-")
_TAB = 4


class BlockKind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    ROW = "row"
    CODE = "code"
    CLUTTER = "clutter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block of a text: `text[start:end]`, without the white space around it.

    `indent` counts columns. `table` is where the table of a row starts, else -1. `has_gap` says whether an empty line, or
    the beginning of the text, stands before the block. `is_head` is whether it is the first row of a table and names its columns.
    `size` counts its characters as it reads, without markup; `last` is the last of them, "" for none.
    """

    kind: BlockKind
    start: int
    end: int
    indent: int = 0
    table: int = -1
    has_gap: bool = True
    is_head: bool = False
    size: int = 0
    last: str = ""


def blocks(text: str) -> tuple[Block, ...]:
    """Return the blocks in order. Link definitions, comments, rules and lines of nothing but tags are clutter.

    The first row of a table is its head. An item reaches to the next item; paragraphs that belong to an item are
    indented blocks of their own.
    """
    scanner = _Scanner(text=text)
    place = 0
    while place < len(text):
        place = scanner.step(place)
    read = [
        _measured(text, block) for block in scanner.found if text[block.start : block.end].strip()
    ]
    firsts = {block.table: place for place, block in reversed([*enumerate(read)])}
    for place in firsts.values():
        block = read[place]
        if block.kind is BlockKind.ROW and _names_columns(text, block):
            read[place] = replace(block, is_head=True)
    return tuple(read)


def _measured(text: str, block: Block) -> Block:
    """Return the block without the white space at its end, with its size."""
    written = text[block.start : block.end].rstrip()
    end = block.start + len(written)
    if block.kind is BlockKind.CLUTTER:
        return replace(block, end=end)
    words = strip_markup(written)
    return replace(block, end=end, size=len(words), last=words[-1:])


def _names_columns(text: str, row: Block) -> bool:
    """Return whether a table's first row names its columns: by its cells, by bold type, or by the line below."""
    written = text[row.start : row.end]
    cells = CELL.split(written)[1:]
    is_bold = len(cells) > 1 and all(map(_BOLD.match, cells))
    return is_bold or "<th" in written.casefold() or _HEAD_MARK.match(text, row.end) is not None


@dataclass(slots=True)
class _Scanner:
    """Reads a text line by line; `is_open` says whether the next line may go on with the last block."""

    text: str
    found: list[Block] = field(default_factory=list[Block])
    is_open: bool = False
    has_gap: bool = True

    def step(self, start: int) -> int:
        """Read the block or the line that begins at a place; return where the next one begins."""
        match = _LINE.match(self.text, start)
        line, end = (match[0], match.end()) if match else ("", len(self.text))
        if not line.strip():
            self.is_open, self.has_gap = False, True
            return end
        whole = self._whole(line, start, end)
        if whole is not None:
            return whole
        kind = self._kind(line)
        if kind is None and self.is_open:
            self.found[-1] = replace(self.found[-1], end=end)
        elif kind is BlockKind.ROW:
            self._add_row(start, end)
        else:
            self._add(kind or BlockKind.PARAGRAPH, start, end)
            self.is_open = kind in (None, BlockKind.ITEM)
        return end

    def _whole(self, line: str, start: int, end: int) -> int | None:
        """Read a block that ends with a mark of its own; return where it ends, or None where none begins here."""
        text = self.text
        bare = line.lstrip()
        metadata = _METADATA.match(text) if start == 0 else None
        if metadata:
            return self._add(BlockKind.CLUTTER, start, metadata.end())
        if fence := _FENCE.match(line):
            close = _FENCE_END[fence[1]].search(text, start + len(fence[0]))
            return self._add(BlockKind.CODE, start, close.end() if close else len(text))
        if bare.startswith("<!--"):
            close_at = text.find("-->", start)
            return self._add(BlockKind.CLUTTER, start, len(text) if close_at < 0 else close_at + 3)
        if _TABLE_START.match(bare):
            last = _TABLE_END.search(text, start)
            return self._add_table(start, last.end() if last else len(text))
        return None

    def _kind(self, line: str) -> BlockKind | None:
        """Return what kind of block a line begins; None for a line of prose."""
        if _HEADING.match(line):
            return BlockKind.HEADING
        if _RULE.fullmatch(line) or _DEFINITION.match(line) or not strip_tags(line).strip():
            self._underline(line)
            return BlockKind.CLUTTER
        if _ROW.match(line) or ("|" in line and self._is_in_table()):
            return BlockKind.ROW
        return BlockKind.ITEM if _ITEM.match(line) else None

    def _underline(self, line: str) -> None:
        """Make the paragraph above an underline a heading, and the line above a table's rule its head."""
        if not (self.is_open and self.found and _RULE.fullmatch(line) and "\n" not in self._last()):
            return
        if "|" in line and "|" in self._last():
            start = self.found[-1].start
            self.found[-1] = replace(self.found[-1], kind=BlockKind.ROW, table=start)
        elif _UNDERLINE.fullmatch(line.rstrip()) and self.found[-1].kind is BlockKind.PARAGRAPH:
            self.found[-1] = replace(self.found[-1], kind=BlockKind.HEADING)

    def _last(self) -> str:
        return self.text[self.found[-1].start : self.found[-1].end].strip()

    def _is_in_table(self) -> bool:
        if self.has_gap:
            return False
        read = (block for block in reversed(self.found) if block.kind is not BlockKind.CLUTTER)
        last = next(read, None)
        return last is not None and last.kind is BlockKind.ROW

    def _add(self, kind: BlockKind, line_start: int, end: int, table: int = -1) -> int:
        bare = self.text[line_start:end].lstrip()
        start = end - len(bare)
        self.found.append(
            Block(
                kind=kind,
                start=start,
                end=end,
                indent=len(self.text[line_start:start].rpartition("\n")[2].expandtabs(_TAB)),
                table=table,
                has_gap=self.has_gap,
            )
        )
        self.is_open = self.has_gap = False
        return end

    def _add_row(self, start: int, end: int) -> None:
        before = [block for block in self.found[-2:] if block.kind is BlockKind.ROW]
        goes_on = before and self._is_in_table()
        self._add(BlockKind.ROW, start, end)
        start = before[-1].table if goes_on else self.found[-1].start
        self.found[-1] = replace(self.found[-1], table=start)

    def _add_table(self, table_start: int, end: int) -> int:
        """Add the rows of an HTML table, and what stands above them."""
        rows = list(_row_spans(self.text, table_start, end))
        caption_end = rows[0][0] if rows else end
        if strip_tags(self.text[table_start:caption_end]).strip():
            self._add(BlockKind.PARAGRAPH, table_start, caption_end)
        for start, stop in rows:
            self._add(BlockKind.ROW, start, stop, table=table_start)
        self.is_open = False
        return end


def _row_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    places = [match.start() for match in _TABLE_ROW.finditer(text, start, end)]
    yield from pairwise([*places, end])
