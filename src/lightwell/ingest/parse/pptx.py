"""PowerPoint presentations: a section and a page for each slide, with its shapes, tables, charts and the speaker's notes.

Shapes come in the order in which PowerPoint reads them to people, the title first. Pictures, comments and layouts are left out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from lightwell.domain.documents import ParsedDocument
from lightwell.ingest.parse._builder import Builder
from lightwell.ingest.parse._package import (
    DC,
    Element,
    Package,
    broken,
    date_of,
    nearest,
    open_package,
    value_of,
)
from lightwell.ingest.parse._slides import NOTES, add_slide, title_of_slides, with_pages
from lightwell.ingest.parse._text import one_line

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_TERMS = "{http://purl.org/dc/terms/}"

_MAIN = "ppt/presentation.xml"
_SHAPE, _TABLE, _CHART = f"{_P}sp", f"{_A}tbl", f"{_C}chart"
_SHAPES = frozenset((_SHAPE, _TABLE, _CHART, _DIAGRAM))
_ROWS, _CELLS = frozenset((f"{_A}tr",)), frozenset((f"{_A}tc",))
_PARAGRAPHS, _SERIES = frozenset((f"{_A}p",)), frozenset((f"{_C}ser",))
_SKIPPED = frozenset((_FALLBACK,))
_PLACEHOLDER = f"{_P}nvSpPr/{_P}nvPr/{_P}ph"
_TITLES = ("title", "ctrTitle")
_FURNITURE = frozenset("dt ftr hdr sldNum sldImg".split())
_LISTS = ("body", "obj")

_TEMPLATE_DATE = datetime(2013, 1, 27, 9, 15, 58, tzinfo=UTC)
"""The date in python-pptx's template, which files made from it keep."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the package, and the parts to which it refers: their ids, kinds and names."""

    package: Package
    name: str
    related: Sequence[tuple[str, str, str]]

    def of_kind(self, kind: str) -> list[str]:
        """Return the names of the related parts of a kind."""
        return [name for _, other, name in self.related if other == kind]

    def with_ids(self, ids: Iterable[str | None]) -> list[str]:
        """Return the names of the related parts with these ids, in the order of the ids."""
        names = {id: name for id, _, name in self.related}
        return [names[id] for id in ids if id in names]


def _part(package: Package, name: str) -> _Part:
    return _Part(package, name, package.related(name))


def parse(content: bytes, *, name: str = "") -> ParsedDocument:
    """Return the document; its pages are the slides, hidden ones among them, as PowerPoint counts them."""
    package = open_package(content, "PowerPoint presentation")
    main = package.xml(_MAIN)
    if main is None:
        raise broken(package.what)
    builder = Builder()
    titles: list[str] = []
    ids = [node.get(f"{_R}id") for node in main.iter(f"{_P}sldId")]
    # Each part once: a list that names one slide a thousand times would be as long as a thousand slides.
    slides = dict.fromkeys(_part(package, _MAIN).with_ids(ids))
    for number, slide in enumerate(slides, start=1):
        titles.append(_add_slide(builder, _part(package, slide), number))
    properties = package.xml("docProps/core.xml")
    updated_at = date_of(properties, f"{_TERMS}modified", f"{_TERMS}created")
    return with_pages(
        ParsedDocument(
            text=builder.text(),
            title=title_of_slides(value_of(properties, f"{DC}title"), titles),
            author=value_of(properties, f"{DC}creator"),
            sections=builder.sections(),
            pages=(),
            spans=builder.spans(),
            updated_at=None if updated_at == _TEMPLATE_DATE else updated_at,
        )
    )


def _add_slide(builder: Builder, part: _Part, number: int) -> str:
    """Add a slide and return its title."""
    root = part.package.xml(part.name)
    shapes = [*nearest(root, _SHAPES, _SKIPPED)] if root is not None else []
    titles = [shape for shape in shapes if _role(shape) in _TITLES]
    title = one_line(" ".join(_paragraphs(titles[0]))) if titles else ""
    add_slide(builder, number, title)
    for shape in shapes:
        if shape not in titles[:1]:
            _add_shape(builder, part, shape)
    for notes in part.of_kind("notesSlide"):
        root = part.package.xml(notes)
        shapes = [*nearest(root, _SHAPES, _SKIPPED)] if root is not None else []
        texts = [text for shape in shapes if _role(shape) == "body" for text in _paragraphs(shape)]
        if texts:
            builder.add_heading(NOTES, 2)
            builder.add_block("\n".join(texts))
    return title


def _add_shape(builder: Builder, part: _Part, shape: Element) -> None:
    match shape.tag:
        case tag if tag == _TABLE:
            builder.add_table(
                [
                    ["\n".join(_paragraphs(cell)) for cell in nearest(row, _CELLS, _SKIPPED)]
                    for row in nearest(shape, _ROWS, _SKIPPED)
                ]
            )
        case tag if tag == _CHART:
            for name in part.with_ids([shape.get(f"{_R}id")]):
                _add_chart(builder, part.package.xml(name))
        case tag if tag == _DIAGRAM:
            for name in part.with_ids([shape.get(f"{_R}dm")]):
                root = part.package.xml(name)
                _add_items(builder, _paragraphs(root) if root is not None else [])
        case _:
            _add_text(builder, shape)


def _add_text(builder: Builder, shape: Element) -> None:
    role = _role(shape)
    texts = [] if role in _FURNITURE else _paragraphs(shape)
    marks = [*shape.iter(f"{_A}buChar", f"{_A}buAutoNum")]
    if len(texts) > 1 and (role in _LISTS or marks):
        _add_items(builder, texts)
        return
    for text in texts:
        builder.add_block(text)


def _add_items(builder: Builder, texts: Sequence[str]) -> None:
    for place, text in enumerate(texts):
        builder.add_item(text, follows=place > 0)


def _role(shape: Element) -> str:
    """Return what kind of placeholder a shape is, "" for none."""
    placeholder = shape.find(_PLACEHOLDER) if shape.tag == _SHAPE else None
    return "" if placeholder is None else placeholder.get("type") or "obj"


def _paragraphs(element: Element) -> list[str]:
    """Return the texts of the paragraphs below, without empty ones."""
    texts = (
        "".join(
            "\n" if node.tag == f"{_A}br" else node.text or ""
            for node in paragraph.iter(f"{_A}t", f"{_A}br", _MATH)
        )
        for paragraph in nearest(element, _PARAGRAPHS, _SKIPPED)
    )
    return [text for text in texts if text.strip()]


def _add_chart(builder: Builder, root: Element | None) -> None:
    """Add the values that a chart shows, as a table with a column for each series."""
    chart = root.find(_CHART) if root is not None else None
    if chart is None:
        return
    title = chart.find(f"{_C}title")
    builder.add_block("\n".join(_paragraphs(title)) if title is not None else "")
    series = [*nearest(chart, _SERIES, _SKIPPED)]
    points = [(_points(line, "cat", "xVal"), _points(line, "val", "yVal")) for line in series]
    names = [" ".join(_points(line, "tx").values()) for line in series]
    places = dict.fromkeys(place for _, values in points for place in values)
    labels = {place: label for labels, _ in points for place, label in labels.items()}
    rows = [
        [labels.get(place, ""), *(values.get(place, "") for _, values in points)]
        for place in places
    ]
    if rows:
        builder.add_table([["", *names], *rows])


def _points(series: Element, *names: str) -> dict[str, str]:
    """Return the values that are kept with a series, by their places."""
    points: dict[str, str] = {}
    for name in names:
        node = series.find(f"{_C}{name}")
        for point in node.iter(f"{_C}pt") if node is not None else ():
            value = point.find(f"{_C}v")
            points[point.get("idx") or ""] = (value.text or "") if value is not None else ""
    return points
