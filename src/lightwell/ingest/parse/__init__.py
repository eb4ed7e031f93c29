"""Files to text, with where their headings, pages, code and tables stand."""

from lightwell.domain.documents import Format, ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse import docx, html, markdown, pdf, text

__all__ = ["parse"]


def parse(content: bytes, format: Format, *, name: str) -> ParsedDocument:
    """Return what the file says, its text in NFC with Unix line ends; `name` is the file's name.

    Raise `Unreadable` with the reason `empty`, `too_large`, `encrypted`, `broken`, `binary`, `no_text`
    or `unsupported`. Everything happens in this process, and may take a second per megabyte.
    """
    if not content.strip(b" \t\r\n\x00"):
        raise Unreadable("empty", "the file is empty; write something into it or remove it")
    match format:
        case Format.MARKDOWN:
            document = markdown.parse(content)
        case Format.PDF:
            document = pdf.parse(content)
        case Format.DOCX:
            document = docx.parse(content)
        case Format.HTML:
            document = html.parse(content)
        case Format.TEXT:
            document = text.parse(content, name=name)
    if not document.text.strip():
        raise Unreadable("empty", "there is no text in it; write something into it or remove it")
    return document
