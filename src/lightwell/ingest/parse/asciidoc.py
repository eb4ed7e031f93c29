"""AsciiDoc, as Asciidoctor reads it, written as Markdown: so titles, code, tables and notes are what they are in other formats.

What says nothing to people goes: comments, anchors, attributes of blocks. Nothing is included: each file is a document of its own.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lightwell.domain.documents import ParsedDocument
from lightwell.ingest.parse._asciidoc_inline import fill_in, name_value, to_inline
from lightwell.ingest.parse._asciidoc_lines import (
    ATTRIBUTE,
    ATTRIBUTES,
    DATE,
    DEEPEST,
    DELIMITER,
    HEADING,
    LINE_MACRO,
    MARGIN,
    Block,
    Levels,
    day,
    ends_item,
    indented,
    is_of_body,
    read_item,
    skip_empty,
    without_conditions,
)
from lightwell.ingest.parse._asciidoc_tables import cells_of, count_columns
from lightwell.ingest.parse._lines import count_lines, dedent, fenced, filled, table_lines
from lightwell.ingest.parse._rst_tables import separated_cells
from lightwell.ingest.parse._text import clean, decode
from lightwell.ingest.parse.markdown import parse as parse_markdown
from lightwell.text.directives import lead_in, name_aside
from lightwell.text.regex import regex

_MOST_APART = 2
"""Characters by which a line below a title may be longer or shorter."""

_ASIDES = frozenset("NOTE TIP IMPORTANT WARNING CAUTION".split())
_CODE = frozenset(
    "source listing literal stem latexmath asciimath plantuml mermaid graphviz ditaa screen".split()
)
_UNDERLINED = regex(r"([=\-~^+])\1{2,}+")
_CHECK = regex(r"\[[ x*]\][ ]++")
_RULE = regex(r"'{3,}+|<{3,}+|-[ ]?-[ ]?-|\*[ ]?\*[ ]?\*")
_ADMONITION = regex(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ ]++(.*+)", re.DOTALL)
_AUTHOR = regex(
    r"([^\W\d_][\w.'-]{0,40}+(?:[ ][\w.'-]{1,40}+){0,2}+)(?:[ ]++<[^<>\s]{1,200}+>)?+(?:;.{0,500}+)?"
)
_VERSION = regex(r"v\d[^\n]{0,200}+")
_GAPS = regex(r"\n{3,}+")


def parse(content: bytes, *, name: str = "") -> ParsedDocument:
    """Return the document; its text is Markdown. Its header says who wrote it and when."""
    reader = _Reader()
    text = reader.convert(clean(decode(content)))
    document = parse_markdown(text.encode())
    return replace(
        document,
        author=reader.attributes.get("author", ""),
        updated_at=day(reader.attributes.get("revdate") or reader.attributes.get("docdate", "")),
    )


def to_markdown(text: str) -> str:
    """Return AsciiDoc as Markdown."""
    return _Reader().convert(text)


@dataclass(slots=True)
class _Reader:
    """Reads lines block by block. `attributes` are those that the document has set so far."""

    attributes: dict[str, str] = field(default_factory=dict[str, str])

    def convert(self, text: str) -> str:
        lines = without_conditions(text.replace("\ue000", "").expandtabs(4).split("\n"))
        count, head = self._header(lines)
        written = [*head, *self.read(lines[count:], 0)]
        return _GAPS.sub("\n\n", "\n".join(written)).strip("\n")

    def read(self, lines: Sequence[str], depth: int) -> list[str]:
        """Return the lines as Markdown."""
        if depth > DEEPEST:
            return [*lines]
        written: list[str] = []
        place = 0
        while place < len(lines):
            if not lines[place].strip():
                place += 1
                written += [""] if written and written[-1] else []
                continue
            count, block = self._block(lines, place, depth)
            written += block
            place += count
        return written

    def _header(self, lines: Sequence[str]) -> tuple[int, list[str]]:
        """Read the title of the document with who wrote it, when, and the attributes up to the first empty line."""
        place = next((number for number, line in enumerate(lines) if is_of_body(line)), len(lines))
        for line in lines[:place]:
            self._attribute(line)
        heading = HEADING.fullmatch(lines[place]) if place < len(lines) else None
        if heading is None or len(heading[1]) > 1:
            return place, []
        end = place + 1
        while end < len(lines) and lines[end].strip():
            line = lines[end].rstrip()
            is_of_header = self._attribute(line) or line.startswith("//")
            if not is_of_header and not self._authorship(line):
                break
            end += 1
        return end, [f"# {self._inline(heading[2])}", ""]

    def _authorship(self, line: str) -> bool:
        """Take a line below the title that names who wrote the document or the day of its version; return whether it is one."""
        author, day = _AUTHOR.fullmatch(line), DATE.search(line)
        if day:
            self.attributes.setdefault("revdate", day[0])
        elif author and "author" not in self.attributes:
            self.attributes["author"] = author[1]
        else:
            return _VERSION.fullmatch(line) is not None
        return True

    def _attribute(self, line: str) -> bool:
        """Take a line that sets an attribute, and return whether it is one."""
        match = ATTRIBUTE.fullmatch(line.rstrip())
        if match is None:
            return False
        name = match[1].lower()
        value = name_value(fill_in(match[2] or "", self.attributes))
        if "!" in name or value is None:
            self.attributes.pop(name.strip("!"), None)
        else:
            self.attributes[name] = value
        return True

    def _block(self, lines: Sequence[str], place: int, depth: int) -> tuple[int, list[str]]:
        """Return how many lines the block that begins here has, and what is written for it."""
        block = Block()
        start = place
        while place < len(lines) and (
            not lines[place].strip() or block.read(lines[place].rstrip())
        ):
            place += 1
        if place >= len(lines):
            return place - start, []
        count, written = self._bare_block(lines, place, block, depth)
        title = self._inline(block.title)
        above = [lead_in(title), ""] if title and any(map(str.strip, written)) else []
        return place - start + count, ["", *above, *written]

    def _bare_block(
        self, lines: Sequence[str], place: int, block: Block, depth: int
    ) -> tuple[int, list[str]]:
        line = lines[place].rstrip()
        if line.startswith("//") and not line.startswith("///"):
            return 1, []
        if heading := HEADING.fullmatch(line):
            level = len(heading[1]) if block.style != "discrete" else 6
            return 1, ["", f"{'#' * level} {self._inline(heading[2])}", ""]
        if DELIMITER.fullmatch(line):
            return self._delimited(lines, place, block, depth)
        if self._attribute(line) or _RULE.fullmatch(line):
            return 1, []
        if macro := LINE_MACRO.fullmatch(line):
            caption = self._inline(block.title) if macro[1] in ("image", "video") else ""
            block.title = ""
            return 1, [caption, ""] if caption else []
        if read_item(line):
            return self._list(lines, place, depth)
        if line[0] == " " and block.style not in ("normal", *_ASIDES):
            count = count_lines(lines, place)
            return count, [*fenced(dedent(lines[place : place + count])), ""]
        return self._paragraph(lines, place, block)

    def _delimited(
        self, lines: Sequence[str], place: int, block: Block, depth: int
    ) -> tuple[int, list[str]]:
        """Read a block that ends with the line with which it begins."""
        mark = lines[place].rstrip()
        if mark[0] == "`":
            mark = "`" * (len(mark) - len(mark.lstrip("`")))
        end = next(
            (number for number in range(place + 1, len(lines)) if lines[number].rstrip() == mark),
            len(lines),
        )
        inside = lines[place + 1 : end]
        return end + 1 - place, self._inside(mark, inside, block, depth)

    def _inside(self, mark: str, inside: Sequence[str], block: Block, depth: int) -> list[str]:
        style = block.style.upper()
        if mark[0] == "/" or block.style == "comment":
            return []
        if mark[0] in "|,:!":
            return self._table(mark[0], inside, block)
        if mark[0] in ".`" or (mark[0] == "-" and len(mark) > 2) or block.style in _CODE:
            return [*fenced(inside), ""] if any(map(str.strip, inside)) else []
        if mark[0] == "+":
            return [*inside, ""]
        inner = self.read(inside, depth + 1)
        if style in _ASIDES:
            title, block.title = self._inline(block.title), ""
            return [lead_in(title) if title else f"{name_aside(style.lower())}:", "", *inner, ""]
        if mark[0] == "_" or block.style in ("quote", "verse"):
            by = self._inline(", ".join(word for word in block.words if word))
            return [
                *(f"> {line}".rstrip() for line in filled(inner)),
                *(["", f"— {by}"] if by else []),
                "",
            ]
        return [*inner, ""]

    def _table(self, sign: str, inside: Sequence[str], block: Block) -> list[str]:
        if sign == "," or block.named.get("format") in ("csv", "tsv", "dsv"):
            rows = separated_cells(inside)
        else:
            lines = [line.replace("!", "|") for line in inside] if sign == "!" else inside
            rows = cells_of(lines, count_columns(block.named.get("cols", "")))
        cells = [
            [self._inline(" ".join(cell.split())).replace("|", "\\|") for cell in row]
            for row in rows
        ]
        cells = [row for row in cells if any(row)]
        return [*table_lines(cells), ""] if cells else []

    def _list(self, lines: Sequence[str], place: int, depth: int) -> tuple[int, list[str]]:
        """Read list items of all levels, with the blocks that a line with `+` adds to them."""
        start = place
        levels = Levels()
        written: list[str] = []
        while place < len(lines):
            line = lines[place]
            below = place
            while below < len(lines) and (
                not lines[below].strip() or lines[below].startswith("// ")
            ):
                below += 1
            if below > place:
                if below >= len(lines) or read_item(lines[below]) is None:
                    break
                place = below
                continue
            if line.strip() == "+":
                count, block = 0, list[str]()
                if place + 1 < len(lines) and depth < DEEPEST:
                    count, block = self._block(lines, place + 1, depth + 1)
                written += ["", *indented(block, levels.depth), ""]
                place += 1 + count
                continue
            count, item = self._item(lines, place, levels)
            if not count:
                break
            written += item
            place += count
        return place - start, [*written, ""]

    def _item(self, lines: Sequence[str], place: int, levels: Levels) -> tuple[int, list[str]]:
        """Read one item with the lines of its paragraph; 0 lines for what is none."""
        item = read_item(lines[place])
        if item is None:
            return 0, []
        number = levels.enter(item.kind)
        end = place + 1
        text = [item.text]
        below = skip_empty(lines, end)
        if not item.text and below < len(lines) and not ends_item(lines[below]):
            text, end = [lines[below].strip()], below + 1
        while end < len(lines) and lines[end].strip() and not ends_item(lines[end]):
            text.append(lines[end].strip())
            end += 1
        words = self._inline(_CHECK.sub("", "\n".join(text), count=1))
        if item.term:
            words = f"{self._inline(item.term)}: {words}".strip()
        mark = f"{item.number or number}." if item.is_numbered else "-"
        margin = MARGIN * (levels.depth - 1)
        head, *rest = words.split("\n")
        return end - place, [
            f"{margin}{mark} {head}",
            *(f"{margin}{MARGIN}{line}" for line in rest),
        ]

    def _paragraph(self, lines: Sequence[str], place: int, block: Block) -> tuple[int, list[str]]:
        count = count_lines(
            lines,
            place,
            lambda line: (
                not (DELIMITER.fullmatch(line.rstrip()) or ATTRIBUTES.fullmatch(line.rstrip()))
            ),
        )
        text = "\n".join(
            line.strip() for line in lines[place : place + count] if not line.startswith("// ")
        )
        if count == 2 and (title := self._underlined(lines[place], lines[place + 1].rstrip())):
            return count, title
        if block.style in _CODE:
            return count, [*fenced(lines[place : place + count]), ""]
        style, aside = block.style.upper(), _ADMONITION.match(text)
        if aside or style in _ASIDES:
            name, words = (aside[1], aside[2]) if aside else (style, text)
            return count, [f"{name_aside(name.lower())}: {self._inline(words)}", ""]
        words = self._inline(text)
        if block.style in ("quote", "verse"):
            by = ", ".join(word for word in block.words if word)
            return count, [
                *(f"> {line}" for line in words.split("\n")),
                *(["", f"— {by}"] if by else []),
                "",
            ]
        return count, [*words.split("\n"), ""]

    def _underlined(self, line: str, below: str) -> list[str]:
        """Return a title as old documents write it, [] for what is none."""
        rule = _UNDERLINED.fullmatch(below)
        if rule is None or abs(len(below) - len(line.rstrip())) > _MOST_APART:
            return []
        return ["", f"{'#' * ('=-~^+'.index(rule[1]) + 1)} {self._inline(line)}", ""]

    def _inline(self, text: str) -> str:
        return to_inline(text.strip(), self.attributes)
