"""Figures and days in cells are read once, by their column's own custom; tables are found where they stand."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.ingest.table_reading import read_rows
from lightwell.records.documents.table_rows import TextPart
from lightwell.text.tables.cells import DAY, read_column
from lightwell.text.tables.rows import read_tables

AMOUNTS = st.decimals(min_value=-(10**9), max_value=10**9, places=2, allow_nan=False)


@pytest.mark.parametrize(
    ("header", "cell", "value", "unit"),
    [
        ("Amount", "1,234.50", "1234.50", ""),
        ("Betrag", "1.234,50", "1234.50", ""),
        ("Amount", "€58", "58", "eur"),
        ("Amount", "58 EUR", "58", "eur"),
        ("Amount (USD)", "58", "58", "usd"),
        ("Preis in €", "58", "58", "eur"),
        ("Share", "12 %", "12", "percent"),
        ("Amount", "(300)", "-300", ""),
        ("Amount", "-$1.5m", "-1500000", "usd"),
        ("Weight", "5 kg", "5", "kilogram"),
        ("Rate", "0.500", "0.500", ""),
        ("Seats", "1 250", "1250", ""),
        ("Day", "3 May 2026", "20260503", DAY),
        ("Day", "01.02.2026", "20260201", DAY),
    ],
)
def test_a_cell_says_a_figure_with_its_unit(header: str, cell: str, value: str, unit: str) -> None:
    (amount,) = read_column(header, [cell])
    assert amount is not None
    assert (amount.value, amount.unit) == (Decimal(value), unit)


@pytest.mark.parametrize(
    "cell",
    [
        "",
        "n/a",
        "0042",
        "1.2.3",
        "12-34",
        "Q3",
        "3 blind mice",
        "(300",
        "1,23,4",
        "2026-13-01",
        "x" * 500,
    ],
)
def test_other_cells_say_none(cell: str) -> None:
    assert read_column("Number", [cell]) == [None]


def test_a_column_tells_what_its_signs_mean() -> None:
    def values(*cells: str) -> list[Decimal | None]:
        return [amount and amount.value for amount in read_column("x", cells)]

    assert values("1.234", "0,5") == [Decimal(1234), Decimal("0.5")]
    assert values("1.234", "0.5") == [Decimal("1.234"), Decimal("0.5")]
    assert values("1,234", "2") == [Decimal(1234), Decimal(2)]
    assert values("1.234", "1,5", "1.5")[0] is None


@given(st.lists(AMOUNTS, min_size=1, max_size=20), st.booleans())
def test_what_is_written_is_read_again(amounts: list[Decimal], is_german: bool) -> None:  # noqa: FBT001
    written = [f"{amount:,.2f}" for amount in amounts]
    if is_german:
        written = [text.translate(str.maketrans(",.", ".,")) for text in written]
    read = read_column("Amount", written)
    assert [amount and amount.value for amount in read] == amounts


@given(st.text(alphabet="|-ab1\n :\\`.,€%", max_size=200))
def test_any_text_has_tables_or_none(text: str) -> None:
    for row in read_tables(text):
        assert 0 <= row.start < row.end <= len(text)
        assert len(row.cells) == len(row.keys) == len(row.amounts)


@given(st.dates(min_value=date(1900, 1, 1), max_value=date(2100, 1, 1)))
def test_a_day_is_a_figure_that_can_be_compared(day: date) -> None:
    (amount,) = read_column("When", [day.isoformat()])
    assert amount is not None
    assert int(amount.value) == day.year * 10_000 + day.month * 100 + day.day


def test_rows_that_add_up_others_are_marked() -> None:
    text = "| a | b |\n|---|---|\n| x | 1 |\n| y | 2 |\n"
    assert [row.is_total for row in read_tables(f"{text}|  | 3 |")][-1]
    assert [row.is_total for row in read_tables(f"{text}| **Total** | 9 |")][-1]
    assert not any(row.is_total for row in read_tables(f"{text}|  | 4 |"))
    company = "| a | c | b |\n|---|---|---|\n| Total | oil | 1 |\n| Acme | nets | 2 |"
    assert not any(row.is_total for row in read_tables(company))


def test_a_table_over_several_chunks_is_one_and_code_is_none() -> None:
    header = "| Deal | Amount |\n| --- | --- |\n"
    parts = [
        f"{header}| A | 1 |\n| B | 2 |",
        "| C | 3 |",
        f"{header}| D | 4 |",
        f"```\n{header}| E | 5 |\n```",
    ]
    starts = [0, len(parts[0]) + 1, len(parts[0]) + len(parts[1]) + 3]
    starts.append(starts[2] + len(parts[2]) + 2)
    texts = [
        TextPart(id=n, start=start, text=text, title="Deals", url="file:///deals.csv")  # pyright: ignore[reportArgumentType]
        for n, (start, text) in enumerate(zip(starts, parts, strict=True))
    ]
    rows = read_rows(texts)
    assert [(placed.chunk_id, placed.row.table, placed.row.cells[0]) for placed in rows] == [
        (0, 1, "Deal"), (0, 1, "A"), (0, 1, "B"), (1, 1, "C"), (2, 1, "D"),
    ]  # fmt: skip
    whole = "\n".join((parts[0], parts[1])) + "\n\n" + parts[2]
    assert [whole[placed.row.start : placed.row.end] for placed in rows][-1] == "| D | 4 |"
