"""Parses PDF: the text of the pages, and the outline as sections."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import zip_longest
from threading import Lock
from typing import Protocol, cast

import pypdfium2
import pypdfium2.raw as pdfium

from lightwell.domain.documents import Page, ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse import _ocr, picture
from lightwell.ingest.parse._sections import Heading, build_sections
from lightwell.ingest.parse._spans import guess_spans
from lightwell.ingest.parse._text import clean, collapse_blanks, one_line, refuse_long, to_utc
from lightwell.ingest.parse.formats import reads_pictures
from lightwell.text.regex import regex

MAX_PAGES = 5_000
_MAX_BOOKMARKS = 10_000
_LINES_AT_EDGE = 2
_MIN_PAGES_FOR_EDGES = 4

_PDFIUM_LOCK = Lock()
"""PDFium has global state, so only one thread of a process may use it at a time."""

_ENCRYPTED = b"/Encrypt"
_NO_TITLE = regex(
    r"\(?(?:untitled|anonymous|unspecified)\)?|.*\.(?:pdf|docx?|tex|dvi|indd|qxd)", re.I
)
_PRODUCER_PREFIX = regex(r"^Microsoft (?:Office )?Word - ", re.I)
_DATE = regex(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([+-])(\d\d)'?(\d\d)?)?")
_PLACEHOLDER_DATE = datetime(2000, 1, 1, tzinfo=UTC)
"""The date that ReportLab writes into reproducible files; it says nothing about the document."""

_METADATA = ("Title", "Author", "ModDate", "CreationDate")
_BROKEN_WORD = regex(r"(?<!\w)(\w*)[\ufffe\x02]\n?(\w*)")
_DIGITS = regex(r"\d+")
_COMPOUND = regex(r"(?<!\w)\w+-\w+")
_LIST_ITEM = regex(
    r"(?:[•●·▪◦‣*–—-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]+|[A-Z]{1,4}-?\d{1,4})[.):])\s|\d+(?:\.\d+)+\s"
)
_SENTENCE_END = regex(r"[.!?:;][\"'”’»)\]]*$")
_MIN_PAGE_WIDTH = 30
_FULL_LINE_SHARE = 0.75


class _Destination(Protocol):
    def get_index(self) -> int | None: ...


class _OutlineItem(Protocol):
    """A bookmark of pypdfium2, which is only partly typed there."""

    @property
    def level(self) -> int: ...
    def get_title(self) -> str: ...
    def get_dest(self) -> _Destination | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bookmark:
    level: int
    title: str
    page: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _RawDocument:
    pages: Sequence[str]
    bookmarks: Sequence[_Bookmark]
    about: Mapping[str, str]


def parse(content: bytes, *, name: str = "") -> ParsedDocument:
    """Return the document with its pages; an unreadable page is empty."""
    with _PDFIUM_LOCK:
        raw = _extract_raw(content)
    titles = frozenset(bookmark.title for bookmark in raw.bookmarks)
    text, pages = join_pages(raw.pages, titles)
    if not any(map(str.isalnum, text)):
        remedy = (
            "and no text can be read in their pictures"
            if reads_pictures()
            else "so it is a scan: install Lightwell with its extra `ocr`, or run OCR first"
        )
        raise Unreadable("no_text", f"its pages hold no text, {remedy}")
    moments = (_parse_date(raw.about.get(key, "")) for key in ("ModDate", "CreationDate"))
    return ParsedDocument(
        text=text,
        title=_clean_value(raw.about.get("Title", "")),
        author=_clean_value(raw.about.get("Author", "")),
        sections=build_sections(text, _headings(raw.bookmarks, text, pages)),
        pages=pages,
        spans=tuple(guess_spans(text)),
        updated_at=next(
            (moment for moment in moments if moment and moment != _PLACEHOLDER_DATE), None
        ),
    )


def join_pages(
    raw: Sequence[str], titles: frozenset[str] = frozenset()
) -> tuple[str, tuple[Page, ...]]:
    """Return the text of pages as they are printed, in paragraphs, and where each of them is; `titles` stand alone."""
    texts = _page_texts(raw, titles)
    pages: list[Page] = []
    parts: list[str] = []
    position = 0
    for number, part in enumerate(texts, start=1):
        if number < len(texts):
            goes_on = part and (part[-1].isalnum() or part[-1] in ",;-–")
            part += "\n" if goes_on else "\n\n"
        pages.append(Page(number=number, start=position, end=position + len(part)))
        parts.append(part)
        position += len(part)
    return "".join(parts), tuple(pages)


def _extract_raw(content: bytes) -> _RawDocument:
    try:
        with closing(pypdfium2.PdfDocument(content)) as document:
            count = len(document)
            if count > MAX_PAGES:
                raise Unreadable(
                    "too_large", f"it has {count:,} pages; split it below {MAX_PAGES:,}"
                )
            pages: list[str] = []
            characters = 0
            for number in range(len(document)):
                pages.append(_page(document, number))
                characters += len(pages[-1])
                refuse_long(characters)
            _read_scans(document, pages)
            return _RawDocument(
                pages=pages,
                bookmarks=list(_bookmarks(document)),
                about={key: _metadata(document, key) for key in _METADATA},
            )
    except pypdfium2.PdfiumError as error:
        # PDFium sets no error for a file without pages: the code is then that of a file before it.
        is_locked = error.err_code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY)
        if is_locked and _ENCRYPTED in content:
            raise Unreadable("encrypted", "it asks for a password; save it without one") from error
        raise Unreadable(
            "broken", "the PDF is damaged or has no pages; open it in a viewer and export it again"
        ) from error


def _metadata(document: pypdfium2.PdfDocument, key: str) -> str:
    """Return the file's metadata value for this key, or "" if it is not valid UTF-16."""
    try:
        return document.get_metadata_value(key)
    except UnicodeDecodeError:
        return ""


def _page(document: pypdfium2.PdfDocument, number: int) -> str:
    try:
        with closing(document[number]) as page, closing(page.get_textpage()) as letters:
            return letters.get_text_range()
    except pypdfium2.PdfiumError:
        return ""  # one bad page does not hide the others


def _read_scans(document: pypdfium2.PdfDocument, pages: list[str]) -> None:
    """Read the pages that hold no text, where the extra is there that can."""
    scans = [number for number, text in enumerate(pages) if not any(map(str.isalnum, text))]
    if not scans or not reads_pictures():
        return
    if len(scans) > _ocr.MAX_SCANNED_PAGES:
        raise _ocr.too_many_pages(len(scans))
    for number in scans:
        with suppress(pypdfium2.PdfiumError), closing(document[number]) as page:
            pages[number] = _ocr.read_text(picture.pixels_for_reading(page))


def _bookmarks(document: pypdfium2.PdfDocument) -> Iterator[_Bookmark]:
    items = cast("Iterator[_OutlineItem]", document.get_toc())
    for count, bookmark in enumerate(items):
        if count >= _MAX_BOOKMARKS:
            return
        destination = bookmark.get_dest()
        page = destination.get_index() if destination else None
        if page is not None and page >= 0 and (title := one_line(bookmark.get_title())):
            yield _Bookmark(level=bookmark.level, title=title, page=page)


def _page_texts(pages: Sequence[str], titles: frozenset[str]) -> list[str]:
    normalized = [page.replace("\r\n", "\n").replace("\r", "\n") for page in pages]
    compounds = frozenset(_COMPOUND.findall("\n".join(normalized)))

    def rejoin(match: re.Match[str]) -> str:
        left, right = match[1], match[2]
        keeps_hyphen = not right[:1].islower() or f"{left}-{right}" in compounds
        return f"{left}-{right}" if keeps_hyphen else left + right

    pages_rejoined = (_BROKEN_WORD.sub(rejoin, page) for page in normalized)
    return [
        _reflow(lines, titles)
        for lines in _without_running_lines(
            [collapse_blanks(clean(page)) for page in pages_rejoined]
        )
    ]


def _without_running_lines(pages: Sequence[str]) -> Iterator[list[str]]:
    """Yield each page's lines without the running headers and footers that most pages share."""
    pages_lines = [[line for line in page.split("\n") if line] for page in pages]
    count = Counter(
        key
        for lines in pages_lines
        for key in {_edge_key(lines[index]) for index in _edge_indexes(lines)}
    )
    threshold = max(_MIN_PAGES_FOR_EDGES, len(pages) // 2)
    for lines in pages_lines:
        running_lines = {
            index for index in _edge_indexes(lines) if count[_edge_key(lines[index])] >= threshold
        }
        yield [line for index, line in enumerate(lines) if index not in running_lines]


def _edge_indexes(lines: Sequence[str]) -> set[int]:
    last = len(lines) - 1
    return {
        index
        for near in range(_LINES_AT_EDGE)
        for index in (near, last - near)
        if 0 <= index <= last
    }


def _edge_key(line: str) -> str:
    return _DIGITS.sub("0", line)


def _reflow(lines: Sequence[str], titles: frozenset[str]) -> str:
    """Join lines into paragraphs: a line as long as the page is wide continues on the next line."""
    lengths = sorted(map(len, lines))
    width = lengths[len(lengths) * 9 // 10] if lengths else 0
    parts: list[str] = []
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        parts.append(line)
        is_boundary = line in titles or following in titles
        parts.append(" " if not is_boundary and _continues(line, following, width) else "\n")
    return "".join(parts).strip()


def _continues(line: str, following: str, width: int) -> bool:
    if width < _MIN_PAGE_WIDTH or _LIST_ITEM.match(following):
        return False
    if following[:1].islower():
        return len(line) * 2 >= width
    return len(line) >= width * _FULL_LINE_SHARE and not _SENTENCE_END.search(line[-4:])


def _headings(
    bookmarks: Sequence[_Bookmark], text: str, pages: Sequence[Page]
) -> Iterator[Heading]:
    position = 0
    for bookmark in bookmarks:
        if bookmark.page >= len(pages):
            continue
        page = pages[bookmark.page]
        if page.end < position:  # an outline that runs backwards would break the order of sections
            continue
        start = max(page.start, position)
        pattern = re.compile(r"\s+".join(map(re.escape, bookmark.title.split())), re.I)
        match = pattern.search(text, start, page.end)
        position = match.start() if match else start
        yield Heading(level=bookmark.level, title=bookmark.title, start=position)


def _clean_value(value: str) -> str:
    title = _PRODUCER_PREFIX.sub("", one_line(value))
    return "" if _NO_TITLE.fullmatch(title) else title


def _parse_date(text: str) -> datetime | None:
    match = _DATE.match(text)
    if match is None:
        return None
    numbers = [
        int(part) if part else least
        for part, least in zip(match.groups()[:6], (1, 1, 1, 0, 0, 0), strict=True)
    ]
    offset = timedelta(hours=int(match[8] or 0), minutes=int(match[9] or 0))
    try:
        zone = timezone(-offset if match[7] == "-" else offset) if match[7] else UTC
        return to_utc(datetime(*numbers, tzinfo=zone))  # pyright: ignore
    except ValueError:
        return None
