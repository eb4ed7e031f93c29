"""Parses pictures of text, such as photographed letters: with the extra `ocr`. A TIFF may have several pages."""

import io
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Protocol, cast

import numpy as np

from lightwell.domain.documents import ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.domain.originals import Picture, PictureRequest
from lightwell.ingest.parse import _ocr, pdf, picture
from lightwell.ingest.parse._sections import build_sections
from lightwell.ingest.parse._spans import guess_spans
from lightwell.ingest.parse.formats import reads_pictures

_MAX_READ_PIXELS = 60_000_000
_FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP")


class _Image(Protocol):
    """A picture of Pillow, which the extra brings."""

    @property
    def size(self) -> tuple[int, int]: ...
    def seek(self, frame: int) -> None: ...
    def convert(self, mode: str) -> "_Image": ...
    def resize(self, size: tuple[int, int]) -> "_Image": ...


class _Opening(Protocol):
    def open(self, fp: io.BytesIO, *, formats: tuple[str, ...]) -> _Image: ...


class _Turning(Protocol):
    def exif_transpose(self, image: _Image) -> _Image: ...


def parse(content: bytes, *, name: str = "") -> ParsedDocument:
    """Return what is written on the picture, or on the pages of a TIFF."""
    text, pages = pdf.join_pages([_ocr.read_text(page) for page in _pages(content)])
    return ParsedDocument(
        text=text,
        title="",
        author="",
        sections=build_sections(text, []),
        pages=pages,
        spans=tuple(guess_spans(text)),
        updated_at=None,
    )


def draw(content: bytes, wanted: PictureRequest) -> Picture:
    """Return a page with the quotation marked, or without marks where it is not there; raise `Unreadable`."""
    image = _open(content)
    if not 1 <= wanted.page <= _count(image):
        raise Unreadable("no_page", "it has no such page")
    frame = _frame(image, wanted.page - 1)
    lines = _ocr.read_lines(_for_reading(frame)) if wanted.quote else []
    boxes = _ocr.find_quote(lines, wanted.quote, wanted.occurrence)
    scale = picture.scale_for(wanted.width, frame.size)
    return picture.encode(_ocr.mark(_pixels(frame, scale), boxes), len(boxes))


def _pages(content: bytes) -> Iterator[_ocr.Pixels]:
    image = _open(content)
    count = _count(image)
    if count > _ocr.MAX_SCANNED_PAGES:
        raise _ocr.too_many_pages(count)
    for number in range(count):
        yield _for_reading(_frame(image, number))


def _open(content: bytes) -> _Image:
    if not reads_pictures():
        raise Unreadable("unsupported", "only the extra `ocr` reads pictures; install it")
    with _decoding():
        pillow = cast("_Opening", import_module("PIL.Image"))
        return pillow.open(io.BytesIO(content), formats=_FORMATS)


def _count(image: _Image) -> int:
    with _decoding():
        return int(getattr(image, "n_frames", 1))


def _frame(image: _Image, number: int) -> _Image:
    """Return a page in red, green and blue, turned as its camera was held."""
    with _decoding():
        image.seek(number)
        width, height = image.size
        if width * height > _MAX_READ_PIXELS:
            limit = f"{_MAX_READ_PIXELS // 1_000_000} million pixels"
            raise Unreadable("too_large", f"it has more than {limit}; make it smaller")
        return cast("_Turning", import_module("PIL.ImageOps")).exif_transpose(image).convert("RGB")


@contextmanager
def _decoding() -> Generator[None]:
    """Turn what Pillow raises for damaged pictures, which may be anything, into `Unreadable`."""
    try:
        yield
    except (Unreadable, MemoryError):
        raise
    except Exception as error:
        raise Unreadable(
            "broken", "the picture is damaged; open it in a viewer and save it again as PNG"
        ) from error


def _for_reading(frame: _Image) -> _ocr.Pixels:
    return _pixels(frame, min(1.0, _ocr.MAX_SIDE / max(frame.size)))


def _pixels(frame: _Image, factor: float) -> _ocr.Pixels:
    across, down = frame.size
    size = max(1, round(across * factor)), max(1, round(down * factor))
    return np.asarray(frame.resize(size), dtype=np.uint8)
