"""Small files that once took all memory or minutes: each is refused with a reason, or cut to what can be read."""

import io
import unicodedata
import zipfile

import docx
import pytest

from lightwell.domain.documents import Format, ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.ingest.chunking import split_into_chunks
from lightwell.ingest.parse import _package, parse
from lightwell.ingest.parser_messages import ChunkedDocument
from lightwell.ingest.pipeline import choose_title
from lightwell.testing.sources import make_document


def html(source: str) -> ParsedDocument:
    return parse(source.encode(), Format.HTML, name="a.html")


def in_word(body: str) -> bytes:
    made, file = io.BytesIO(), io.BytesIO()
    docx.Document().save(made)
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name).replace(b"<w:body>", b"<w:body>" + body.encode())
            new.writestr(name, content)
    return file.getvalue()


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def test_one_long_row_does_not_fill_up_thousands_of_short_ones_in_html() -> None:
    cells = 3000
    source = f"<table><tr>{'<td>x' * cells}</tr>{'<tr><td>y<td>z' * cells}</table>"
    document = html(source)
    assert document.text.count("y") == cells
    assert len(document.text) < 5 * len(source)


def test_one_long_row_does_not_fill_up_thousands_of_short_ones_in_word() -> None:
    cells = 500
    row = "".join(f"<w:tc>{paragraph('x')}</w:tc>" for _ in range(cells))
    short = f"<w:tr><w:tc>{paragraph('y')}</w:tc></w:tr>"
    content = in_word(f"<w:tbl><w:tr>{row}</w:tr>{short * cells}</w:tbl>")
    document = parse(content, Format.DOCX, name="a.docx")
    assert document.text.count("y") == cells
    assert len(document.text) < 10_000


def test_an_ordinary_table_is_still_filled_up() -> None:
    text = html("<table><tr><td>a<td>b<td>c<tr><td>d</table>").text
    assert text.splitlines()[-1] == "| d |  |  |"


@pytest.mark.parametrize("marks", ["\u0300\u0315\u0327", "\u0344", "\u05b0\u064b"])
def test_no_run_of_marks_is_long_enough_to_be_sorted_for_minutes(marks: str) -> None:
    source = "a" + marks * 20_000
    text = parse(source.encode(), Format.TEXT, name="a.txt").text
    run = longest = 0
    for sign in unicodedata.normalize("NFD", text):
        run = run + 1 if unicodedata.combining(sign) else 0
        longest = max(longest, run)
    assert 30 <= longest <= 60
    assert text == unicodedata.normalize("NFC", text)


def test_marks_of_real_words_are_left_as_they_are() -> None:
    vietnamese = "Tiê\u0301ng Viê\u0323t: a\u0308 o\u0302\u0301"
    text = parse(vietnamese.encode(), Format.TEXT, name="a.txt").text
    assert text == unicodedata.normalize("NFC", vietnamese)


@pytest.mark.parametrize(
    "attributes",
    [
        " ".join(f"a{n}=1" for n in range(1500)),
        "/".join(f"a{n}" for n in range(1500)),
        " ".join(f'a{n}=">"' for n in range(1500)),
        "".join(f"a{n}='<'" for n in range(1500)),
    ],
)
def test_a_tag_of_thousands_of_attributes_is_refused(attributes: str) -> None:
    with pytest.raises(Unreadable, match="attributes"):
        html(f"<p {attributes}>hello there")


def test_many_tags_of_few_attributes_are_read() -> None:
    page = "<p class=\"a\" id=b data-x='c > d' hidden2>Hello, reader.</p>" * 3000
    assert html(page).text.count("Hello") == 3000


def test_word_files_of_too_many_elements_are_refused_before_they_become_a_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_package, "MAX_ELEMENTS", 5000)
    with pytest.raises(Unreadable, match="over 5,000 paragraphs"):
        parse(in_word("<w:p/>" * 5000 + paragraph("hello")), Format.DOCX, name="a.docx")


def test_word_files_of_too_much_markup_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_package, "MAX_MARKUP", 100_000)
    with pytest.raises(Unreadable, match="far larger unpacked"):
        parse(in_word(paragraph("hello " * 20_000)), Format.DOCX, name="a.docx")


@pytest.mark.parametrize("sign", ["_", "-", ".", " .", "=", "x", "\u2028a", "\u00a0a"])
def test_no_chunk_is_many_characters_long_however_few_tokens_it_has(sign: str) -> None:
    text = "Hello. " + sign * 60_000
    cut = split_into_chunks(parse(text.encode(), Format.TEXT, name="a.txt"))
    assert max(len(chunk.text) for chunk in cut) <= 16_000
    assert "".join(chunk.text for chunk in cut).count(sign[-1]) >= 60_000


def test_a_file_of_a_folder_named_index_is_called_as_its_folder() -> None:

    untitled = ChunkedDocument(title="", author="", updated_at=None, chunks=())
    titles = {
        name: choose_title(make_document(name, "", []), untitled)
        for name in ("benefits/index.md", "team/README.md", "a b/_index.md", "x/notes.md")
    }
    assert titles == {
        "benefits/index.md": "benefits",
        "team/README.md": "team",
        "a b/_index.md": "a b",
        "x/notes.md": "notes",
    }
