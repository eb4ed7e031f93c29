"""The formats of files that Lightwell reads, and the extensions by which they are known."""

from collections.abc import Mapping
from enum import StrEnum


class Format(StrEnum):
    MARKDOWN = "markdown"
    PDF = "pdf"
    DOCX = "docx"
    PPTX = "pptx"
    OPENDOCUMENT = "opendocument"
    EPUB = "epub"
    NOTEBOOK = "notebook"
    DATA = "data"
    CODE = "code"
    HTML = "html"
    RST = "rst"
    ASCIIDOC = "asciidoc"
    MAIL = "mail"
    MAILBOX = "mailbox"
    SPREADSHEET = "spreadsheet"
    CSV = "csv"
    TEXT = "text"
    IMAGE = "image"
    """A picture of text, which the extra `ocr` reads."""
    FOREIGN = "foreign"
    """What a parser elsewhere reads; the text is parsed from its reply."""


ZIPPED = frozenset({Format.DOCX, Format.PPTX, Format.OPENDOCUMENT, Format.EPUB, Format.SPREADSHEET})
"""The formats that are zip archives, or may be."""

DRAWN = frozenset({Format.PDF, Format.IMAGE})
"""The formats whose pages are drawn as pictures, and which may be scans."""

EXTENSIONS: Mapping[Format, tuple[str, ...]] = {
    Format.MARKDOWN: (".md", ".markdown", ".mdown", ".mkd", ".mdx"),
    Format.PDF: (".pdf",),
    Format.DOCX: (".docx",),
    Format.PPTX: (".pptx", ".pptm", ".ppsx"),
    Format.OPENDOCUMENT: (".odt", ".ott", ".odp", ".otp"),
    Format.EPUB: (".epub",),
    Format.NOTEBOOK: (".ipynb",),
    Format.DATA: (".json", ".jsonl", ".ndjson", ".geojson", ".yaml", ".yml", ".toml"),
    Format.CODE: tuple(
        ".py .pyi .js .mjs .cjs .jsx .ts .mts .cts .tsx .go .rs .java .cs .groovy .dart .kt .kts .scala .swift .c .h .cc .cpp .cxx"
        " .hh .hpp .hxx .rb .pl .pm .php .ex .exs .jl .lua .r .sh .bash .zsh .ksh .ps1 .psm1 .sql .proto .graphql .gql".split()
    ),
    Format.HTML: (".html", ".htm", ".xhtml"),
    Format.RST: (".rst", ".rest"),
    Format.ASCIIDOC: (".adoc", ".asciidoc", ".asc"),
    Format.MAILBOX: (".mbox",),
    Format.MAIL: (".eml", ".mbox"),
    Format.SPREADSHEET: (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
    Format.CSV: (".csv", ".tsv"),
    Format.TEXT: (
        *(".txt", ".text", ".log", ".org", ".tex"),
        "",
    ),
}
"""Extensions in small letters, the usual one first; a file without an extension is plain text."""

IMAGE_EXTENSIONS = frozenset((".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp"))
"""What is read only with the extra `ocr`."""

FOREIGN_EXTENSIONS = IMAGE_EXTENSIONS.union(
    (
        *(".doc", ".ppt", ".pps", ".rtf", ".msg", ".vsd", ".vsdx", ".wpd"),
        *(".wps", ".pages", ".numbers", ".odg", ".djvu", ".fb2", ".mobi", ".chm", ".ps"),
        *(".gif", ".heic"),
    )
)
"""What is read only where a parser elsewhere is named (`LIGHTWELL_PARSER_URL`)."""

MARKDOWN_TEXTS = frozenset({Format.MARKDOWN, Format.NOTEBOOK, Format.RST, Format.ASCIIDOC})
"""The formats whose text is Markdown once they are parsed."""


def format_of_text(name: str) -> Format:
    """Return as what a text is read that comes with the name of a file: markdown if its extension says so, else plain text."""
    is_markdown = name.lower().endswith(EXTENSIONS[Format.MARKDOWN])
    return Format.MARKDOWN if is_markdown else Format.TEXT


def name_formats() -> str:
    """Return the formats as people know them, in a sentence."""
    plain = {Format.CODE: "source code", Format.TEXT: "plain text"}
    names = [
        extensions[0].lstrip(".")
        for format, extensions in EXTENSIONS.items()
        if format not in plain
    ]
    return f"{', '.join(names)}, {' and '.join(plain.values())}"
