"""Parses files into text with the offsets of headings, pages, code and tables."""

from contextlib import suppress
from importlib import import_module
from typing import Protocol, cast

from lightwell.domain.documents import NO_TEXT, Format, ParsedDocument, Part
from lightwell.domain.errors import Unreadable
from lightwell.domain.originals import Picture, PictureRequest
from lightwell.ingest.parse._appending import append
from lightwell.ingest.parse._text import MAX_CHARACTERS

__all__ = ["draw", "is_blank", "parse", "split"]


class _Module(Protocol):
    """The module of a format, which has its name. It is imported with the first file, as are the libraries that it needs."""

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Return the document, or raise `Unreadable`."""
        ...


class _Drawing(Protocol):
    def draw(self, content: bytes, wanted: PictureRequest) -> Picture: ...


def parse(content: bytes, format: Format, *, name: str) -> ParsedDocument:
    """Return the parsed document; its text is in NFC with Unix line ends. `name` is the file's name.

    Raise `Unreadable` with the reason `empty`, `too_large`, `encrypted`, `broken`, `binary`, `no_text`
    or `unsupported`. Parsing runs in the calling process and takes about a second per megabyte. A hostile file may
    take far longer, so `ingest.parser` calls this in a limited process.
    """
    if is_blank(content):
        raise Unreadable("empty", "the file is empty; write something into it or remove it")
    if format is Format.MAIL:
        document = _parse_mail(content)
    else:
        module = cast("_Module", import_module(f"lightwell.ingest.parse.{format.value}"))
        document = module.parse(content, name=name)
    if not document.text.strip():
        raise Unreadable("empty", NO_TEXT)
    return document


def is_blank(content: bytes) -> bool:
    """Return whether a file has nothing but white space."""
    return not content.strip(b" \t\r\n\x00")


def _parse_mail(content: bytes) -> ParsedDocument:
    """Return a mail with the texts of its files: where they are no documents of their own, they are sections of it."""
    from lightwell.ingest.parse import mail

    document, files = mail.parse_with_files(content)
    for part in files:
        kind = Format.MAILBOX if part.format is Format.MAIL else part.format
        name = part.key.rpartition("/")[2]
        with suppress(Unreadable):
            inner = parse(part.content, kind, name=name)
            if len(document.text) + len(inner.text) <= MAX_CHARACTERS:
                document = append(document, name, inner)
    return document


def split(content: bytes, format: Format) -> list[Part]:
    """Return the documents that a file contains, none for most formats; raise `Unreadable`. `ingest.parser` calls this in a limited process."""
    if format is not Format.MAIL or is_blank(content):
        return []
    from lightwell.ingest.parse import mail

    return mail.split(content)


def draw(content: bytes, wanted: PictureRequest) -> Picture:
    """Return a page of a PDF or of a picture as a picture; raise `Unreadable`. As for `parse`, `ingest.parser` calls this in a limited process."""
    module = "picture" if b"%PDF-" in content[:1024] else "image"
    return cast("_Drawing", import_module(f"lightwell.ingest.parse.{module}")).draw(content, wanted)
