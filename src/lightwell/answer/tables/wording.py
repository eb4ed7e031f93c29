"""Says what was computed over rows of tables, and why something was not."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal

from lightwell.domain.evidence import ComputedLine, QuotedRow
from lightwell.domain.tables import Aggregate, Computing, Condition, name_tables
from lightwell.records.tables import Result
from lightwell.text.tables.cells import DAY, header_unit

MOST_CITED = 20
"""Rows that a sentence cites, the first in the order of their documents; it says how many there are."""

MOST_GROUPS = 20
"""Values of a column by which rows are told apart."""

_MOST_TOLD = 3
"""Rows that are told in full where they are what is asked for, as in "Which deal has the highest amount?"."""

_SIGNS = {"eur": "€", "usd": "$", "gbp": "£"}
_CODE = 3
"""Letters of the code of a currency."""

_WORDS = {
    Aggregate.SUM: "total of",
    Aggregate.MEAN: "average of",
    Aggregate.MOST: "highest",
    Aggregate.LEAST: "lowest",
}


def why_not(computing: Computing, results: Sequence[Result]) -> str:
    """Return why the figures that were computed say nothing, "" where they do."""
    columns = computing.tables[0].columns
    if len(results) > MOST_GROUPS and computing.group is not None:
        name = columns[computing.group]
        return f"“{name}” has more than {MOST_GROUPS} values: say which of them you mean."
    if any(result.is_twice for result in results) and computing.aggregate is not Aggregate.LIST:
        called = name_tables(computing.tables)
        return f"The same rows stand in several tables ({called}): name the one that you mean."
    if computing.aggregate in (Aggregate.COUNT, Aggregate.LIST):
        return ""
    column = columns[computing.place]
    units = sorted({unit for result in results for unit in result.units})
    if len(units) > 1:
        shown = " and ".join(_SIGNS.get(unit, unit.upper()) for unit in units)
        return f"“{column}” is in {shown}, which are not added up or compared."
    return _no_figure(computing) if all(result.value is None for result in results) else ""


def computed_lines(
    computing: Computing,
    result: Result,
    rows: tuple[QuotedRow, ...],
    others: tuple[QuotedRow, ...],
) -> list[ComputedLine]:
    """Return what is said of a result: one line with its figure, or one for each row of a list. A figure cites the rows, and `others` of documents that none of them is of."""
    if computing.aggregate is Aggregate.LIST and result.rows:
        return [ComputedLine(text=row.text, rows=(row,)) for row in rows]
    if computing.group is not None:
        name = computing.tables[0].columns[computing.group]
        part = Condition(place=computing.group, text=f"{name} is {result.group or 'empty'}")
        computing = replace(computing, conditions=(part, *computing.conditions))
    text = _sentence(computing, result, len(rows))
    is_extreme = computing.aggregate in (Aggregate.MOST, Aggregate.LEAST)
    if is_extreme and result.value is not None and result.chosen <= _MOST_TOLD:
        text = "\n".join((f"{text[:-1]}:", *(f"- {row.text}" for row in rows)))
    return [ComputedLine(text=text, rows=(*rows, *others))]


def _sentence(computing: Computing, result: Result, count: int) -> str:
    called = name_tables(computing.tables)
    cited = f" (the first {count} are cited)" if count < result.chosen else ""
    if computing.aggregate in (Aggregate.COUNT, Aggregate.LIST):
        if not computing.conditions:
            return f"{called} has {_rows(result.rows)}{cited}."
        match = "match" if result.rows > 1 else "matches"
        matching = _rows(result.rows) if result.rows else "No row"
        return f"{matching} of {called} {match}{cited}: {_conditions(computing)}."
    if result.value is None:
        return _no_figure(computing)
    column = computing.tables[0].columns[computing.place]
    unit = result.units[0] if result.units else ""
    if header_unit(column) == unit and unit not in _SIGNS:
        unit = ""  # the name of the column says it
    is_mean = computing.aggregate is Aggregate.MEAN
    figure = _figure(_rounded(result.value) if is_mean else result.value, unit)
    lacking = result.rows - result.amounts
    without = f"; {_rows(lacking)} without a figure" if lacking else ""
    return (
        f"The {_WORDS[computing.aggregate]} {column}{_where(computing)} is {figure},"
        f" in {_rows(result.chosen)} of {called}{cited}{without}."
    )


def _no_figure(computing: Computing) -> str:
    column = computing.tables[0].columns[computing.place]
    called = name_tables(computing.tables)
    return f"No row{_where(computing)} of {called} has a figure in “{column}”."


def _rows(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"


def _where(computing: Computing) -> str:
    return f" where {_conditions(computing)}" if computing.conditions else ""


def _conditions(computing: Computing) -> str:
    return " and ".join(condition.text for condition in computing.conditions)


def _figure(value: Decimal, unit: str) -> str:
    if unit == DAY:
        digits = f"{int(value):08}"
        return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"
    whole = value.to_integral_value()
    shown = f"{abs(whole if whole == value else value.normalize()):,f}"
    minus = "-" if value < 0 else ""
    if unit in _SIGNS:
        return f"{minus}{_SIGNS[unit]}{shown}"
    if len(unit) == _CODE:
        unit = unit.upper()
    elif unit and abs(value) != 1 and unit != "percent":
        unit = f"{unit}s"
    return f"{minus}{shown}{'%' if unit == 'percent' else f' {unit}'.rstrip()}"


def _rounded(value: Decimal) -> Decimal:
    """Return an average to two decimals, a small one to four digits."""
    places = max(2, 3 - value.adjusted()) if value else 0
    return value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_EVEN)
