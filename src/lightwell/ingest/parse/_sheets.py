"""Lays the rows of a sheet out as tables: where each begins, which row names its columns, and how long ones repeat their header."""

from collections.abc import Iterable, Iterator, Sequence

from lightwell.ingest.parse._builder import Builder
from lightwell.text.regex import regex
from lightwell.text.tokens import token_count

_PART_TOKENS = 600
"""A part of a long table: with the next one it is over the target of a chunk, so that each chunk begins with the header."""

_MIN_ROWS = 4
"""Rows of a part, however long they are."""

_MAX_HEADER_SHARE = 3
"""A part is at least so many times as long as its header, so that repeating it adds no more than a third."""

_MAX_LINES = 5
"""Lines of one cell above a table, such as its title; what has more of them is a table of one column."""

_VALUE = regex(r"[^\w]{0,4}\d[\d.,:/ '%€$£-]*(?:[^\W\d]{1,3})?")
"""What stands below a name: an amount, a date, a time."""

Row = Sequence[str]


def add_sheet(builder: Builder, rows: Iterable[Row]) -> None:
    """Add the rows of one sheet: tables, which empty rows separate, and the lines above them.

    A table's first row names its columns, unless it holds values: then it goes on with the columns of a table as wide above it, else the columns
    are named by letters. A long table is added in parts, each with the header.
    """
    header: Row = ()
    for block in _blocks(rows):
        lines, table = _split_lines(block)
        for line in lines:
            builder.add_block(line)
        if not table:
            continue
        if not _holds_values(table[0]):
            header, table = table[0], table[1:]
        elif len(header) < max(map(len, table)):
            header = [_letters(place) for place in range(max(map(len, table)))]
        for part in _parts(header, table):
            builder.add_table([list(header), *map(list, part)])


def _blocks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield runs of rows that are not empty, without the empty columns on their left and right."""
    block: list[Row] = []
    for row in rows:
        if any(cell.strip() for cell in row):
            block.append(row)
        elif block:
            yield _trimmed(block)
            block = []
    if block:
        yield _trimmed(block)


def _trimmed(block: list[Row]) -> list[Row]:
    left = min(next(n for n, cell in enumerate(row) if cell.strip()) for row in block)
    right = max(
        len(row) - next(n for n, cell in enumerate(reversed(row)) if cell.strip()) for row in block
    )
    return [row[left:right] for row in block]


def _split_lines(block: list[Row]) -> tuple[list[str], list[Row]]:
    """Return the lines of one cell at the beginning of a block that is wider, and the rest."""
    filled = [[cell for cell in row if cell.strip()] for row in block[: _MAX_LINES + 1]]
    count = next((n for n, cells in enumerate(filled) if len(cells) > 1), len(filled))
    if count > _MAX_LINES or (count == len(block) > 1):
        return [], block
    return [cells[0] for cells in filled[:count]], _trimmed(block[count:]) if block[count:] else []


def _holds_values(row: Row) -> bool:
    """Return whether a row has as many values as names, as no header has."""
    filled = [cell.strip() for cell in row if cell.strip()]
    values = sum(bool(_VALUE.fullmatch(cell)) and not _is_year(cell) for cell in filled)
    return values * 2 >= len(filled) or (values > 0 and len(filled) < len(row))


def _is_year(cell: str) -> bool:
    return len(cell) == 4 and cell.isdigit() and cell[:2] in ("19", "20")


def _letters(place: int) -> str:
    """Return how spreadsheets call a column: A, Z, AA."""
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _parts(header: Row, rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Yield the rows in parts of about `_PART_TOKENS`; one part without rows where there are none."""
    head = _tokens(header)
    most = max(_PART_TOKENS, _MAX_HEADER_SHARE * head)
    part: list[Row] = []
    size = head
    for row in rows:
        tokens = _tokens(row)
        if len(part) >= _MIN_ROWS and size + tokens > most:
            yield part
            part, size = [], head
        part.append(row)
        size += tokens
    if part or not rows:
        yield part


def _tokens(row: Row) -> int:
    return token_count(" | ".join(row)) + 2
