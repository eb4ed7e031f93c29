"""Exports for spreadsheets: csv with one file per table, and xlsx with one sheet per table."""

import csv
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO, cast

import numpy as np
from xlsxwriter import Workbook
from xlsxwriter.exceptions import FileSizeError
from xlsxwriter.worksheet import Worksheet

from lightwell.curate.cells import (
    COLUMNS,
    Cell,
    escape_formula,
    fit_cell,
    format_vector,
    looks_like_formula,
    record_cells,
    without_control_characters,
)
from lightwell.domain.errors import Invalid
from lightwell.domain.exports import ExportRecord, ExportTable

MAX_ROWS = 1_048_576
"""Rows per sheet, including the heading."""

_FIXED_DATE = datetime(1980, 1, 1, tzinfo=UTC)
"""The creation date of each workbook, so that equal exports are equal byte for byte."""

_NARROW, _WIDE = 14, 40
_WIDE_COLUMNS = frozenset(
    "ref name description source source_name target target_name title url section text chunk paths sources".split()
)


class CsvFiles:
    """One csv file for each table, in UTF-8 with the byte order mark that Excel needs."""

    def __init__(self, path_of: Callable[[ExportTable], Path]) -> None:
        self._path_of = path_of
        self._file: TextIO | None = None
        self.shortened_texts = 0

    def begin(self, table: ExportTable) -> None:
        self.close()
        self._file = self._path_of(table).open("x", encoding="utf-8-sig", newline="")
        csv.writer(self._file).writerow(COLUMNS[table])

    def add(self, records: Sequence[ExportRecord]) -> None:
        assert self._file is not None  # noqa: S101 - begun
        csv.writer(self._file).writerows(
            [_csv_value(cell) for cell in record_cells(record)] for record in records
        )

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def abandon(self) -> None:
        self.close()


def _csv_value(cell: Cell) -> str | int | float | None:
    match cell:
        case str():
            return escape_formula(without_control_characters(cell))
        case np.ndarray():
            return format_vector(cell)
        case _:
            return cell


class XlsxSheets:
    """One workbook; a table with more rows than a sheet holds goes on in `entities 2`.

    Rows go to temporary files beside `path` as they come, and into the workbook at its end.
    """

    def __init__(self, path: Path, dimension: int, *, max_rows: int = MAX_ROWS) -> None:
        options = {"constant_memory": True, "tmpdir": str(path.parent)}
        self._book = Workbook(str(path), options)
        self._book.set_properties({"created": _FIXED_DATE})
        self._heading = self._book.add_format({"bold": True})
        self._text = self._book.add_format({"quote_prefix": True})  # stays text when edited, too
        self._dimension = dimension
        self._max_rows = max_rows
        self._sheet: Worksheet | None = None
        self._table = ExportTable.ENTITIES
        self._row = self._sheets = self.shortened_texts = 0

    def begin(self, table: ExportTable) -> None:
        self._table, self._sheets = table, 0
        self._new_sheet()

    def add(self, records: Sequence[ExportRecord]) -> None:
        for record in records:
            if self._row == self._max_rows:
                self._new_sheet()
            self._write(record_cells(record))

    def close(self) -> None:
        """Put the workbook together; raise `Invalid` when it is larger than a workbook may be."""
        try:
            self._book.close()
        except FileSizeError as error:
            raise Invalid(
                "The export is larger than an xlsx file may be (4 GB); export it as csv"
            ) from error

    def abandon(self) -> None:
        for sheet in self._book.worksheets():
            rows = cast("TextIO", sheet.row_data_fh)  # made anew for each sheet
            rows.close()

    def _new_sheet(self) -> None:
        self._sheets += 1
        name = self._table.value if self._sheets == 1 else f"{self._table.value} {self._sheets}"
        self._sheet = self._book.add_worksheet(name)
        columns = list(COLUMNS[self._table])
        if self._table is ExportTable.VECTORS:
            columns[-1:] = [str(place) for place in range(self._dimension)]
        for place, column in enumerate(columns):
            self._sheet.set_column(place, place, _WIDE if column in _WIDE_COLUMNS else _NARROW)
            self._sheet.write_string(0, place, column, self._heading)
        self._sheet.freeze_panes(1, 0)
        self._row = 1

    def _write(self, values: Sequence[Cell]) -> None:
        sheet, row = self._sheet, self._row
        assert sheet is not None  # noqa: S101 - begun
        for place, cell in enumerate(values):
            match cell:
                case None:
                    pass
                case str():
                    text = self._fit_text(cell)
                    sheet.write_string(
                        row, place, text, self._text if looks_like_formula(text) else None
                    )
                case np.ndarray():
                    for offset, number in enumerate(cell.tolist()):
                        sheet.write_number(row, place + offset, number)
                case _:
                    sheet.write_number(row, place, cell)
        self._row += 1

    def _fit_text(self, text: str) -> str:
        plain = without_control_characters(text)
        fitted = fit_cell(plain)
        self.shortened_texts += fitted is not plain
        # The library writes a text from <r> to </r> as XML of the caller's own, unescaped.
        return f"{fitted} " if fitted.startswith("<r>") and fitted.endswith("</r>") else fitted
