import contextlib
import io
import random
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime

import docx
import pytest
from docx.document import Document

from lightwell.domain.documents import Format, ParsedDocument, SpanKind
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse import parse


def saved(document: Document) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def sample() -> Document:
    document = docx.Document()
    document.core_properties.author = "Ada"
    document.core_properties.modified = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    document.add_heading("The plan", 0)
    document.add_paragraph("Before all.")
    document.add_heading("Money", 1)
    document.add_paragraph("Five  euros.\tSix.")
    document.add_paragraph("one", style="List Bullet")
    document.add_paragraph("two", style="List Bullet")
    document.add_heading("Table", 2)
    table = document.add_table(2, 2)
    for at, word in enumerate(("a", "b|c", "1\n2", "")):
        table.cell(at // 2, at % 2).text = word
    document.add_paragraph("After.")
    return document


def read(content: bytes) -> ParsedDocument:
    return parse(content, Format.DOCX, name="a.docx")


def reason(content: bytes) -> str:
    with pytest.raises(Unreadable) as caught:
        read(content)
    return caught.value.reason


def rezipped(content: bytes, members: Mapping[str, bytes]) -> bytes:
    """Return the archive with these members replaced or added."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in {*old.namelist(), *members}:
            new.writestr(name, members[name] if name in members else old.read(name))
    return file.getvalue()


def test_headings_lists_and_tables_are_read_in_order() -> None:
    document = read(saved(sample()))
    assert document.text == (
        "The plan\n\nBefore all.\n\nMoney\n\nFive euros. Six.\n\n- one\n- two\n\nTable\n\n"
        "| a | b\\|c |\n| --- | --- |\n| 1 2 |  |\n\nAfter."
    )
    assert [each.path for each in document.sections] == [
        ("The plan",),
        ("The plan", "Money"),
        ("The plan", "Money", "Table"),
    ]
    assert [each.kind for each in document.spans] == [SpanKind.TABLE]
    assert (document.title, document.author) == ("The plan", "Ada")
    assert document.updated_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_the_date_of_an_empty_document_is_no_date() -> None:
    document = docx.Document()
    document.add_paragraph("Some words.")
    assert read(saved(document)).updated_at is None


def test_paragraphs_in_a_code_style_are_one_block_of_code() -> None:
    document = docx.Document()
    document.styles.add_style("Source Code", 1)
    document.add_paragraph("if x:", style="Source Code")
    document.add_paragraph("    y()", style="Source Code")
    parsed = read(saved(document))
    assert parsed.text == "        if x:\n            y()"
    assert [each.kind for each in parsed.spans] == [SpanKind.CODE]


def test_broken_archives_are_refused() -> None:
    whole = saved(sample())
    assert reason(whole[: len(whole) // 2]) == "broken"
    assert reason(b"no archive at all, just words") == "broken"
    assert reason(rezipped(whole, {"word/document.xml": b"<w:document"})) == "broken"
    assert reason(rezipped(whole, {"[Content_Types].xml": b"<Types/>"})) == "broken"


def test_locked_files_are_refused() -> None:
    assert reason(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"x" * 600) == "encrypted"


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    assert (
        reason(rezipped(saved(sample()), {"word/document.xml": b" " * 30_000_000})) == "too_large"
    )


def test_entities_do_not_grow() -> None:
    declared = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))
    bomb = f'<!DOCTYPE d [<!ENTITY e0 "ha">{declared}]><d>&e9;</d>'.encode()
    assert reason(rezipped(saved(sample()), {"word/document.xml": bomb})) == "broken"


def test_a_document_without_words_is_empty() -> None:
    assert reason(saved(docx.Document())) == "empty"


def test_damaged_bytes_are_read_or_refused() -> None:
    whole = saved(sample())
    chance = random.Random(5)
    for _ in range(80):
        damaged = bytearray(whole)
        for _ in range(chance.choice((1, 5, 50))):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        with contextlib.suppress(Unreadable):
            assert read(bytes(damaged)).text
