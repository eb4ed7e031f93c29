"""Finds the tables of a text that are written as pipe rows, and reads their rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from lightwell.text.markup import strip_markup
from lightwell.text.regex import regex
from lightwell.text.tables.cells import DAY, Amount, read_column
from lightwell.text.tables.keys import cell_key
from lightwell.text.word_lists import any_of, load_word_lists

VERSION = 1
"""What `read_tables` says changes with its rules; then this number does, and stored rows are made again."""

MOST_WORDS = 5
"""Words of a cell by which a question may name it."""

TEXT, NUMBER = "text", "number"
"""Kinds of columns, beside `DAY` and the units of those whose amounts all have one."""

_MAX_COLUMNS = 60
_MAX_CELL = 300
_NUMERIC_SHARE = 0.6
_BAR = regex(r"(?<!\\)\|")
_FENCE = regex(r"\s{0,3}(?:```|~~~)")
_MARKED = regex(r"[*_`\[<&\\~]")
_LISTS = load_word_lists("lightwell.text.tables")
_TOTAL = regex(rf"\W*{any_of(_LISTS['totals']['words'])}\W*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a table: `text[start:end]`. `number` counts from 1 in its table, whose `table` counts from 1 in its text.

    Of a header, `number` is 0, `kinds` says of what kind each column is, and the rest is for its names. Of other rows, `keys` are those of its
    cells, `amounts` what they say, and `is_total` whether it adds up others.
    """

    table: int
    number: int
    start: int
    end: int
    cells: tuple[str, ...]
    keys: tuple[str, ...]
    amounts: tuple[Amount | None, ...]
    kinds: tuple[str, ...] = ()
    is_total: bool = False


@dataclass(slots=True)
class _Line:
    start: int
    end: int
    cells: list[str]


@dataclass(slots=True)
class _Table:
    header: _Line
    end: int
    lines: list[_Line] = field(default_factory=list[_Line])


def may_have_tables(text: str) -> bool:
    """Return whether it is worth looking for tables."""
    return "|" in text and "-" in text


def read_tables(text: str) -> list[Row]:
    """Return the rows of the tables in a text, each table's header first; a table that goes on below a repeated header is one."""
    rows: list[Row] = []
    tables = _joined(_tables(text), text)
    for number, table in enumerate((table for table in tables if table.lines), 1):
        rows.extend(_read(number, table))
    return rows


def _tables(text: str) -> Iterator[_Table]:
    previous: _Line | None = None
    table: _Table | None = None
    is_code = False
    place = 0
    for line in text.split("\n"):
        start, place = place, place + len(line) + 1
        if _FENCE.match(line):
            is_code = not is_code
        bare = line.strip()
        if is_code or "|" not in bare:
            if table:
                yield table
            previous = table = None
            continue
        left = start + len(line) - len(line.lstrip())
        row = _Line(left, left + len(bare), _cells(bare))
        if table is None and previous and _is_rule(bare) and len(previous.cells) >= len(row.cells):
            table = _Table(previous, row.end)
        elif table is not None:
            table.lines.append(row)
            table.end = row.end
        previous = row
    if table:
        yield table


def _is_rule(line: str) -> bool:
    return "-" in line and set(line) <= set("|:- \t")


def _cells(line: str) -> list[str]:
    bare = line.removeprefix("|")
    if bare.endswith("|") and not bare.endswith("\\|"):
        bare = bare[:-1]
    return [_cell(cell) for cell in _BAR.split(bare)[:_MAX_COLUMNS]]


def _cell(cell: str) -> str:
    bare = cell.strip()[:_MAX_CELL].replace("\\|", "|")
    return strip_markup(bare) if _MARKED.search(bare) else bare


def _joined(tables: Iterator[_Table], text: str) -> list[_Table]:
    """Return the tables, each joined with the next one where that stands directly below it and has the same header."""
    joined: list[_Table] = []
    for table in tables:
        last = joined[-1] if joined else None
        if (
            last
            and table.header.cells == last.header.cells
            and not text[last.end : table.header.start].strip()
        ):
            last.lines.extend(table.lines)
            last.end = table.end
        else:
            joined.append(table)
    return joined


def _read(number: int, table: _Table) -> Iterator[Row]:
    names = table.header.cells
    width = len(names)
    lines = [line.cells[:width] + [""] * (width - len(line.cells)) for line in table.lines]
    columns = [
        read_column(name, [cells[place] for cells in lines]) for place, name in enumerate(names)
    ]
    kinds = tuple(
        _kind([cells[place] for cells in lines], column) for place, column in enumerate(columns)
    )
    totals = [_says_total(cells, kinds) for cells in lines]
    if len(lines) > 2 and not totals[-1]:
        totals[-1] = _adds_up(lines[-1], columns)
    yield Row(
        table=number,
        number=0,
        start=table.header.start,
        end=table.header.end,
        cells=tuple(names),
        keys=tuple(cell_key(name, most_words=_MAX_CELL) for name in names),
        amounts=(None,) * width,
        kinds=kinds,
    )
    for place, (line, cells) in enumerate(zip(table.lines, lines, strict=True)):
        yield Row(
            table=number,
            number=place + 1,
            start=line.start,
            end=line.end,
            cells=tuple(cells),
            keys=tuple(cell_key(cell, most_words=MOST_WORDS) for cell in cells),
            amounts=tuple(column[place] for column in columns),
            is_total=totals[place],
        )


def _says_total(cells: Sequence[str], kinds: Sequence[str]) -> bool:
    """Return whether a row is called a total and has no other words, as a company of that name has."""
    texts = [
        cell
        for cell, kind in zip(cells, kinds, strict=True)
        if kind == TEXT and any(map(str.isalnum, cell))
    ]
    return len(texts) == 1 and bool(_TOTAL.fullmatch(texts[0].casefold()))


def _adds_up(last: Sequence[str], columns: Sequence[Sequence[Amount | None]]) -> bool:
    """Return whether the last row has nothing but amounts, each the sum of those above it."""
    amounts = [column[-1] for column in columns]
    filled = [place for place, cell in enumerate(last) if cell]
    if not filled or len(filled) == len(last) or any(amounts[place] is None for place in filled):
        return False
    return all(
        sum((amount.value for amount in columns[place][:-1] if amount), Decimal())
        == (amount.value if (amount := amounts[place]) else None)
        for place in filled
    )


def _kind(cells: Sequence[str], column: Sequence[Amount | None]) -> str:
    """Return the kind of a column: of most of its cells."""
    filled = sum(map(bool, cells))
    amounts = [amount for amount in column if amount]
    if not amounts or len(amounts) < _NUMERIC_SHARE * filled:
        return TEXT
    units = {amount.unit for amount in amounts}
    if DAY in units:
        return DAY if units == {DAY} else TEXT
    units.discard("")
    return units.pop() if len(units) == 1 else NUMBER
