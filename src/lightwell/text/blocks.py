"""What a text is made of: headings, paragraphs, list items, table rows and code, apart from what is no text to read."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise

from lightwell.text.directives import holds_prose, read_directive
from lightwell.text.markup import strip_markup, strip_tags
from lightwell.text.regex import regex

_LINE = regex(r"[^\n]*\n?")
_FENCE = regex(r"[ \t]*+(`{3,}+|~{3,}+)")
_FENCE_END = regex(r"\n[ \t]*+(`{3,}+|~{3,}+)[^\n]*+")
_OPTION = regex(r"[ \t]*+:[a-z][\w-]{0,40}+:(?:[ \t][^\n]*+)?\n?+")
_HEADING = regex(r"[ \t]*+#{1,6}[ \t]")
_UNDERLINE = regex(r"[ ]{0,3}(?:=++|-++)[ \t]*+")
_RST_UNDERLINE = regex(r"([~^\"'*+#`])\1{2,}+")
_INDENT_OF_CODE, INDENT_OF_CODE_BELOW = 4, 8
"""Columns by which code is indented, at the margin and below an item or a directive."""
FIELD = regex(r"(?:\*\*)?([^\W\d_][\w ./&()-]{0,40}+):(?:\*\*)?[ \t]++(?=\S)")
"""The name of a field, up to its value."""

_FIELDS = regex(rf"(?:{FIELD.pattern}[^\n]*+(?:\n|$)){{2,}}+")
_MAX_APART = 2
"""Characters by which a title and the signs below it differ in length."""
_RULE = regex(r"[\s|:=_*+.-]*+")
_DEFINITION = regex(
    r"[ \t]*+(?:\[[^\]\^\n][^\]\n]{0,200}\]:[ \t]*+\S|\([\w/.: -]{1,100}+\)=[ \t]*+$|\.\. _[^:\n]{1,200}+:(?:\s|$)"
    r"|\[(?:\[_?)?TOC(?:_?\])?\][ \t]*+$|-{1,4}+8<-{1,4}+(?:[ \t]|$))"
)
_MODULE = regex(
    r"(?:import[ ](?:[\"']|[\w{*][^\"'`]{0,500}?\bfrom[ ][\"'])|export[ ](?:const|default|function|let|class)\b)"
    r"[^\n]*+(?:\n[^\n]*\S[^\n]*+)*+"
)
"""What MDX imports and exports: it ends at an empty line."""
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
_FEWEST_WORDS = 5
_NEAR = 30
"""Blocks above an indented one among which is looked for the one that it belongs to."""


class BlockKind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    ROW = "row"
    CODE = "code"
    CLUTTER = "clutter"
    FIELDS = "fields"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block of a text: `text[start:end]`, without the white space around it.

    `indent` counts columns. `table` is where the table of a row starts, else -1. `has_gap` says whether an empty line, or
    the beginning of the text, stands before the block. `is_head` is whether it is the first row of a table and names its columns.
    `fields` are lines that each say `Name: value`, as the header of a ticket does.
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


def find_outer(read: Sequence[Block], place: int, indent: int) -> Block | None:
    """Return what a block at a place may belong to: the nearest one above that is indented less."""
    near = reversed(read[max(0, place - _NEAR) : place])
    return next((block for block in near if block.indent < indent), None)


def _measured(text: str, block: Block) -> Block:
    """Return the block without the white space at its end, with its size."""
    written = text[block.start : block.end].rstrip()
    end = block.start + len(written)
    if block.kind is BlockKind.CLUTTER:
        return replace(block, end=end)
    words = strip_markup(written)
    if block.kind is BlockKind.PARAGRAPH and _FIELDS.fullmatch(written):
        block = replace(block, kind=BlockKind.FIELDS)
    return replace(block, end=end, size=len(words), last=words[-1:])


def _names_columns(text: str, row: Block) -> bool:
    """Return whether a table's first row names its columns: by its cells, by bold type, or by the line below."""
    written = text[row.start : row.end]
    cells = CELL.split(written)[1:]
    is_bold = len(cells) > 1 and all(map(_BOLD.match, cells))
    return is_bold or "<th" in written.casefold() or _HEAD_MARK.match(text, row.end) is not None


@dataclass(slots=True)
class _Scanner:
    """Reads a text line by line; `is_open` says whether the next line may go on with the last block.

    `ends` is where the lines begin that end fences of prose; `has_directive` whether the line above is a directive.
    """

    text: str
    found: list[Block] = field(default_factory=list[Block])
    ends: set[int] = field(default_factory=set[int])
    is_open: bool = False
    has_gap: bool = True
    has_directive: bool = False

    def step(self, start: int) -> int:
        """Read the block or the line that begins at a place; return where the next one begins."""
        match = _LINE.match(self.text, start)
        line, end = (match[0], match.end()) if match else ("", len(self.text))
        if not line.strip():
            self.is_open, self.has_gap = False, True
            return end
        if self._is_mark(line, start, end):
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

    def _is_mark(self, line: str, start: int, end: int) -> bool:
        """Read a directive, or what belongs to one; return whether there was one. Its title is a paragraph."""
        had_directive, self.has_directive = self.has_directive, False
        if start in self.ends or (had_directive and _OPTION.fullmatch(line)):
            self.has_directive = start not in self.ends
            self._add(BlockKind.CLUTTER, start, end)
            return True
        if self._is_underlined(line):
            self.found[-1] = replace(self.found[-1], kind=BlockKind.HEADING)
            self._add(BlockKind.CLUTTER, start, end)
            return True
        fence = _FENCE.match(line)
        if fence and not holds_prose(line):
            return False
        title = read_directive(line)
        if title is None:
            return False
        if fence and (close := _fence_end(self.text, start, fence[1])):
            self.ends.add(close.start() + 1)
        self._add(BlockKind.PARAGRAPH if title else BlockKind.CLUTTER, start, end)
        self.has_directive = True
        return True

    def _is_underlined(self, line: str) -> bool:
        """Return whether a line underlines the one above it with other signs than Markdown has, as in reStructuredText."""
        if not (self.is_open and _RST_UNDERLINE.fullmatch(line.rstrip())):
            return False
        last = self._last()
        is_line = self.found[-1].kind is BlockKind.PARAGRAPH and "\n" not in last
        return is_line and abs(len(last) - len(line.rstrip())) <= _MAX_APART

    def _whole(self, line: str, start: int, end: int) -> int | None:
        """Read a block that ends with a mark of its own; return where it ends, or None where none begins here."""
        text = self.text
        bare = line.lstrip()
        metadata = _METADATA.match(text) if start == 0 else None
        if metadata:
            return self._add(BlockKind.CLUTTER, start, metadata.end())
        if self.has_gap and (module := _MODULE.match(text, start)):
            return self._add(BlockKind.CLUTTER, start, module.end())
        if fence := _FENCE.match(line):
            close = _fence_end(text, start, fence[1])
            return self._add(BlockKind.CODE, start, close.end() if close else len(text))
        if bare.startswith("<!--"):
            close_at = text.find("-->", start)
            return self._add(BlockKind.CLUTTER, start, len(text) if close_at < 0 else close_at + 3)
        if self._is_code(line):
            return self._add_code(start, end)
        if _TABLE_START.match(bare):
            last = _TABLE_END.search(text, start)
            return self._add_table(start, last.end() if last else len(text))
        return None

    def _is_code(self, line: str) -> bool:
        """Return whether an indented line after an empty one begins code: it is no prose, and no paragraph of an item or a directive."""
        indent = _indent(line)
        if not self.has_gap or indent < _INDENT_OF_CODE or _is_prose(line):
            return False
        if _ITEM.match(line) or _DEFINITION.match(line):
            return False
        outer = find_outer(self.found, len(self.found), indent)
        if outer is None or not (outer.kind is BlockKind.ITEM or self._is_directive(outer)):
            return True
        return indent >= outer.indent + INDENT_OF_CODE_BELOW

    def _is_directive(self, block: Block) -> bool:
        return read_directive(self.text[block.start : block.end].rstrip()) is not None

    def _add_code(self, start: int, end: int) -> int:
        """Add the lines that are indented as code is, with empty lines between them."""
        for match in _LINE.finditer(self.text, end):
            if match[0].strip():
                if _indent(match[0]) < _INDENT_OF_CODE:
                    break
                end = match.end()
        return self._add(BlockKind.CODE, start, end)

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
        if not (self.is_open and self.found and _RULE.fullmatch(line)):
            return
        last = self._last()
        head = last[last.rfind("\n") + 1 :]
        if "|" in line and "|" in head:
            self._head(head)
        elif "\n" in last or self.found[-1].kind is not BlockKind.PARAGRAPH:
            return
        elif _UNDERLINE.fullmatch(line.rstrip()):
            self.found[-1] = replace(self.found[-1], kind=BlockKind.HEADING)

    def _head(self, head: str) -> None:
        """Make the last line of the last block the head of a table; lines above it stay a block."""
        last = self.found[-1]
        start = last.start + self._last().rindex(head)
        if start > last.start:
            self.found[-1] = replace(last, end=start)
            self.found.append(replace(last, start=start, has_gap=False))
        self.found[-1] = replace(self.found[-1], kind=BlockKind.ROW, table=start)

    def _last(self) -> str:
        return self.text[self.found[-1].start : self.found[-1].end].rstrip()

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
                indent=_indent(self.text[line_start:start].rpartition("\n")[2] + "."),
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
        caption = self.text[table_start:caption_end]
        if "<!--" in caption or strip_tags(caption).strip():
            self._add(BlockKind.PARAGRAPH, table_start, caption_end)
        for start, stop in rows:
            self._add(BlockKind.ROW, start, stop, table=table_start)
        self.is_open = False
        return end


def _indent(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip())].expandtabs(_TAB))


def _is_prose(line: str) -> bool:
    """Return whether a line reads as a part of a sentence: at least five words in it, most of them of letters."""
    words = line.split()
    return len(words) >= _FEWEST_WORDS and 4 * sum(map(str.isalpha, words)) >= 3 * len(words)


def _fence_end(text: str, start: int, mark: str) -> re.Match[str] | None:
    """Return the line that closes a fence: it has at least as many of the same signs."""
    ends = _FENCE_END.finditer(text, start)
    return next((end for end in ends if end[1].startswith(mark)), None)


def _row_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    places = [match.start() for match in _TABLE_ROW.finditer(text, start, end)]
    yield from pairwise([*places, end])
