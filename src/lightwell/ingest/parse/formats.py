"""Detects a file's format by its extension, unless its first bytes contradict it."""

import io
import zipfile
import zlib
from functools import cache
from importlib.util import find_spec
from pathlib import PurePosixPath

from lightwell.domain.errors import Unreadable
from lightwell.domain.formats import (
    EXTENSIONS,
    FOREIGN_EXTENSIONS,
    IMAGE_EXTENSIONS,
    ZIPPED,
    Format,
    name_formats,
)
from lightwell.ingest.parse._text import decode

_FORMATS = {
    extension: format for format, extensions in EXTENSIONS.items() for extension in extensions
}
_BINARY_SIGNATURES = (
    (b"-----BEGIN PGP", "a signature or a key"),
    (b"\x89PNG\r\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!\x1a", "a RAR archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\x00", "a program"),
    (b"SQLite format 3\x00", "a database"),
    (b"OggS\x00", "a recording"),
    (b"ID3\x03", "a recording"),
    (b"ID3\x04", "a recording"),
)
_LONGEST_MEDIA_TYPE = 100
_READ_ERRORS = (ValueError, OSError, EOFError, RuntimeError)
_OLE, _ZIP = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"PK\x03\x04"
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_WORKBOOK_STREAMS = tuple(f"{name}\0".encode("utf-16-le") for name in ("Workbook", "Book"))
_OTHER_STREAMS = tuple(name.encode("utf-16-le") for name in ("WordDocument", "PowerPoint Document"))
_SUPPORTED = f"Lightwell reads {name_formats()}"
_OR_FOREIGN = "or name a parser in LIGHTWELL_PARSER_URL"
_OR_OCR = "or install the extra `ocr`"
_MAIN_MEMBERS = {
    "word/document.xml": Format.DOCX,
    "ppt/presentation.xml": Format.PPTX,
    "xl/workbook.xml": Format.SPREADSHEET,
    "xl/workbook.bin": Format.SPREADSHEET,
}
"""What only archives of a format hold."""

_MEDIA_TYPES = {
    b"application/epub+zip": Format.EPUB,
    b"application/vnd.oasis.opendocument.text": Format.OPENDOCUMENT,
    b"application/vnd.oasis.opendocument.presentation": Format.OPENDOCUMENT,
    b"application/vnd.oasis.opendocument.spreadsheet": Format.SPREADSHEET,
}
"""What the member `mimetype` says, with which OpenDocument files and e-books begin."""


@cache
def reads_pictures() -> bool:
    """Return whether the extra `ocr` is installed."""
    return find_spec("rapidocr") is not None


def has_known_extension(name: str, *, reads_foreign: bool = False) -> bool:
    """Return whether the file's extension is supported; no extension counts as plain text.

    `reads_foreign`: a parser elsewhere reads what Lightwell does not.
    """
    extension = PurePosixPath(name).suffix.lower()
    return (
        extension in _FORMATS
        or (extension in IMAGE_EXTENSIONS and reads_pictures())
        or (reads_foreign and extension in FOREIGN_EXTENSIONS)
    )


def detect_format(name: str, content: bytes, *, reads_foreign: bool = False) -> Format:
    """Return the format; raise `Unreadable` with `unsupported`, `binary` or `encrypted`. `reads_foreign` as above."""
    extension = PurePosixPath(name).suffix.lower()
    if extension in IMAGE_EXTENSIONS and reads_pictures():
        return Format.IMAGE
    if reads_foreign and extension in FOREIGN_EXTENSIONS and extension not in _FORMATS:
        return Format.FOREIGN
    head = content[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"%PDF-"):
        return Format.PDF
    if head.startswith(_ZIP):
        return _format_of_archive(name, content)
    if head.startswith(_OLE):
        return _format_of_old_office(content)
    for magic, what in _BINARY_SIGNATURES:
        if head.startswith(magic):
            raise Unreadable(
                "binary", f"the content is {what}, although the name says otherwise; {_SUPPORTED}"
            )
    return _format_by_name(name, head)


def _format_of_archive(name: str, content: bytes) -> Format:
    """Return the format that the members say, and else the name, if such files are archives."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        members = archive.namelist()
        stated = _head_of(archive, "mimetype") if "mimetype" in members else b""
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, *_READ_ERRORS):
        members, stated = [], b""
    formats = (format for member, format in _MAIN_MEMBERS.items() if member in members)
    named = _FORMATS.get(PurePosixPath(name).suffix.lower())
    format = _MEDIA_TYPES.get(stated.removesuffix(b"-template")) or next(formats, named)
    if format is None or format not in ZIPPED:
        raise Unreadable("binary", f"it is an archive or an office file; {_SUPPORTED}")
    return format


def _head_of(archive: zipfile.ZipFile, member: str) -> bytes:
    with archive.open(member) as stream:
        return stream.read(_LONGEST_MEDIA_TYPE).strip()


def _format_by_name(name: str, head: bytes) -> Format:
    extension = PurePosixPath(name).suffix.lower()
    if extension not in _FORMATS:
        raise unsupported_format(name)
    if not extension:
        decode(head)  # what is no text is no document
    format = _FORMATS[extension]
    if format is not Format.HTML and head[:15].lower().startswith((b"<!doctype html", b"<html")):
        return Format.HTML
    return format


def _format_of_old_office(content: bytes) -> Format:
    """Return the format by the names of the file's streams: a text or a presentation may hold a workbook, too."""
    if _ENCRYPTED_PACKAGE in content:
        raise Unreadable("encrypted", "it asks for a password; save it without one")
    if any(stream in content for stream in _WORKBOOK_STREAMS) and not any(
        stream in content for stream in _OTHER_STREAMS
    ):
        return Format.SPREADSHEET
    raise Unreadable(
        "unsupported", f"it is an old Office file; save it as .docx or .pdf, {_OR_FOREIGN}"
    )


def unsupported_format(name: str) -> Unreadable:
    extension = PurePosixPath(name).suffix or name
    other = f", {_OR_FOREIGN}" if extension.lower() in FOREIGN_EXTENSIONS else ""
    other += f", {_OR_OCR}" if extension.lower() in IMAGE_EXTENSIONS else ""
    return Unreadable(
        "unsupported",
        f"{extension} files are not read; {_SUPPORTED}: convert it or ignore it{other}",
    )
