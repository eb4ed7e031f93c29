"""Cells and paragraphs: nothing in an export is taken for more than text, and nothing of it is lost unsaid."""

import csv
import re
import unicodedata
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.curate import pages
from lightwell.curate.cells import (
    COLUMNS,
    MAX_CELL_UNITS,
    escape_formula,
    fit_cell,
    format_vector,
    looks_like_formula,
    record_cells,
    without_control_characters,
)
from lightwell.curate.sheets import CsvFiles, XlsxSheets
from lightwell.domain.documents import Locator
from lightwell.domain.errors import Invalid
from lightwell.domain.exports import (
    ExportConfig,
    ExportedRelation,
    ExportFormat,
    ExportRecord,
    ExportTable,
    Passage,
    PassageVector,
)
from lightwell.domain.graph import Entity, Predicate
from lightwell.domain.ids import ChunkId, EntityId, new_id


def entity(name: str = "Acme Corp", description: str = "") -> Entity:
    return Entity(
        id=EntityId(new_id()),
        ref="kg:organization:acme-corp",
        name=name,
        kind="organization",
        description=description,
        chunk_count=2,
        sources=("shelf:document:a#0", "shelf:document:b#3"),
        paths=("file:///a", "file:///b"),
    )


RELATION = ExportedRelation(
    source="kg:organization:acme-corp",
    source_name="Acme Corp",
    predicate=Predicate.USES,
    target="kg:name:nordwind",
    target_name="Nordwind",
    keywords=("pumps", "rent"),
    description="Acme rents pumps.",
    comparison="cheaper",
    use_case="in spring | in floods",
    weight=1.5,
    chunk_count=1,
    sources=("shelf:document:a#0",),
    paths=("file:///a",),
)


def passage(text: str) -> Passage:
    return Passage(
        id=ChunkId(new_id()),
        ref="shelf:document:a#0",
        document_ref="shelf:document:a",
        title="A",
        url="file:///a",
        index=0,
        locator=Locator(page=3, last_page=4, section=("Radio", "Range"), start=0, end=len(text)),
        text=text,
        tokens=7,
        language="en",
        topic="radio",
    )


VECTOR = PassageVector(
    chunk_ref="shelf:document:a#0", model="m", vector=np.array([0.1, -0.5, 1e-8], np.float32)
)


def workbook(
    path: Path, table: ExportTable, records: Sequence[ExportRecord], max_rows: int = 1000
) -> openpyxl.Workbook:
    book = XlsxSheets(path, dimension=3, max_rows=max_rows)
    book.begin(table)
    book.add(records)
    book.close()
    return openpyxl.load_workbook(path)


@pytest.mark.parametrize(
    ("record", "table"),
    [
        (entity(), ExportTable.ENTITIES),
        (RELATION, ExportTable.RELATIONS),
        (passage("text"), ExportTable.CHUNKS),
        (VECTOR, ExportTable.VECTORS),
    ],
)
def test_a_record_has_a_value_for_each_column(record: ExportRecord, table: ExportTable) -> None:
    assert len(record_cells(record)) == len(COLUMNS[table])


@pytest.mark.parametrize(
    ("text", "calculated"),
    [
        ("=1+1", True),
        ("+1", True),
        ("-1", True),
        ("@SUM(1)", True),
        ("＝1+1", True),
        ("＋1", True),
        ("－1", True),
        ("＠SUM(1)", True),
        ("﹦1", True),
        ("\t=1", True),
        ("\tplain", True),
        ("\rplain", True),
        ("  =1", True),
        ("\u00a0=1", True),
        ("\n=1", True),
        ("\u200b=1", True),
        ("\ufeff=1", True),
        ("'=1", True),
        ("1=1", False),
        ("a-b", False),
        ("", False),
        ("'tis", False),
        ("— dash", False),
        ("\u200b", False),
    ],
)
def test_what_a_spreadsheet_might_calculate_is_known(text: str, *, calculated: bool) -> None:
    assert looks_like_formula(text) is calculated
    assert escape_formula(text) == ("'" + text if calculated else text)


@given(st.text(alphabet="='+ @\t\ra\u200b＝-", max_size=6))
def test_what_was_made_harmless_can_be_undone(text: str) -> None:
    made = escape_formula(text)
    back = made[1:] if made.startswith("'") and looks_like_formula(made[1:]) else made
    assert back == text
    assert unicodedata.normalize("NFKC", made[:1]) not in ("=", "+", "-", "@")


@pytest.mark.parametrize("letter", ["a", "\U0001f600"])
def test_a_long_text_is_cut_to_what_a_cell_holds(letter: str) -> None:
    units = 1 if letter == "a" else 2
    whole = letter * (MAX_CELL_UNITS // units)
    assert fit_cell(whole) == whole
    cut = fit_cell(whole + letter)
    assert len(cut.encode("utf-16-le")) // 2 <= MAX_CELL_UNITS
    assert len(cut.encode("utf-16-le")) // 2 >= MAX_CELL_UNITS - 1
    assert cut.startswith(letter * 15_000)
    assert cut.endswith("cut here; csv, md and txt contain the whole text")


def test_control_signs_go_and_line_breaks_stay() -> None:
    assert (
        without_control_characters("a\x00\x07\x1b[31m\x9bb\ufffe\r\nc\rd\te\u00e9")
        == "a[31mb\nc\nd\te\u00e9"
    )


@given(
    st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=5).map(
        lambda numbers: np.array(numbers, np.float32)
    )
)
def test_numbers_are_read_back_as_they_were(
    vector: np.ndarray[tuple[int], np.dtype[np.float32]],
) -> None:
    written = format_vector(vector).strip("[]").split(", ")
    assert np.array(written, np.float32).tolist() == vector.tolist()


def test_a_full_sheet_goes_on_in_the_next(tmp_path: Path) -> None:
    records = [entity(f"Entity {number}") for number in range(5)]
    book = workbook(tmp_path / "a.xlsx", ExportTable.ENTITIES, records, max_rows=3)
    assert book.sheetnames == ["entities", "entities 2", "entities 3"]
    names = [[row[1].value for row in sheet.iter_rows()] for sheet in book.worksheets]
    assert names == [
        ["name", "Entity 0", "Entity 1"],
        ["name", "Entity 2", "Entity 3"],
        ["name", "Entity 4"],
    ]


def test_cut_texts_are_counted_and_no_others(tmp_path: Path) -> None:
    book = XlsxSheets(tmp_path / "a.xlsx", dimension=3)
    book.begin(ExportTable.CHUNKS)
    book.add([passage("a" * 40_000), passage("a" * 30_000)])
    book.close()
    assert book.shortened_texts == 1


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20))
def test_any_text_comes_back_from_a_workbook(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.mktemp("book") / "a.xlsx"
    book = workbook(path, ExportTable.CHUNKS, [passage(text)])
    found = book["chunks"].cell(2, len(COLUMNS[ExportTable.CHUNKS])).value
    assert (found or "") == without_control_characters(text)
    assert b"<f>" not in zipfile.ZipFile(path).read("xl/worksheets/sheet1.xml")


@pytest.mark.parametrize(
    "text", ["<r>", "<r></r>", "<r></t></is></c><c><f>1</f></c></r>", "_x0041_"]
)
def test_no_text_breaks_out_of_its_cell(tmp_path: Path, text: str) -> None:
    book = workbook(tmp_path / "a.xlsx", ExportTable.CHUNKS, [passage(text)])
    sheet = zipfile.ZipFile(tmp_path / "a.xlsx").read("xl/worksheets/sheet1.xml").decode()
    assert "<r>" not in sheet
    assert "<f>" not in sheet
    assert "_x0041_" not in sheet.replace("_x005F_x0041_", "")
    assert book["chunks"].max_column == len(COLUMNS[ExportTable.CHUNKS])


def test_a_workbook_does_not_say_when_it_was_made(tmp_path: Path) -> None:
    workbook(tmp_path / "a.xlsx", ExportTable.CHUNKS, [passage("text")])
    core = zipfile.ZipFile(tmp_path / "a.xlsx").read("docProps/core.xml").decode()
    assert re.findall(r"\d{4}-\d\d-\d\dT[\d:]+Z", core) == ["1980-01-01T00:00:00Z"] * 2


def test_numbers_are_numbers_in_a_workbook(tmp_path: Path) -> None:
    sheet = workbook(tmp_path / "a.xlsx", ExportTable.VECTORS, [VECTOR])["vectors"]
    assert [cell.value for cell in sheet[1]] == ["chunk", "model", "dimension", "0", "1", "2"]
    row = [cell.value for cell in sheet[2]]
    assert row[:3] == ["shelf:document:a#0", "m", 3]
    assert np.array(row[3:], np.float32).tolist() == VECTOR.vector.tolist()


def test_a_table_without_rows_still_has_its_heading(tmp_path: Path) -> None:
    file = CsvFiles(lambda table: tmp_path / f"{table}.csv")
    file.begin(ExportTable.RELATIONS)
    file.begin(ExportTable.ENTITIES)
    file.add([entity(description='=1, "quoted"\nand broken')])
    file.close()
    with (tmp_path / "entities.csv").open(encoding="utf-8-sig", newline="") as written:
        rows = list(csv.DictReader(written))
    assert rows[0]["description"] == '\'=1, "quoted"\nand broken'
    assert rows[0]["paths"] == "file:///a\nfile:///b"
    assert (tmp_path / "relations.csv").read_text("utf-8-sig").startswith("source,source_name,")


def test_markdown_reads_as_text_and_nothing_else() -> None:
    shown = pages.render_markdown(
        pages.record_paragraph(
            entity("![x](http://evil.example/t.png) <script>", "# One | *two*\n\n- three\u202e")
        )
    )
    assert shown == (
        "\n## \\!\\[x\\](http://evil.example/t.png) \\<script\\>\n\n"
        "organization · kg:organization:acme-corp · in 2 passages\n\n"
        "- \\# One\n- \\*two\\* - three\n\n"
        "Passages: shelf:document:a\\#0, shelf:document:b\\#3\n\n"
        "Documents: file:///a, file:///b\n"
    )


def test_a_passage_cannot_leave_its_fence() -> None:
    shown = pages.render_markdown(pages.record_paragraph(passage("a\n````\n# b\n```")))
    assert shown.endswith("\n\n`````\na\n````\n# b\n```\n`````\n")
    assert shown.startswith("\n## A, page 3, Radio › Range\n")


def test_only_headings_begin_at_the_margin_of_plain_text() -> None:
    shown = pages.render_text(pages.record_paragraph(passage("ENTITIES\n========\x1b[2J")))
    assert shown == (
        "\nA, page 3, Radio › Range\n"
        "    shelf:document:a#0 · file:///a · 7 tokens · radio\n\n"
        "    ENTITIES\n    ========[2J\n"
    )
    assert pages.render_text(pages.record_paragraph(RELATION)) == (
        "\nAcme Corp → uses → Nordwind\n"
        "    kg:organization:acme-corp → kg:name:nordwind · weight 1.5 · pumps, rent · in 1 passage\n"
        "    - Acme rents pumps.\n"
        "    Comparison: cheaper\n"
        "    Use case: in spring, in floods\n"
        "    Passages: shelf:document:a#0\n"
        "    Documents: file:///a\n"
    )


def config(**given: object) -> ExportConfig:
    fields: dict[str, object] = {"format": ExportFormat.CSV, "output_path": Path("g.csv"), **given}
    return ExportConfig(**fields)  # pyright: ignore[reportArgumentType] - wrong ones are the point


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"format": "pdf"}, "'pdf' is not an export format; the formats are csv, xlsx, md, txt"),
        ({"batch_size": 0}, "The batch size must be 1 to 10000, not 0"),
        ({"batch_size": -5}, "The batch size must be 1 to 10000, not -5"),
        ({"batch_size": 10_001}, "The batch size must be"),
        ({"include_entities": False, "include_relations": False}, "Nothing is selected for export"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        config(**given)


def test_each_table_of_csv_has_a_file_and_the_first_has_the_name() -> None:
    assert [path.name for path in config(include_vectors=True).paths] == [
        "g.csv",
        "g-relations.csv",
        "g-vectors.csv",
    ]
    assert [path.name for path in config(include_entities=False).paths] == ["g.csv"]
    other = config(format=ExportFormat.XLSX, output_path=Path("g.xlsx"), include_chunks=True)
    assert [path.name for path in other.paths] == ["g.xlsx"]


def test_no_cell_turns_the_direction_of_its_text() -> None:
    assert without_control_characters("a\u202eb\u202ac\u2066d\u2069e") == "abcde"
