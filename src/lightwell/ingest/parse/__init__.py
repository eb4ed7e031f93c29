"""Parses files into text with the offsets of headings, pages, code and tables."""

from lightwell.domain.documents import Format, ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.domain.originals import Picture, PictureRequest

__all__ = ["draw", "parse"]


def parse(content: bytes, format: Format, *, name: str) -> ParsedDocument:
    """Return the parsed document; its text is in NFC with Unix line ends. `name` is the file's name.

    Raise `Unreadable` with the reason `empty`, `too_large`, `encrypted`, `broken`, `binary`, `no_text`
    or `unsupported`. Parsing runs in the calling process and takes about a second per megabyte. A hostile file may
    take far longer, so `ingest.parser` calls this in a limited process. Libraries load with a format's first file.
    """
    if not content.strip(b" \t\r\n\x00"):
        raise Unreadable("empty", "the file is empty; write something into it or remove it")
    match format:
        case Format.MARKDOWN:
            from lightwell.ingest.parse import markdown

            document = markdown.parse(content)
        case Format.PDF:
            from lightwell.ingest.parse import pdf

            document = pdf.parse(content)
        case Format.DOCX:
            from lightwell.ingest.parse import docx

            document = docx.parse(content)
        case Format.HTML:
            from lightwell.ingest.parse import html

            document = html.parse(content)
        case Format.RST:
            from lightwell.ingest.parse import rst

            document = rst.parse(content)
        case Format.TEXT:
            from lightwell.ingest.parse import text

            document = text.parse(content, name=name)
    if not document.text.strip():
        raise Unreadable("empty", "the file contains no text; add text or remove the file")
    return document


def draw(content: bytes, wanted: PictureRequest) -> Picture:
    """Return a page of a PDF as a picture; raise `Unreadable`. As for `parse`, `ingest.parser` calls this in a limited process."""
    from lightwell.ingest.parse import picture

    return picture.draw(content, wanted)
