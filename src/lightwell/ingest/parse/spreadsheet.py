"""Spreadsheets: each visible sheet is a section with its tables. No formula is evaluated; its last value is read."""

import io
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook, PasswordError
from python_calamine import SheetTypeEnum as SheetType
from python_calamine import SheetVisibleEnum as Visibility

from lightwell.domain.documents import ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse._builder import Builder
from lightwell.ingest.parse._numbers import Style, show_number
from lightwell.ingest.parse._sheets import add_sheet
from lightwell.ingest.parse._text import refuse_long
from lightwell.ingest.parse._workbook import Styles, Workbook, open_workbook

MAX_CELLS = 5_000_000
"""Cells of a sheet, with the empty ones between them; a second per million."""

_MAX_MERGED = 100_000
_ZIP = b"PK\x03\x04"
_BROKEN = "the spreadsheet is incomplete; open it in its program and save it again"
_MIDNIGHT = time()
_PANIC = "PanicException"
"""What calamine's own failures are called, which are no `Exception`."""

_Cell = int | float | str | bool | time | date | datetime | timedelta


def parse(content: bytes, *, name: str) -> ParsedDocument:
    """Return the document: the name of each visible sheet as a heading, and what is in it. Hidden sheets are left out."""
    about = open_workbook(content) if content.startswith(_ZIP) else Workbook()
    builder = Builder()
    try:
        with CalamineWorkbook.from_filelike(io.BytesIO(content)) as workbook:
            for number, entry in enumerate(workbook.sheets_metadata):
                if entry.visible is not Visibility.Visible or entry.typ is not SheetType.WorkSheet:
                    continue
                sheet = workbook.get_sheet_by_index(number)
                if sheet.height:
                    builder.add_heading(entry.name, 1)
                    add_sheet(builder, _rows(sheet, about.styles(entry.name)))
    except PasswordError as error:
        raise Unreadable("encrypted", "it asks for a password; save it without one") from error
    except (CalamineError, ValueError, OSError, OverflowError) as error:
        raise Unreadable("broken", _BROKEN) from error
    except BaseException as error:
        if type(error).__name__ == _PANIC:
            raise Unreadable("broken", _BROKEN) from error
        raise
    return ParsedDocument(
        text=builder.text(),
        title=about.title,
        author=about.author,
        sections=builder.sections(),
        pages=(),
        spans=builder.spans(),
        updated_at=about.modified,
    )


def _rows(sheet: CalamineSheet, styles: Styles) -> Iterator[Sequence[str]]:
    """Yield the rows as people read them. A text that stands in merged cells stands in each row of them."""
    if sheet.height * sheet.width > MAX_CELLS:
        raise Unreadable("too_large", f"a sheet has over {MAX_CELLS:,} cells; split it")
    left = sheet.start[1] if sheet.start else 0
    tops = _tops_of_merged(sheet)
    texts: dict[tuple[int, int], str] = {}
    characters = 0
    for row, cells in enumerate(sheet.iter_rows()):
        shown: list[str] = []
        for column, cell in enumerate(cells, left):
            top = tops.get((row, column))
            if top == row and isinstance(cell, str):
                texts[row, column] = cell
            text = _show(cell, styles.get((row, column)))
            shown.append(text if top is None else text or texts.get((top, column), ""))
        characters += sum(map(len, shown))
        refuse_long(characters)
        yield shown


def _tops_of_merged(sheet: CalamineSheet) -> Mapping[tuple[int, int], int]:
    """Return the first row of the merged cells in each place of their first column, where they are several rows."""
    tops: dict[tuple[int, int], int] = {}
    for (top, column), (bottom, _) in sheet.merged_cell_ranges or ():
        if top < bottom <= top + _MAX_MERGED and len(tops) < _MAX_MERGED:
            tops.update(((row, column), top) for row in range(top, bottom + 1))
    return tops


def _show(cell: _Cell, style: Style | None) -> str:
    """Return a cell as people read it: dates and times as ISO 8601 writes them, figures with the signs of their format."""
    match cell:
        case bool():
            return "TRUE" if cell else "FALSE"
        case int() | float():
            return show_number(cell, style)
        case datetime():
            is_day = cell.time() == _MIDNIGHT
            return cell.date().isoformat() if is_day else cell.isoformat(" ", "minutes")
        case date():
            return cell.isoformat()
        case time():
            return cell.isoformat("seconds" if cell.second else "minutes")
        case timedelta():
            minutes, seconds = divmod(round(cell.total_seconds()), 60)
            return f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
        case _:
            return cell
