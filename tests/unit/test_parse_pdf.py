import contextlib
import io
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pypdfium2
import pytest
from reportlab.pdfgen.canvas import Canvas

from lightwell.domain.documents import Format, ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse import parse, pdf

LONG = "The quick brown fox jumps over the lazy dog while nobody looks"


def made(
    pages: Sequence[Sequence[str]],
    outline: Sequence[tuple[str, int, int]] = (),
    password: str | None = None,
) -> bytes:
    """Return a PDF with these lines on its pages; outline entries are (title, level, page from 0)."""
    file = io.BytesIO()
    canvas = Canvas(file, encrypt=password)
    canvas.setTitle("Untitled" if not outline else "A manual")
    for number, lines in enumerate(pages):
        for title, level, page in outline:
            if page == number:
                canvas.bookmarkPage(title)
                canvas.addOutlineEntry(title, title, level)
        for at, line in enumerate(lines):
            canvas.drawString(72, 780 - at * 14, line)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def read(content: bytes) -> ParsedDocument:
    return parse(content, Format.PDF, name="a.pdf")


def reason(content: bytes) -> str:
    with pytest.raises(Unreadable) as caught:
        read(content)
    return caught.value.reason


def test_pages_cover_the_text_and_the_outline_becomes_sections() -> None:
    document = read(
        made(
            [["Cover."], ["Alpha", LONG, "Beta", LONG + "."], ["Gamma", "End."]],
            [("Alpha", 0, 1), ("Beta", 1, 1), ("Gamma", 0, 2)],
        )
    )
    text = document.text
    assert [text[page.start : page.end].strip() for page in document.pages] == [
        "Cover.",
        f"Alpha\n{LONG}\nBeta\n{LONG}.",
        "Gamma\nEnd.",
    ]
    assert [(each.path, text[each.start :][:5]) for each in document.sections] == [
        ((), "Cover"),
        (("Alpha",), "Alpha"),
        (("Alpha", "Beta"), "Beta\n"),
        (("Gamma",), "Gamma"),
    ]
    assert document.pages[-1].end == len(text)
    assert document.title == "A manual"
    assert document.updated_at is not None
    assert document.updated_at.tzinfo is not None


def test_the_date_of_a_file_that_comes_out_the_same_is_no_date() -> None:
    file = io.BytesIO()
    canvas = Canvas(file, invariant=1)
    canvas.drawString(72, 780, "Some words.")
    canvas.save()
    assert b"D:20000101" in file.getvalue()
    assert read(file.getvalue()).updated_at is None


def test_a_title_that_is_no_text_is_left_out() -> None:
    content = made([["Some words."]])
    broken = content.replace(b"/Title (Untitled)", b"/Title <FEFFD8000041>", 1)
    assert broken != content
    document = read(broken)
    assert (document.title, document.text.strip()) == ("", "Some words.")


def test_words_broken_at_a_line_end_are_mended() -> None:
    document = read(made([["A well-known thing is infor-", "mation, and a well-", "known one."]]))
    assert "information" in document.text
    assert document.text.count("well-known") == 2


def test_lines_of_a_paragraph_are_one_line() -> None:
    document = read(made([[LONG, LONG + ".", LONG, "and on.", "- a point", "- another"]]))
    assert document.text.split("\n") == [
        f"{LONG} {LONG}.",
        f"{LONG} and on.",
        "- a point",
        "- another",
    ]


def test_running_headers_and_page_numbers_are_dropped() -> None:
    pages = [["The Book", f"Words of page {chr(97 + n)}.", f"Page {n + 1}"] for n in range(6)]
    document = read(made(pages))
    assert "The Book" not in document.text
    assert "Page" not in document.text
    assert document.text.count("Words of page") == 6


def test_an_encrypted_file_is_refused() -> None:
    assert reason(made([["Secret."]], (), "swordfish")) == "encrypted"


def test_pages_without_text_need_ocr() -> None:
    assert reason(made([[], []])) == "no_text"


def test_broken_files_are_refused() -> None:
    whole = made([["Some words."]])
    assert reason(b"%PDF-1.7 nothing follows") == "broken"
    assert reason(whole[:200]) == "broken"


def test_a_file_cut_anywhere_is_read_or_refused() -> None:
    whole = made([[LONG] * 20] * 3, [("One", 0, 0)])
    for end in range(10, len(whole), 97):
        with contextlib.suppress(Unreadable):
            assert read(whole[:end]).text


def test_too_many_pages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MAX_PAGES", 2)
    assert reason(made([["a"], ["b"], ["c"]])) == "too_large"


def test_many_threads_may_read_at_once() -> None:
    whole = made([[LONG] * 30] * 5)
    with ThreadPoolExecutor(8) as pool:
        assert len({document.text for document in pool.map(read, [whole] * 24)}) == 1


@pytest.mark.parametrize(
    ("word", "moment"),
    [
        ("D:20260102030405+01'30'", datetime(2026, 1, 2, 1, 34, 5, tzinfo=UTC)),
        ("D:2026", datetime(2026, 1, 1, tzinfo=UTC)),
        ("D:20261345", None),
        ("yesterday", None),
    ],
)
def test_dates_are_read_in_the_form_of_pdf(word: str, moment: datetime | None) -> None:
    assert pdf._parse_date(word) == moment  # pyright: ignore[reportPrivateUsage]


def test_damaged_bytes_are_read_or_refused() -> None:
    whole = made([[LONG] * 20] * 3, [("One", 0, 0)])
    chance = random.Random(5)
    for _ in range(200):
        damaged = bytearray(whole)
        for _ in range(chance.choice((1, 5, 50))):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        with contextlib.suppress(Unreadable):
            assert read(bytes(damaged)).text


def test_a_file_without_pages_asks_for_no_password() -> None:
    """PDFium gave no error of its own for it, and the one of the file before was told."""
    empty = io.BytesIO()
    with contextlib.closing(pypdfium2.PdfDocument.new()) as document:
        document.save(empty)
    assert reason(made([["Secret."]], (), "swordfish")) == "encrypted"
    with pytest.raises(Unreadable, match="has no pages"):
        read(empty.getvalue())
