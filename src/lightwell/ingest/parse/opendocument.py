"""Texts and presentations of OpenDocument (LibreOffice): headings, lists, tables, footnotes; a slide is a section and a page.

Comments, deleted text and tables of contents are left out.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lightwell.domain.documents import ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse._builder import Builder
from lightwell.ingest.parse._package import (
    DC,
    Element,
    broken,
    date_of,
    nearest,
    open_package,
    value_of,
)
from lightwell.ingest.parse._slides import NOTES, add_slide, title_of_slides, with_pages
from lightwell.ingest.parse._text import one_line
from lightwell.text.regex import regex

_OASIS = "{urn:oasis:names:tc:opendocument:xmlns:"
_OFFICE, _TEXT, _TABLES = f"{_OASIS}office:1.0}}", f"{_OASIS}text:1.0}}", f"{_OASIS}table:1.0}}"
_DRAW, _STYLE, _SHOWN = (
    f"{_OASIS}drawing:1.0}}",
    f"{_OASIS}style:1.0}}",
    f"{_OASIS}presentation:1.0}}",
)
_META = f"{_OASIS}meta:1.0}}"

_HEADING, _PARAGRAPH, _TABLE = f"{_TEXT}h", f"{_TEXT}p", f"{_TABLES}table"
_BLOCKS = frozenset((_HEADING, _PARAGRAPH, _TABLE))
_ITEMS = frozenset((f"{_TEXT}list-item", f"{_TEXT}list-header"))
_ROWS = frozenset((f"{_TABLES}table-row",))
_CELLS = frozenset((f"{_TABLES}table-cell", f"{_TABLES}covered-table-cell"))
_TEXTS = frozenset((_HEADING, _PARAGRAPH))
_NOTE, _BOXES, _SLIDE = f"{_TEXT}note", frozenset((f"{_DRAW}text-box",)), f"{_DRAW}page"
_NOTES, _NOTES_BELOW = f"{_SHOWN}notes", frozenset((_NOTE,))
_HIDDEN = frozenset(
    (
        *(f"{_TEXT}{word}" for word in ("tracked-changes", "table-of-content", "hidden-paragraph")),
        *(f"{_TEXT}{word}" for word in ("illustration-index", "table-index", "object-index")),
        *(f"{_OFFICE}{word}" for word in ("annotation", "annotation-end", "forms")),
        *(f"{_TABLES}shapes", _NOTES),
    )
)
_INSIDE = _HIDDEN | _BOXES | {_NOTE}
_SIGNS = {f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n"}
_SPACES, _COUNT = f"{_TEXT}s", f"{_TEXT}c"
_REPEATED = f"{_TABLES}number-columns-repeated"
_FURNITURE = frozenset("title header footer date-time page-number".split())
_MOST_REPEATED = 10
"""A cell may say that it stands a million times in its row."""

_MOST_SPACES = 64
_DEEPEST_STYLE = 10
_CODE = regex(r"preformatted|source", re.I)
_BLANKS = regex(r"\s+")


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes blocks into a builder; `parents` are those of automatic styles, `titles` the texts in the style of a title."""

    builder: Builder
    parents: Mapping[str, str]
    titles: list[str]

    def write(self, root: Element) -> None:
        code: list[str] = []
        in_list = False
        for block, is_item in _blocks(root):
            style = self._style(block)
            if block.tag == _PARAGRAPH and _CODE.search(style):
                code.append(_line(block))
                continue
            self._end_code(code)
            self._write_block(block, style, is_item=is_item, follows=in_list)
            in_list = is_item
        self._end_code(code)

    def _end_code(self, code: list[str]) -> None:
        self.builder.add_code("\n".join(code))
        code.clear()

    def _write_block(self, block: Element, style: str, *, is_item: bool, follows: bool) -> None:
        text = _line(block)
        if block.tag == _TABLE:
            self.builder.add_table(_rows(block))
        elif block.tag == _HEADING or style == "Title":
            level = block.get(f"{_TEXT}outline-level") or "1"
            is_title = block.tag != _HEADING
            self.titles.extend([text] if is_title else [])
            self.builder.add_heading(text, 0 if is_title else int(level) if level.isdigit() else 1)
        elif is_item:
            self.builder.add_item(text, follows=follows)
        else:
            self.builder.add_block(text)
        for note in nearest(block, _NOTES_BELOW, _HIDDEN | _BOXES) if block.tag != _TABLE else ():
            self.builder.add_block(f"{_sign(note)} {_below(note.find(f'{_TEXT}note-body'))}")

    def _style(self, block: Element) -> str:
        """Return the name of the style that a block's automatic style is made from."""
        name = block.get(f"{_TEXT}style-name") or ""
        for _ in range(_DEEPEST_STYLE):
            if name not in self.parents:
                break
            name = self.parents[name]
        return name


def parse(content: bytes, *, name: str = "") -> ParsedDocument:
    """Return the document; a presentation has a page for each slide, a text none."""
    package = open_package(content, "OpenDocument file")
    if b"encryption-data" in package.read("META-INF/manifest.xml"):
        raise Unreadable("encrypted", "it asks for a password; save it without one")
    root = package.xml("content.xml")
    body = root.find(f"{_OFFICE}body") if root is not None else None
    if root is None or body is None:
        raise broken(package.what)
    styles = root.iter(f"{_STYLE}style")
    parents = {
        style.get(f"{_STYLE}name") or "": style.get(f"{_STYLE}parent-style-name") or ""
        for style in styles
    }
    writer = _Writer(Builder(), parents, [])
    slides = [*nearest(body, frozenset((_SLIDE,)), _HIDDEN)]
    for number, slide in enumerate(slides, start=1):
        _write_slide(writer, slide, number)
    if not slides:
        writer.write(body)
    meta = package.xml("meta.xml")
    builder = writer.builder
    stated = value_of(meta, f"{DC}title")
    if not slides:
        stated = one_line(next(iter(writer.titles), "")) or stated
    document = ParsedDocument(
        text=builder.text(),
        title=title_of_slides(stated, writer.titles) if slides else stated,
        author=value_of(meta, f"{_META}initial-creator", f"{DC}creator"),
        sections=builder.sections(),
        pages=(),
        spans=builder.spans(),
        updated_at=date_of(meta, f"{DC}date", f"{_META}creation-date"),
    )
    return with_pages(document) if slides else document


def _write_slide(writer: _Writer, slide: Element, number: int) -> None:
    titles = (frame for frame in slide if frame.get(f"{_SHOWN}class") == "title")
    title = _below(next(titles, None))
    writer.titles.append(title)
    add_slide(writer.builder, number, title)
    for frame in slide:
        if frame.get(f"{_SHOWN}class") not in _FURNITURE and frame.tag not in _HIDDEN:
            writer.write(frame)
    notes = slide.find(_NOTES)
    if notes is not None and (text := _below(notes).strip()):
        writer.builder.add_heading(NOTES, 2)
        writer.builder.add_block(text)


def _blocks(element: Element, *, is_item: bool = False) -> Iterator[tuple[Element, bool]]:
    """Yield the blocks below, and those of text boxes behind the paragraph in which they stand, with whether it is an item."""
    for child in element:
        if child.tag in _BLOCKS:
            yield child, is_item
            for box in nearest(child, _BOXES, _HIDDEN) if child.tag != _TABLE else ():
                yield from _blocks(box)
        elif child.tag not in _HIDDEN:
            yield from _blocks(child, is_item=is_item or child.tag in _ITEMS)


def _rows(table: Element) -> list[list[str]]:
    """Return the cells by row; a row ends with its last cell that is not empty."""
    rows: list[list[str]] = []
    for row in nearest(table, _ROWS, _HIDDEN):
        cells: list[str] = []
        for cell in nearest(row, _CELLS, _HIDDEN):
            cells += [_below(cell)] * min(_number(cell, _REPEATED), _MOST_REPEATED)
        while cells and not cells[-1].strip():
            cells.pop()
        rows.append(cells)
    return rows


def _below(element: Element | None) -> str:
    """Return the paragraphs below an element, each on its line."""
    if element is None:
        return ""
    return "\n".join(_line(text) for text in nearest(element, _TEXTS, _HIDDEN))


def _line(element: Element) -> str:
    return "".join(_parts(element)) if element.tag != _TABLE else ""


def _parts(element: Element) -> Iterator[str]:
    yield _BLANKS.sub(" ", element.text or "")
    for child in element:
        if child.tag in _SIGNS:
            yield _SIGNS[child.tag]
        elif child.tag == _SPACES:
            yield " " * min(_number(child, _COUNT), _MOST_SPACES)
        elif child.tag == _NOTE:
            yield _sign(child)
        elif child.tag not in _INSIDE:
            yield from _parts(child)
        yield _BLANKS.sub(" ", child.tail or "")


def _sign(note: Element) -> str:
    citation = note.find(f"{_TEXT}note-citation")
    return f"[{(citation.text or '').strip()}]" if citation is not None else "[]"


def _number(element: Element, name: str) -> int:
    text = element.get(name) or ""
    return int(text) if text.isdecimal() and len(text) < 9 else 1
