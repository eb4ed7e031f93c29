"""What calamine does not tell of a workbook: its title, author and date, and the formats of its figures (Office Open XML only)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from lightwell.ingest.parse._numbers import Style, read_style
from lightwell.ingest.parse._package import DC, Element, Package, date_of, open_package, value_of
from lightwell.text.regex import regex

_WORKBOOK, _STYLES = "xl/workbook.xml", "xl/styles.xml"
_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATIONSHIP = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
_TERMS = "{http://purl.org/dc/terms/}"
_CELL = regex(r"<(?:\w{1,20}:)?c\s([^<>]*)>")
_STYLED = regex(r'(?:^|\s)s="(\d{1,6})"')
_PLACE = regex(r'(?:^|\s)r="([A-Z]{1,3})(\d{1,7})"')

Styles = Mapping[tuple[int, int], Style]
"""The styles of cells by row and column, from 0."""

NO_STYLES: Styles = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbook:
    """What a workbook says of itself, and the members that hold its sheets by their names."""

    title: str = ""
    author: str = ""
    modified: datetime | None = None
    _package: Package | None = None
    _sheets: Mapping[str, str] = field(default_factory=dict[str, str])
    _styles: Mapping[int, Style] = field(default_factory=dict[int, Style])

    def styles(self, sheet: str) -> Styles:
        """Return the styles of the cells of a sheet that have one which adds signs to a figure."""
        if self._package is None or not self._styles or sheet not in self._sheets:
            return NO_STYLES
        styles: dict[tuple[int, int], Style] = {}
        for cell in _CELL.finditer(self._package.read(self._sheets[sheet]).decode("latin-1")):
            styled, place = _STYLED.search(cell[1]), _PLACE.search(cell[1])
            if styled and place and (style := self._styles.get(int(styled[1]))):
                styles[int(place[2]) - 1, _column(place[1])] = style
        return styles


def open_workbook(content: bytes) -> Workbook:
    """Return what a zip archive of a workbook says; raise `Unreadable` for a hostile one."""
    package = open_package(content, "spreadsheet")
    core, meta = package.xml("docProps/core.xml"), package.xml("meta.xml")
    return Workbook(
        title=value_of(core, f"{DC}title") or value_of(meta, f"{DC}title"),
        author=value_of(core, f"{DC}creator")
        or value_of(meta, f"{_META}initial-creator", f"{DC}creator"),
        modified=date_of(core, f"{_TERMS}modified") or date_of(meta, f"{DC}date"),
        _package=package,
        _sheets=_sheets(package),
        _styles=_styles(package.xml(_STYLES)),
    )


def _sheets(package: Package) -> Mapping[str, str]:
    root = package.xml(_WORKBOOK)
    if root is None:
        return {}
    members = {key: member for key, _, member in package.related(_WORKBOOK)}
    return {
        sheet.get("name") or "": members.get(sheet.get(_RELATIONSHIP) or "", "")
        for sheet in root.iter(f"{_SHEET}sheet")
    }


def _styles(root: Element | None) -> Mapping[int, Style]:
    """Return the styles by their number in cells, those that add signs to a figure."""
    if root is None:
        return {}
    codes = {
        _number(node.get("numFmtId")): node.get("formatCode") or ""
        for node in root.iter(f"{_SHEET}numFmt")
    }
    formats = root.find(f"{_SHEET}cellXfs")
    numbers = (
        [_number(node.get("numFmtId")) for node in formats.iter(f"{_SHEET}xf")]
        if formats is not None
        else []
    )
    styles = (
        (place, read_style(number, codes.get(number, ""))) for place, number in enumerate(numbers)
    )
    return {place: style for place, style in styles if style}


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 6 else 0


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1
