"""Word documents: headings by style, tables as pipe rows. Footnotes, comments and headers are left out."""

import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import docx
from docx.opc.coreprops import CoreProperties
from docx.opc.exceptions import OpcError
from docx.oxml.ns import qn

from lightwell.domain.documents import ParsedDocument
from lightwell.ingest.parse._builder import Builder
from lightwell.ingest.parse._package import Element, broken, nearest, open_package
from lightwell.ingest.parse._text import one_line, to_utc
from lightwell.text.regex import regex

_WHAT = "Word document"
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
_PARAGRAPH, _TABLE = qn("w:p"), qn("w:tbl")
_BLOCKS, _ROWS, _CELLS = (
    frozenset((_PARAGRAPH, _TABLE)),
    frozenset((qn("w:tr"),)),
    frozenset((qn("w:tc"),)),
)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Style:
    name: str
    base: str
    level: int | None


def parse(content: bytes, *, name: str = "") -> ParsedDocument:
    """Return the document; it has no pages, because the displaying program computes them."""
    open_package(content, _WHAT)
    try:
        document = docx.Document(io.BytesIO(content))
        styles = {
            style.get(_STYLE_ID) or "": _Style(
                name=(_child_value(style, _NAME) or "").lower(),
                base=_child_value(style, _BASE) or "",
                level=_outline_level(style.find(_PARAGRAPH_PROPERTIES)),
            )
            for style in cast("Element", document.styles.element).iter(_STYLE)
        }
        builder = Builder()
        titles = _add_blocks(builder, cast("Element", document.element.body), styles)
        properties = document.core_properties
        return ParsedDocument(
            text=builder.text(),
            title=one_line(titles.get(0) or properties.title or titles.get(1, "")),
            author=one_line(properties.author or ""),
            sections=builder.sections(),
            pages=(),
            spans=builder.spans(),
            updated_at=_modified_at(properties),
        )
    except _FAILURES as error:
        raise broken(_WHAT) from error


def _modified_at(properties: CoreProperties) -> datetime | None:
    try:
        modified = to_utc(properties.modified)
    except (ValueError, OverflowError):
        return None  # python-docx applies the zone's offset itself, which overflows for the earliest date
    return None if modified == _TEMPLATE_DATE else modified


def _add_blocks(builder: Builder, body: Element, styles: Mapping[str, _Style]) -> Mapping[int, str]:
    """Add all blocks to the builder and return the first heading's text of each level, 0 for the title."""
    titles: dict[int, str] = {}
    code: list[str] = []
    in_list = False
    for element in nearest(body, _BLOCKS, _HIDDEN_TAGS):
        block_type = _classify(element, styles)
        if block_type != "code":
            builder.add_code("\n".join(code))
            code.clear()
        match block_type:
            case "table":
                builder.add_table(
                    [
                        [_text(cell) for cell in nearest(row, _CELLS, _HIDDEN_TAGS)]
                        for row in nearest(element, _ROWS, _HIDDEN_TAGS)
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


def _classify(element: Element, styles: Mapping[str, _Style]) -> str | int:
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


def _outline_level(properties: Element | None) -> int | None:
    """Return the outline level from 1; body text has a level above nine."""
    value = _child_value(properties, _OUTLINE_LEVEL)
    return int(value) + 1 if value and value.isdigit() else None


def _child_value(element: Element | None, name: str) -> str | None:
    child = element.find(name) if element is not None else None
    return child.get(_VALUE) if child is not None else None


def _text(element: Element) -> str:
    return "".join(_text_parts(element)).strip("\n")


def _text_parts(element: Element) -> Iterator[str]:
    for child in element:
        if child.tag in _TEXT_TAGS:
            yield child.text or ""
        elif child.tag in _WHITESPACE_TAGS:
            yield _WHITESPACE_TAGS[child.tag]
        elif child.tag not in _HIDDEN_TAGS:
            yield "\n" if child.tag == _PARAGRAPH else ""
            yield from _text_parts(child)
