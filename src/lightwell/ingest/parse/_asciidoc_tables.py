"""Tables of AsciiDoc: cells that begin with a sign, with what is said of them before it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lightwell.text.regex import regex

_MAX_COLUMNS = 100
_MAX_SPAN = 1_000
_MAX_REPEATED = 1_000
"""Cells of a table that its signs repeat; more is an attack."""

_LONGEST_REPEATED = 200
"""Characters; a longer cell stands in the first of its rows alone."""
_CELL = regex(
    r"(?:(?<=\s)|^)(?:(\d{1,3})?(?:\.(\d{1,3}))?([+*]))?(?:[<^>]?(?:\.[<^>])?[adehlmsv]?)?(?<!\\)\|"
)
_REPEATED = regex(r"(\d{1,3})\*")


@dataclass(slots=True)
class _Cell:
    """A cell, and how many columns and rows it takes."""

    text: str
    columns: int
    rows: int


def count_columns(spec: str) -> int:
    """Return how many columns an attribute `cols` names, 0 for none."""
    count = 0
    for column in filter(None, spec.replace(";", ",").split(",")):
        repeated = _REPEATED.match(column.strip())
        count += int(repeated[1]) if repeated else 1
    return min(count, _MAX_COLUMNS)


def cells_of(lines: Sequence[str], columns: int) -> list[list[str]]:
    """Return the rows of a table; without a number of columns the first line that has cells tells it.

    A cell that takes several rows stands in each of them, so that each row is whole.
    """
    cells: list[_Cell] = []
    left = _MAX_REPEATED
    for line in lines:
        starts = [*_CELL.finditer(line)]
        before = line[: starts[0].start()] if starts else line
        if cells and before.strip():
            cells[-1].text += f" {before.strip()}"
        ends = [*(start.start() for start in starts[1:]), len(line)]
        for start, end in zip(starts, ends, strict=False):
            text = line[start.end() : end].strip().replace("\\|", "|")
            count, rows = min(int(start[1] or 1), _MAX_COLUMNS), min(int(start[2] or 1), _MAX_SPAN)
            if start[3] == "*":
                count = min(count, left + 1)
                left -= count - 1
                cells += [_Cell(text, 1, 1) for _ in range(count)]
            else:
                cells.append(_Cell(text, count, rows))
        columns = columns or sum(cell.columns for cell in cells)
    return [*_rows(cells, min(max(columns, 1), _MAX_COLUMNS))]


def _rows(cells: Sequence[_Cell], width: int) -> Iterator[list[str]]:
    """Yield the rows; one of cells from above alone is none."""
    waiting = iter(cells)
    cell = next(waiting, None)
    left = _MAX_REPEATED
    above = [_Cell("", 1, 1)] * width
    while cell is not None:
        row: list[_Cell] = []
        first = cell
        while len(row) < width:
            over = above[len(row)]
            if over.rows > 1:
                left -= 1
                is_short = left >= 0 and len(over.text) <= _LONGEST_REPEATED
                row.append(_Cell(over.text if is_short else "", 1, over.rows - 1))
            elif cell is None:
                row.append(_Cell("", 1, 1))
            else:
                row.append(_Cell(cell.text, 1, cell.rows))
                row += [_Cell("", 1, cell.rows)] * (min(cell.columns, width) - 1)
                cell = next(waiting, None)
        if cell is first:
            above = [_Cell("", 1, 1)] * width
            continue
        above = row[:width]
        last = max((place for place, column in enumerate(above) if column.text), default=0)
        yield [column.text for column in above[: last + 1]]
