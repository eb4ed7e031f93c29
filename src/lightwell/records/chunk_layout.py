"""A chunk's layout as JSON: short lists."""

from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from lightwell.domain.documents import Layout, Page, Section

_LayoutJson = tuple[list[tuple[list[str], int, int]], list[tuple[int, int, int]]]
_LAYOUT_JSON: TypeAdapter[_LayoutJson] = TypeAdapter(_LayoutJson)


def to_json(layout: Layout) -> Jsonb:
    """Return the layout as a JSON parameter."""
    sections = [(list(section.path), section.start, section.end) for section in layout.sections]
    pages = [(page.number, page.start, page.end) for page in layout.pages]
    return Jsonb([sections, pages])


def from_json(value: object) -> Layout:
    """Return the layout from its JSON form."""
    sections, pages = _LAYOUT_JSON.validate_python(value)
    return Layout(
        sections=tuple(
            Section(path=tuple(path), start=start, end=end) for path, start, end in sections
        ),
        pages=tuple(Page(number=number, start=start, end=end) for number, start, end in pages),
    )
