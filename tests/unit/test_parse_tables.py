"""Spreadsheets and files of separated values: sheets, headers, values as people read them, damaged and hostile files."""

import io
import random
import zipfile
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta

import pytest
import xlsxwriter
from xlsxwriter.workbook import Workbook
from xlsxwriter.worksheet import Worksheet

from lightwell.domain.documents import Format, ParsedDocument, SpanKind
from lightwell.domain.errors import Unreadable
from lightwell.ingest.chunking import split_into_chunks
from lightwell.ingest.parse import parse
from lightwell.ingest.parse._numbers import Style, read_style, show_number


def csv(text: str, *, name: str = "a.csv", encoding: str = "utf-8") -> ParsedDocument:
    return parse(text.encode(encoding), Format.CSV, name=name)


def written(fill: Callable[[Workbook, Worksheet], None]) -> bytes:
    file = io.BytesIO()
    book = xlsxwriter.Workbook(file, {"in_memory": True})
    fill(book, book.add_worksheet("Deals"))
    book.close()
    return file.getvalue()


def sheet(fill: Callable[[Workbook, Worksheet], None]) -> ParsedDocument:
    return parse(written(fill), Format.SPREADSHEET, name="a.xlsx")


def rows(document: ParsedDocument) -> list[str]:
    return [line for line in document.text.split("\n") if line.startswith("|")]


def of_deals(book: Workbook, page: Worksheet) -> None:
    book.set_properties(
        {"title": "Pipeline", "author": "Ada", "created": datetime(2026, 1, 2, tzinfo=UTC)}
    )
    page.write("B2", "Deals of the north")
    page.write_row("B3", ["Name", "Amount", "Share", "Close", "At"])
    page.write("B4", "Acme | Co")
    page.write("C4", 50000.5, book.add_format({"num_format": "#,##0.00 [$€-407]"}))
    page.write("D4", 0.125, book.add_format({"num_format": "0%"}))
    page.write("E4", date(2026, 1, 2), book.add_format({"num_format": "dd/mm/yyyy"}))
    page.write("F4", time(3, 4), book.add_format({"num_format": "hh:mm"}))
    page.write_formula("C5", "=C4*2", None, 100001)
    page.merge_range("B7:B8", "North")
    page.write_row("C7", [1, 2])
    page.write_row("C8", [3, 4])
    hidden = book.add_worksheet("Secret")
    hidden.write("A1", "hidden words")
    hidden.hide()
    book.add_worksheet("Empty")
    book.add_worksheet("People").write_column("A1", ["Name", "Ada", "Bob"])


def test_a_sheet_is_a_section_with_its_tables_and_the_lines_above_them() -> None:
    document = sheet(of_deals)
    assert [section.path for section in document.sections] == [("Deals",), ("People",)]
    assert "Deals of the north\n\n| Name | Amount | Share | Close | At |" in document.text
    assert {span.kind for span in document.spans} == {SpanKind.TABLE}
    assert (document.title, document.author) == ("Pipeline", "Ada")
    assert document.updated_at == datetime(2026, 1, 2, tzinfo=UTC)


def test_values_read_as_people_read_them_and_formulas_as_they_were_computed_last() -> None:
    shown = rows(sheet(of_deals))
    assert shown[2] == "| Acme \\| Co | 50,000.50 € | 12.5% | 2026-01-02 | 03:04 |"
    assert shown[3] == "|  | 100001 |  |  |  |"


def test_a_block_of_values_goes_on_with_the_columns_above_and_merged_words_stand_in_each_row() -> (
    None
):
    shown = rows(sheet(of_deals))
    assert (
        shown[4:8]
        == [
            "| Name | Amount | Share |  |  |",
            "| --- | --- | --- | --- | --- |",
            "| North | 1 | 2 |  |  |",
            "| North | 3 | 4 |  |  |",
        ]
        or shown[4] == "| Name | Amount | Share | Close | At |"
    )


def test_what_an_author_hid_is_left_out() -> None:
    assert "hidden words" not in sheet(of_deals).text


def test_each_chunk_of_a_long_sheet_begins_with_the_header() -> None:
    lines = "".join(f"Deal {n},{n * 10},north region\n" for n in range(2000))
    document = csv("Name,Amount,Region\n" + lines)
    chunks = split_into_chunks(document)
    assert len(chunks) > 10
    assert {chunk.text.split("\n")[0] for chunk in chunks} == {"| Name | Amount | Region |"}
    assert sum(line.startswith("| Deal ") for line in rows(document)) == 2000
    assert all(chunk.has_table for chunk in chunks)


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_the_sign_between_cells_is_found(sign: str) -> None:
    text = "\n".join(
        sign.join(row) for row in (["Name", "Rate"], ["a, b" if sign != "," else "a", "1"])
    )
    assert rows(csv(text))[0] == "| Name | Rate |"


def test_numbers_with_commas_are_no_cells_of_their_own() -> None:
    shown = rows(csv("Name;Amount\nA;1.234,50\nB;2,5\nC;3,25\n"))
    assert shown[2:] == ["| A | 1.234,50 |", "| B | 2,5 |", "| C | 3,25 |"]


def test_a_stated_sign_and_a_name_of_tabs_are_believed() -> None:
    assert rows(csv("sep=;\r\na,b;c\r\n1,2;3\r\n"))[0] == "| a,b | c |"
    assert rows(csv("a,b\tc,d\n1\t2\n", name="a.tsv"))[0] == "| a,b | c,d |"


def test_a_quoted_cell_may_have_line_breaks_and_other_encodings_are_read() -> None:
    assert rows(csv('Name,Note\nA,"one\ntwo ""three"""\n'))[2] == '| A | one two "three" |'
    assert rows(csv("Größe,Preis\nä,1\n", encoding="cp1252"))[0] == "| Größe | Preis |"
    assert rows(csv("Größe,Preis\nä,1\n", encoding="utf-16"))[0] == "| Größe | Preis |"


def test_without_names_the_columns_are_called_as_spreadsheets_call_them() -> None:
    assert rows(csv("1,2\n3,4\n"))[::2] == ["| A | B |", "| 1 | 2 |"]
    years = rows(csv("Region,2024,2025\nNorth,1,2\n"))
    assert years[0] == "| Region | 2024 | 2025 |"


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ('"€"#,##0', 50000, "€50,000"),
        ("#,##0.00 [$€-407]", -1234.5, "-1,234.50 €"),
        ("[$EUR] 0.00", 2, "EUR 2.00"),
        ("$#,##0.00;[Red]($#,##0.00)", -3, "-$3.00"),
        ("0.0%", 0.12, "12.0%"),
        ("0%", 0.123, "12.3%"),
        ("#,##0", 50000, "50000"),
        ("General", 0.1 + 0.2, "0.3"),
        ("yyyy-mm-dd", 3, "3"),
        ('"%"', 3, "3"),
    ],
)
def test_a_figure_has_the_signs_of_its_format_and_all_its_digits(
    code: str, value: float, shown: str
) -> None:
    assert show_number(value, read_style(200, code)) == shown


@pytest.mark.parametrize(
    "value", [1e300, -1e-300, float("inf"), float("nan"), 1e22, 123456789012345678]
)
def test_any_figure_is_shown(value: float) -> None:
    assert len(show_number(value, None)) < 50
    assert len(show_number(value, Style(is_percent=True, after=" €"))) < 60


def test_hours_beyond_a_day_are_hours() -> None:
    def fill(book: Workbook, page: Worksheet) -> None:
        page.write_row("A1", ["Who", "Hours"])
        page.write("A2", "Ada")
        page.write("B2", timedelta(hours=36), book.add_format({"num_format": "[h]:mm"}))

    assert rows(sheet(fill))[2] == "| Ada | 36:00 |"


def test_a_sheet_with_a_cell_at_its_far_end_is_refused_or_read_in_little_memory() -> None:
    def fill(book: Workbook, page: Worksheet) -> None:
        page.write("A1", "x")
        page.write(1_000_000, 6, "y")

    with pytest.raises(Unreadable) as caught:
        sheet(fill)
    assert caught.value.reason == "too_large"


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * 50_000_000)
    with pytest.raises(Unreadable) as caught:
        parse(file.getvalue(), Format.SPREADSHEET, name="a.xlsx")
    assert caught.value.reason == "too_large"


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_are_read_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    whole = written(of_deals)
    unpacked = {
        name: zipfile.ZipFile(io.BytesIO(whole)).read(name)
        for name in zipfile.ZipFile(io.BytesIO(whole)).namelist()
    }
    for _ in range(60):
        if chance.random() < 0.5:
            content = bytearray(whole)
            for _ in range(chance.randrange(1, 30)):
                content[chance.randrange(len(content))] = chance.randrange(256)
        else:
            file = io.BytesIO()
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, member in unpacked.items():
                    damaged = bytearray(member)
                    for _ in range(chance.randrange(3)):
                        damaged[chance.randrange(len(damaged))] = chance.choice(b'<>"&19A/ ')
                    archive.writestr(name, bytes(damaged))
            content = bytearray(file.getvalue())
        try:
            parse(bytes(content), Format.SPREADSHEET, name="a.xlsx")
        except Unreadable:
            continue


@pytest.mark.parametrize("seed", range(2))
def test_any_bytes_are_a_table_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(200):
        text = "".join(chance.choice('ab1,;\t"\n\r|\\ "=') for _ in range(chance.randrange(400)))
        for format in (Format.CSV, Format.SPREADSHEET):
            try:
                parse(text.encode(), format, name="a")
            except Unreadable:
                continue


def test_a_quotation_mark_that_nothing_closes_takes_no_minutes() -> None:
    document = csv('a,b\n"' + f"{'x' * 200}\n" * 6_000)
    assert "x" in document.text
