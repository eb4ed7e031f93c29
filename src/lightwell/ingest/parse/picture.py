"""Draws one page of a PDF as a PNG, with a quotation marked on it."""

import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from math import sqrt
from typing import Protocol, cast

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium

from lightwell.domain.errors import Unreadable
from lightwell.domain.originals import Picture, PictureRequest
from lightwell.ingest.parse import _ocr
from lightwell.ingest.parse.formats import reads_pictures
from lightwell.text.letters import place_of_quote

_MAX_PIXELS = 6_000_000
_MAX_SIDE = 6_000
_MAX_CHARACTERS = 200_000
_MAX_MARKS = 500

_FILL, _EDGE = (0xFF, 0xE8, 0x9A, 0xFF), (0xE0, 0xB4, 0x00, 0xFF)
"""Red, green, blue, opacity. The fill is multiplied, so what is printed stays as black as it is."""

_PADDING, _EDGE_WIDTH = 1.5, 0.75
"""Points, 1/72 inch."""

_ROW_HEADER = b"\0"
"""A row of pixels as they are: with zlib alone, no filter of PNG makes pages of text smaller."""


class _Bitmap(Protocol):
    """A bitmap of pypdfium2, which is not typed there; `stride` is the length of a row in bytes."""

    width: int
    height: int
    stride: int
    n_channels: int
    buffer: bytes

    def close(self) -> None: ...


Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in points."""


def draw(content: bytes, wanted: PictureRequest) -> Picture:
    """Return the page with every line of the quotation marked, or without marks where it is not there.

    A giant page has fewer pixels than asked for. Raises `Unreadable`. PDFium has global state: one thread at a time.
    """
    try:
        with closing(pypdfium2.PdfDocument(content)) as document:
            if not 1 <= wanted.page <= len(document):
                raise Unreadable("no_page", "it has no such page")
            with closing(document[wanted.page - 1]) as page:
                boxes = _find(page, wanted) if wanted.quote else []
                if wanted.quote and not boxes and reads_pictures() and is_scan(page):
                    return _draw_scan(page, wanted)
                for box in boxes:
                    _mark(page, box)
                return _render(page, wanted.width, len(boxes))
    except pypdfium2.PdfiumError as error:
        raise Unreadable("broken", "the page cannot be drawn") from error


def is_scan(page: pypdfium2.PdfPage) -> bool:
    """Return whether a page has no text."""
    with closing(page.get_textpage()) as text:
        return not any(map(str.isalnum, text.get_text_range()))


def pixels_for_reading(page: pypdfium2.PdfPage) -> _ocr.Pixels:
    """Return the picture of a page as large as its text can be read best."""
    return _pixels(page, _ocr.MAX_SIDE / max(_size(page)))


def _draw_scan(page: pypdfium2.PdfPage, wanted: PictureRequest) -> Picture:
    """Return the page with the quotation marked where it is read again."""
    lines = _ocr.read_lines(pixels_for_reading(page))
    boxes = _ocr.find_quote(lines, wanted.quote, wanted.occurrence)
    drawn = _pixels(page, scale_for(wanted.width, _size(page)))
    return encode(_ocr.mark(drawn, boxes), len(boxes))


def _find(page: pypdfium2.PdfPage, wanted: PictureRequest) -> list[Box]:
    """Return the boxes of the lines of the quotation: of the one that is asked for, where it stands there several times."""
    with closing(page.get_textpage()) as text:
        count = min(text.count_chars(), _MAX_CHARACTERS)
        signs = [chr(pdfium.FPDFText_GetUnicode(text.raw, index)) for index in range(count)]
        place = place_of_quote(signs, wanted.quote, wanted.occurrence)
        if place is None:
            return []
        start, end = place
        boxes = text.count_rects(start, end - start)
        return list(_lines([text.get_rect(index) for index in range(min(boxes, _MAX_MARKS))]))


def _lines(boxes: Sequence[Box]) -> Iterator[Box]:
    """Yield one box for neighbours on a line, which PDFium splits where the font changes."""
    line: Box | None = None
    for box in boxes:
        if line is not None and _is_beside(line, box):
            line = (
                min(line[0], box[0]),
                min(line[1], box[1]),
                max(line[2], box[2]),
                max(line[3], box[3]),
            )
            continue
        if line is not None:
            yield line
        line = box
    if line is not None:
        yield line


def _is_beside(line: Box, box: Box) -> bool:
    """Return whether the box shares half of its height with the line, and begins within two heights of its end."""
    height = min(line[3] - line[1], box[3] - box[1])
    shared = min(line[3], box[3]) - max(line[1], box[1])
    return shared * 2 >= height and -height <= box[0] - line[2] <= 2 * height


def _mark(page: pypdfium2.PdfPage, box: Box) -> None:
    """Lay a mark over a place of the page, in memory alone."""
    left, bottom, right, top = box
    mark = pdfium.FPDFPageObj_CreateNewRect(
        left - _PADDING,
        bottom - _PADDING,
        right - left + 2 * _PADDING,
        top - bottom + 2 * _PADDING,
    )
    pdfium.FPDFPageObj_SetFillColor(mark, *_FILL)
    pdfium.FPDFPageObj_SetStrokeColor(mark, *_EDGE)
    pdfium.FPDFPageObj_SetStrokeWidth(mark, _EDGE_WIDTH)
    pdfium.FPDFPageObj_SetBlendMode(mark, b"Multiply")
    pdfium.FPDFPath_SetDrawMode(mark, pdfium.FPDF_FILLMODE_WINDING, True)  # noqa: FBT003 - a call of C
    pdfium.FPDFPage_InsertObject(page.raw, mark)


def _render(page: pypdfium2.PdfPage, width: int, marks: int) -> Picture:
    return encode(_pixels(page, scale_for(width, _size(page))), marks)


def _size(page: pypdfium2.PdfPage) -> tuple[float, float]:
    size = page.get_size()
    if not all(0 < side < float("inf") for side in size):
        raise Unreadable("broken", "the page has no size")
    return size


def scale_for(width: int, size: tuple[float, float]) -> float:
    """Return by how much to scale a page so that it is this wide, and not too large."""
    across, down = size
    return min(width / across, sqrt(_MAX_PIXELS / across / down), _MAX_SIDE / max(size))


def _pixels(page: pypdfium2.PdfPage, scale: float) -> _ocr.Pixels:
    # A side of less than a pixel is one pixel: PDFium rounds up.
    drawn = cast("_Bitmap", page.render(scale=scale, rev_byteorder=True))  # pyright: ignore[reportArgumentType] - typed by its default, 1
    with closing(drawn) as bitmap:
        rows = np.frombuffer(bitmap.buffer, dtype=np.uint8)
        rows = rows[: bitmap.height * bitmap.stride].reshape(bitmap.height, bitmap.stride)
        used = rows[:, : bitmap.width * bitmap.n_channels]
        return used.reshape(bitmap.height, bitmap.width, bitmap.n_channels).copy()


def encode(pixels: _ocr.Pixels, marks: int) -> Picture:
    height, width = pixels.shape[:2]
    rows = [memoryview(row.tobytes()) for row in pixels]
    return Picture(png=_png(width, height, rows), width=width, height=height, marks=marks)


def _png(width: int, height: int, rows: Sequence[memoryview]) -> bytes:
    """Return a PNG of rows of red, green and blue bytes."""
    packer = zlib.compressobj(6)
    packed = [packer.compress(part) for row in rows for part in (_ROW_HEADER, row)]
    packed.append(packer.flush())
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    blocks = ((b"IHDR", header), (b"IDAT", b"".join(packed)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_block(name, content) for name, content in blocks)


def _block(name: bytes, content: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(name + content))
    return struct.pack(">I", len(content)) + name + content + check
