import io
import zipfile

import docx
import pytest

from lightwell.domain.errors import Unreadable
from lightwell.domain.formats import Format
from lightwell.ingest.parse import formats, image, parse
from lightwell.ingest.parse.formats import detect_format

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def archive(member: str, content: str = "x") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr(member, content)
    return file.getvalue()


def word() -> bytes:
    file = io.BytesIO()
    docx.Document().save(file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.md", b"# x", Format.MARKDOWN),
        ("A.MARKDOWN", b"# x", Format.MARKDOWN),
        ("a.htm", b"<p>x", Format.HTML),
        ("a.csv", b"a,b", Format.CSV),
        (
            "a.ods",
            archive("mimetype", "application/vnd.oasis.opendocument.spreadsheet"),
            Format.SPREADSHEET,
        ),
        ("lies.txt", archive("xl/workbook.xml"), Format.SPREADSHEET),
        ("a.xlsb", archive("xl/workbook.bin"), Format.SPREADSHEET),
        ("old.xls", OLE + "Workbook\0".encode("utf-16-le"), Format.SPREADSHEET),
        ("cut.xlsx", b"PK\x03\x04", Format.SPREADSHEET),
        ("a.rst", b"x", Format.RST),
        ("a.eml", b"From: a", Format.MAIL),
        ("a.mbox", b"From a", Format.MAIL),
        ("README", b"x", Format.TEXT),
        ("a.pdf", b"%PDF-1.7", Format.PDF),
        ("lies.md", b"%PDF-1.7", Format.PDF),
        ("lies.txt", b"\xef\xbb\xbf\n<!DOCTYPE HTML><p>x", Format.HTML),
        ("lies.pdf", b"<html><body>404", Format.HTML),
        ("lies.md", word(), Format.DOCX),
        ("cut.docx", b"PK\x03\x04", Format.DOCX),
    ],
)
def test_a_format_is_what_the_bytes_say_and_else_what_the_name_says(
    name: str, content: bytes, expected: Format
) -> None:
    assert detect_format(name, content) is expected


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("picture.md", b"\x89PNG\r\n\x1a\n", "binary"),
        ("a.txt", archive("x"), "binary"),
        ("a.md", b"PK\x03\x04", "binary"),
        ("a.xyz", b"words", "unsupported"),
        ("a.asc", b"-----BEGIN PGP SIGNATURE-----", "binary"),
        ("old.doc", OLE + b"\0" * 600, "unsupported"),
        ("old.doc", OLE + "Workbook\0WordDocument\0".encode("utf-16-le"), "unsupported"),
        (
            "locked.docx",
            OLE + "EncryptedPackage".encode("utf-16-le"),
            "encrypted",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_reason(
    name: str, content: bytes, reason: str
) -> None:
    with pytest.raises(Unreadable) as caught:
        detect_format(name, content)
    assert caught.value.reason == reason


def test_a_picture_is_read_by_what_is_there_to_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    picture = b"\x89PNG\r\n\x1a\n"
    monkeypatch.setattr(formats, "reads_pictures", lambda: False)
    with pytest.raises(Unreadable, match=r"LIGHTWELL_PARSER_URL, or install the extra `ocr`"):
        detect_format("a.png", b"words")
    assert detect_format("a.PNG", picture, reads_foreign=True) is Format.FOREIGN
    monkeypatch.setattr(formats, "reads_pictures", lambda: True)
    assert detect_format("a.png", picture, reads_foreign=True) is Format.IMAGE


def test_a_picture_is_refused_where_nothing_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "reads_pictures", lambda: False)
    with pytest.raises(Unreadable, match="extra"):
        parse(b"\x89PNG\r\n\x1a\n", Format.IMAGE, name="a.png")
