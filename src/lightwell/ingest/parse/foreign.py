"""Parses what a parser elsewhere made of a file: docling-serve's Markdown, Apache Tika's XHTML or Unstructured's elements.

It is told apart by its first character. It is as untrusted as the file.
"""

from typing import Annotated

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from lightwell.domain.documents import ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse import html, markdown
from lightwell.ingest.parse._builder import Builder
from lightwell.ingest.parse._sections import build_pages
from lightwell.ingest.parse._text import parse_datetime

_MAX_LEVEL = 6
_FAILED = ("failure", "skipped")


class _Export(BaseModel):
    md_content: str | None = None


class _Conversion(BaseModel):
    """docling-serve's reply."""

    document: _Export
    status: str = ""


class _Metadata(BaseModel):
    page_number: Annotated[int, Field(ge=1)] | None = None
    category_depth: Annotated[int, Field(ge=0)] | None = None
    text_as_html: str | None = None
    last_modified: str | None = None


class _Element(BaseModel):
    """One of Unstructured's elements."""

    type: str = ""
    text: str = ""
    metadata: _Metadata = _Metadata()


_ELEMENTS = TypeAdapter(list[_Element])


def parse(content: bytes, *, name: str) -> ParsedDocument:
    """Return the document that a reply states."""
    match content.lstrip()[:1]:
        case b"{":
            return _parse_conversion(content, name)
        case b"[":
            return _parse_elements(content)
        case _:
            return html.parse(content, name="")


def _parse_conversion(content: bytes, name: str) -> ParsedDocument:
    try:
        conversion = _Conversion.model_validate_json(content)
    except ValidationError as error:
        raise _unexpected() from error
    text = conversion.document.md_content or ""
    if conversion.status in _FAILED or not text.strip():
        raise Unreadable("no_text", "the parser at LIGHTWELL_PARSER_URL found no text in it")
    return markdown.parse(text.encode("utf-8", errors="replace"), name=name)


def _parse_elements(content: bytes) -> ParsedDocument:
    """Return the elements as a document: titles as headings, tables as rows, and pages where they have numbers."""
    try:
        elements = _ELEMENTS.validate_json(content)
    except ValidationError as error:
        raise _unexpected() from error
    builder, starts = Builder(), dict[int, int]()
    title, follows = "", False
    for element in elements:
        number = element.metadata.page_number
        if number is not None and number > max(starts, default=0):
            starts[number] = builder.length if starts else 0
        if element.type == "Title" and not title:
            title = " ".join(element.text.split())
        _add(builder, element, follows=follows)
        follows = element.type == "ListItem"
    text = builder.text()
    return ParsedDocument(
        text=text,
        title=title,
        author="",
        sections=builder.sections(),
        pages=build_pages(starts, len(text)),
        spans=builder.spans(),
        updated_at=parse_datetime(elements[0].metadata.last_modified or "") if elements else None,
    )


def _add(builder: Builder, element: _Element, *, follows: bool) -> None:
    match element.type:
        case "Title":
            builder.add_heading(
                element.text, min((element.metadata.category_depth or 0) + 1, _MAX_LEVEL)
            )
        case "ListItem":
            builder.add_item(element.text, follows=follows)
        case "CodeSnippet":
            builder.add_code(element.text)
        case "Formula":
            builder.add_formula(element.text)
        case "Table" if rows := html.parse_table(element.metadata.text_as_html or ""):
            builder.add_table(rows)
        case "PageBreak" | "Header" | "Footer" | "PageNumber":
            pass
        case _:
            builder.add_block(element.text)


def _unexpected() -> Unreadable:
    return Unreadable(
        "broken",
        "what LIGHTWELL_PARSER_URL replied is not what such a parser replies; check that the address is that of the program",
    )
