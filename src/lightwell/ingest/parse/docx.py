"""Word documents: headings by style, tables as pipe rows. Footnotes, comments and headers are left out."""

import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol, cast

import docx
from docx.opc.coreprops import CoreProperties
from docx.opc.exceptions import OpcError
from docx.oxml.ns import qn

from lightwell.domain.documents import ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse._builder import Builder
from lightwell.ingest.parse._text import clean, collapse_whitespace, to_utc
from lightwell.text.regex import regex

MAX_UNPACKED = 200 * 1024 * 1024
MAX_RATIO = 200
MAX_MARKUP = 64 * 1024 * 1024
"""Bytes of XML in one document; the parsed tree needs more than ten times as much memory."""

MAX_ELEMENTS = 2_000_000
_SMALL_MEMBER = 1024 * 1024
_ENCRYPTED = 0x1
_COMPRESSION_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_OLE = b"\xd0\xcf\x11\xe0"
_MAX_STYLE_DEPTH = 10
_WHITESPACE_TAGS = {
    qn("w:tab"): "\t",
    qn("w:br"): "\n",
    qn("w:cr"): "\n",
    qn("w:noBreakHyphen"): "-",
}
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_HIDDEN_TAGS = frozenset((qn("w:moveFrom"), qn("w:pPr"), qn("w:rPr"), _FALLBACK))
_PARAGRAPH, _TABLE, _ROW, _CELL = qn("w:p"), qn("w:tbl"), qn("w:tr"), qn("w:tc")
_TEXT_TAGS = frozenset((qn("w:t"), _MATH + "t"))
_HEADING = regex(r"heading ([1-9])")
_CODE = regex(r"\b(?:code|source|preformatted|verbatim|listing)\b")
_STYLE, _STYLE_ID, _NAME, _BASE = qn("w:style"), qn("w:styleId"), qn("w:name"), qn("w:basedOn")
_PARAGRAPH_PROPERTIES, _PARAGRAPH_STYLE = qn("w:pPr"), qn("w:pStyle")
_OUTLINE_LEVEL, _NUMBERING, _VALUE = qn("w:outlineLvl"), qn("w:numPr"), qn("w:val")
_BODY_TEXT = 9
_TEMPLATE_DATE = datetime(2013, 12, 23, 23, 15, tzinfo=UTC)
"""The date in python-docx's template; files made from the template often keep it, so it says nothing."""


_FAILURES = (
    *(OpcError, SyntaxError, zipfile.BadZipFile, zlib.error),
    *(OSError, EOFError, LookupError, ValueError, RuntimeError, AttributeError, TypeError),
)
"""Errors that python-docx raises for damaged files, because it does not check that expected parts exist."""


class _Element(Protocol):
    """The part of lxml's element that is used here."""

    @property
    def tag(self) -> str: ...
    @property
    def text(self) -> str | None: ...
    def __iter__(self) -> Iterator["_Element"]: ...
    def get(self, key: str) -> str | None: ...
    def find(self, path: str) -> "_Element | None": ...
    def iter(self, tag: str) -> Iterator["_Element"]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Style:
    name: str
    base: str
    level: int | None


def parse(content: bytes, *, name: str = "") -> ParsedDocument:
    """Return the document; it has no pages, because the displaying program computes them."""
    _reject_hostile(content)
    try:
        document = docx.Document(io.BytesIO(content))
        styles = {
            style.get(_STYLE_ID) or "": _Style(
                name=(_child_value(style, _NAME) or "").lower(),
                base=_child_value(style, _BASE) or "",
                level=_outline_level(style.find(_PARAGRAPH_PROPERTIES)),
            )
            for style in cast("_Element", document.styles.element).iter(_STYLE)
        }
        builder = Builder()
        titles = _add_blocks(builder, cast("_Element", document.element.body), styles)
        properties = document.core_properties
        return ParsedDocument(
            text=builder.text(),
            title=collapse_whitespace(
                clean(titles.get(0) or properties.title or titles.get(1, ""))
            ),
            author=collapse_whitespace(clean(properties.author or "")),
            sections=builder.sections(),
            pages=(),
            spans=builder.spans(),
            updated_at=_modified_at(properties),
        )
    except _FAILURES as error:
        raise _broken_file() from error


def _broken_file() -> Unreadable:
    return Unreadable(
        "broken", "the Word document is incomplete; open it in Word and save it again"
    )


def _reject_hostile(content: bytes) -> None:
    if content.startswith(_OLE):
        raise Unreadable("encrypted", "it asks for a password; save it without one")
    try:
        members = zipfile.ZipFile(io.BytesIO(content)).infolist()
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError) as error:
        raise _broken_file() from error
    markup = [member for member in members if member.filename.endswith((".xml", ".rels"))]
    if any(member.compress_type not in _COMPRESSION_METHODS for member in members):
        raise _broken_file()
    if any(member.flag_bits & _ENCRYPTED for member in members):
        raise Unreadable("encrypted", "it asks for a password; save it without one")
    if (
        sum(member.file_size for member in members) > MAX_UNPACKED
        or sum(member.file_size for member in markup) > MAX_MARKUP
        or any(map(_is_bomb, members))
    ):
        raise Unreadable(
            "too_large", "it is far larger unpacked than packed; remove large pictures or split it"
        )
    _reject_too_many_elements(content, markup)


def _reject_too_many_elements(content: bytes, markup: Sequence[zipfile.ZipInfo]) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            elements = sum(archive.read(member).count(b"<") for member in markup)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError) as error:
        raise _broken_file() from error
    if elements > MAX_ELEMENTS:
        raise Unreadable(
            "too_large", f"it has over {MAX_ELEMENTS:,} paragraphs, cells and the like; split it"
        )


def _is_bomb(member: zipfile.ZipInfo) -> bool:
    ratio = member.file_size / max(member.compress_size, 1)
    return member.file_size > _SMALL_MEMBER and ratio > MAX_RATIO


def _modified_at(properties: CoreProperties) -> datetime | None:
    try:
        modified = to_utc(properties.modified)
    except (ValueError, OverflowError):
        return None  # python-docx applies the zone's offset itself, which overflows for the earliest date
    return None if modified == _TEMPLATE_DATE else modified


def _add_blocks(
    builder: Builder, body: _Element, styles: Mapping[str, _Style]
) -> Mapping[int, str]:
    """Add all blocks to the builder and return the first heading's text of each level, 0 for the title."""
    titles: dict[int, str] = {}
    code: list[str] = []
    in_list = False
    for element in _nearest_descendants(body, _PARAGRAPH, _TABLE):
        block_type = _classify(element, styles)
        if block_type != "code":
            builder.add_code("\n".join(code))
            code.clear()
        match block_type:
            case "table":
                builder.add_table(
                    [
                        [_text(cell) for cell in _nearest_descendants(row, _CELL)]
                        for row in _nearest_descendants(element, _ROW)
                    ]
                )
            case "code":
                code.append(_text(element))
            case "formula":
                builder.add_formula(_text(element))
            case "list":
                builder.add_item(_text(element), follows=in_list)
            case int() as level:
                titles.setdefault(level, _text(element))
                builder.add_heading(_text(element), level)
            case _:
                builder.add_block(_text(element))
        in_list = block_type == "list"
    builder.add_code("\n".join(code))
    return titles


def _classify(element: _Element, styles: Mapping[str, _Style]) -> str | int:
    """Return a heading's level, 0 for the title, or the type of any other block."""
    if element.tag == _TABLE:
        return "table"
    properties = element.find(_PARAGRAPH_PROPERTIES)
    style = _child_value(properties, _PARAGRAPH_STYLE) or "Normal"
    level = _outline_level(properties)
    level = _heading_level(style, styles) if level is None else level
    if level is not None and level <= _BODY_TEXT:
        return level
    name = styles[style].name if style in styles else ""
    if _CODE.search(name):
        return "code"
    if name.startswith("list") or (
        properties is not None and properties.find(_NUMBERING) is not None
    ):
        return "list"
    return "formula" if any(True for _ in element.iter(_MATH + "oMath")) else "text"


def _heading_level(style: str, styles: Mapping[str, _Style]) -> int | None:
    for _ in range(_MAX_STYLE_DEPTH):
        if style not in styles:
            return None
        definition = styles[style]
        if definition.name == "title":
            return 0
        if match := _HEADING.fullmatch(definition.name):
            return int(match[1])
        if definition.level is not None:
            return definition.level
        style = definition.base
    return None


def _outline_level(properties: _Element | None) -> int | None:
    """Return the outline level from 1; body text has a level above nine."""
    value = _child_value(properties, _OUTLINE_LEVEL)
    return int(value) + 1 if value and value.isdigit() else None


def _child_value(element: _Element | None, name: str) -> str | None:
    child = element.find(name) if element is not None else None
    return child.get(_VALUE) if child is not None else None


def _nearest_descendants(element: _Element, *tags: str) -> Iterator[_Element]:
    """Yield the nearest descendants with one of these tags, in order."""
    for child in element:
        if child.tag in tags:
            yield child
        elif child.tag not in _HIDDEN_TAGS:
            yield from _nearest_descendants(child, *tags)


def _text(element: _Element) -> str:
    return "".join(_text_parts(element)).strip("\n")


def _text_parts(element: _Element) -> Iterator[str]:
    for child in element:
        if child.tag in _TEXT_TAGS:
            yield child.text or ""
        elif child.tag in _WHITESPACE_TAGS:
            yield _WHITESPACE_TAGS[child.tag]
        elif child.tag not in _HIDDEN_TAGS:
            yield "\n" if child.tag == _PARAGRAPH else ""
            yield from _text_parts(child)
