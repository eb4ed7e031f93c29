"""Write the pdf and docx files of the example world from `tests/world_sources/`.

Run by hand after a change there: `python tests/make_world.py`, or with another folder to write to.
In a source, `***` begins a page.
"""

import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from io import BytesIO
from pathlib import Path

import docx
from docx.document import Document
from markdown_it import MarkdownIt
from markdown_it.token import Token
from reportlab.lib import colors, pagesizes
from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
from reportlab.platypus import (
    Flowable,
    PageBreak,
    Paragraph,
    Preformatted,
    SimpleDocTemplate,
    Spacer,
    Table,
)

from lightwell.world import DOCUMENTS

SOURCES = Path(__file__).parent / "world_sources"
_WRITTEN = datetime(2026, 4, 20)  # noqa: DTZ001 - docx keeps naive times


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    level: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """A paragraph or, with a mark such as `1.` or `-`, an entry of a list."""

    text: str
    mark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPage:
    pass


Block = Heading | Prose | Code | Grid | NewPage


def blocks(markdown: str) -> Iterator[Block]:
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    mark = ""
    for at, token in enumerate(tokens):
        if token.type == "list_item_open":
            mark = f"{token.info}." if token.info else "-"
        elif token.type == "list_item_close":
            mark = ""
        elif block := _block(tokens[at:], mark):
            yield block


def pdf(markdown: str) -> bytes:
    """Return a deterministic pdf with one bookmark for each heading."""
    parts = list(blocks(markdown))
    target = BytesIO()
    title = next(part.text for part in parts if isinstance(part, Heading))
    paper = _Paper(target, title=title)
    paper.build([flowable for part in parts for flowable in _printed(part)])
    return target.getvalue()


def word(markdown: str) -> bytes:
    """Return a docx with heading styles and tables, its times fixed."""
    document = docx.Document()
    document.core_properties.created = document.core_properties.modified = _WRITTEN
    document.core_properties.author = "Halden Instruments"
    for part in blocks(markdown):
        _type(part, document)
    raw = BytesIO()
    document.save(raw)
    return _timeless(raw)


def _block(tokens: Sequence[Token], mark: str) -> Block | None:
    match tokens[0].type:
        case "heading_open":
            return Heading(level=int(tokens[0].tag[1]), text=_plain(tokens[1]))
        case "paragraph_open":
            return Prose(text=_plain(tokens[1]), mark=mark)
        case "fence":
            return Code(text=tokens[0].content.rstrip())
        case "table_open":
            return Grid(rows=tuple(_rows(tokens)))
        case "hr":
            return NewPage()
        case _:
            return None


def _plain(token: Token) -> str:
    return re.sub(r"\*\*|`", "", token.content).replace("\n", " ")


def _rows(tokens: Sequence[Token]) -> Iterator[tuple[str, ...]]:
    cells: list[str] = []
    for token in tokens:
        match token.type:
            case "inline":
                cells.append(_plain(token))
            case "tr_close":
                yield tuple(cells)
                cells.clear()
            case "table_close":
                return
            case _:
                pass


class _Paper(SimpleDocTemplate):
    def __init__(self, file: BytesIO, *, title: str) -> None:
        super().__init__(
            file,
            pagesize=pagesizes.A4,
            title=title,
            author="Halden Instruments",
            invariant=1,
        )

    def afterFlowable(self, flowable: Flowable) -> None:  # noqa: N802 - reportlab's name
        if not isinstance(flowable, Paragraph) or not flowable.style.name.startswith("Heading"):
            return
        text = flowable.getPlainText()
        self.canv.bookmarkPage(text)
        self.canv.addOutlineEntry(text, text, int(flowable.style.name[-1]) - 1)


def _printed(part: Block) -> Sequence[Flowable]:
    styles = getSampleStyleSheet()
    match part:
        case Heading():
            return [Paragraph(escape(part.text), styles[f"Heading{part.level}"])]
        case Prose():
            bullet = part.mark or None
            indented = ParagraphStyle(
                "body",
                styles["BodyText"],
                leftIndent=18 if bullet else 0,
                spaceAfter=4,
            )
            return [Paragraph(escape(part.text), indented, bulletText=bullet)]
        case Code():
            return [Preformatted(part.text, styles["Code"]), Spacer(1, 6)]
        case Grid():
            return [_table(part), Spacer(1, 8)]
        case NewPage():
            return [PageBreak()]


def _table(grid: Grid) -> Table:
    body = getSampleStyleSheet()["BodyText"]
    cells = [[Paragraph(escape(text), body) for text in row] for row in grid.rows]
    lines = [
        ("GRID", (0, 0), (-1, -1), 0.4, colors.grey),
        ("BACKGROUND", (0, 0), (-1, 0), colors.whitesmoke),
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
    ]
    return Table(cells, style=lines, repeatRows=1)


def _type(part: Block, document: Document) -> None:
    match part:
        case Heading():
            document.add_heading(part.text, part.level)
        case Prose():
            style = {"": "Normal", "-": "List Bullet"}.get(part.mark, "List Number")
            document.add_paragraph(part.text, style)
        case Code():
            document.add_paragraph(part.text, "No Spacing")
        case Grid():
            table = document.add_table(0, len(part.rows[0]), "Table Grid")
            for row in part.rows:
                for cell, text in zip(table.add_row().cells, row, strict=True):
                    cell.text = text
        case NewPage():
            document.add_page_break()


def _timeless(raw: BytesIO) -> bytes:
    fixed = BytesIO()
    with zipfile.ZipFile(raw) as old, zipfile.ZipFile(fixed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            entry = zipfile.ZipInfo(name, _WRITTEN.timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(entry, old.read(name))
    return fixed.getvalue()


def main(folder: Path) -> None:
    """Make `folder/sales/NAME.pdf` from `sales/NAME.pdf.md`, and so on."""
    for source in sorted(SOURCES.rglob("*.md")):
        target = folder / source.relative_to(SOURCES).with_suffix("")
        make = {".pdf": pdf, ".docx": word}[target.suffix]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(make(source.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else DOCUMENTS)
