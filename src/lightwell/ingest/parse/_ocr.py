"""Reads the text of pictures, with the extra `ocr`: RapidOCR, whose models are in its wheel. Nothing is loaded from elsewhere.

Each line has its place, so that a quotation can be marked where it stands.
"""

import resource
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.errors import Unreadable
from lightwell.text.letters import place_of_quote

Pixels = NDArray[np.uint8]
"""Rows of red, green and blue."""

Box = tuple[float, float, float, float]
"""Left, top, right, bottom, as shares of the picture's width and height."""

MAX_SIDE = 2000
"""Pixels of the longer side; the network would make a larger picture smaller."""

MAX_SCANNED_PAGES = 300
_PAGE_SECONDS, _PAGE_CPU_SECONDS = 120, 30
"""What one page may take beyond what its file may; an ordinary one takes 4 seconds of the processor."""

_FILL, _EDGE = (0xFF, 0xE8, 0x9A), (0xE0, 0xB4, 0x00)
_PADDING, _EDGE_PIXELS = 3, 2
_MODELS = {
    "Det": "PP-OCRv6_det_small.onnx",
    "Cls": "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
    "Rec": "PP-OCRv6_rec_small.onnx",
}


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    box: Box


class _Output(Protocol):
    boxes: NDArray[np.float64] | None
    """Of each line the four corners."""

    txts: Sequence[str] | None


class _Engine(Protocol):
    def __call__(self, img_content: Pixels) -> _Output: ...


class _Package(Protocol):
    def RapidOCR(self, *, params: Mapping[str, object]) -> _Engine: ...  # noqa: N802 - its name there


def read_lines(pixels: Pixels) -> list[Line]:
    """Return the lines of a picture, from the top; it gives the page the time that it needs."""
    _allow_page()
    output = _engine()(np.ascontiguousarray(pixels[:, :, ::-1]))
    if output.boxes is None or output.txts is None:
        return []
    height, width = pixels.shape[:2]
    corners = np.clip(output.boxes / (width, height), 0.0, 1.0)
    return [Line(text, _bounds(places)) for text, places in zip(output.txts, corners, strict=True)]


def _bounds(corners: NDArray[np.float64]) -> Box:
    (left, top), (right, bottom) = corners.min(axis=0), corners.max(axis=0)
    return float(left), float(top), float(right), float(bottom)


def read_text(pixels: Pixels) -> str:
    return "\n".join(line.text for line in read_lines(pixels))


def too_many_pages(count: int) -> Unreadable:
    return Unreadable(
        "too_large", f"it has {count:,} scanned pages; split it below {MAX_SCANNED_PAGES:,}"
    )


def find_quote(lines: Sequence[Line], quote: str, occurrence: int) -> list[Box]:
    """Return where the lines have a quotation, found by its letters: the one that is asked for of several, one box a line."""
    place = place_of_quote("\n".join(line.text for line in lines), quote, occurrence)
    return list(_cut(lines, *place)) if place else []


def mark(pixels: Pixels, boxes: Sequence[Box]) -> Pixels:
    """Return the picture with the boxes marked: the fill is multiplied, so that what is printed stays as dark as it is."""
    marked = pixels.copy()
    height, width = pixels.shape[:2]
    for left, top, right, bottom in boxes:
        rows = slice(max(0, round(top * height) - _PADDING), round(bottom * height) + _PADDING)
        columns = slice(max(0, round(left * width) - _PADDING), round(right * width) + _PADDING)
        area = marked[rows, columns]
        inner = area[_EDGE_PIXELS:-_EDGE_PIXELS, _EDGE_PIXELS:-_EDGE_PIXELS].copy()
        area[:] = _EDGE
        fill = np.array(_FILL, dtype=np.uint16)
        area[_EDGE_PIXELS:-_EDGE_PIXELS, _EDGE_PIXELS:-_EDGE_PIXELS] = inner * fill // 255
    return marked


def _cut(lines: Sequence[Line], start: int, end: int) -> Iterator[Box]:
    """Yield the part of each line between two places of their text, as if all its letters had one width."""
    position = 0
    for line in lines:
        length = len(line.text)
        first, last = max(start - position, 0), min(end - position, length)
        if first < last:
            left, top, right, bottom = line.box
            letter = (right - left) / length
            yield left + first * letter, top, left + last * letter, bottom
        position += length + 1


@cache
def _engine() -> _Engine:
    """Load the networks, which takes a second; their files are named, since RapidOCR would look for others in the network."""
    package = import_module("rapidocr")
    folder = Path(cast("str", package.__file__)).parent / "models"
    params: dict[str, object] = {
        f"{step}.model_path": str(folder / name) for step, name in _MODELS.items()
    }
    threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    return cast("_Package", package).RapidOCR(
        params=params | threads | {"Global.log_level": "critical"}
    )


def _allow_page() -> None:
    """Raise what this process may still take, where it has limits (`ingest/parser_process.py`), by that of a page."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if soft != resource.RLIM_INFINITY:
        more = soft + _PAGE_CPU_SECONDS
        most = more if hard == resource.RLIM_INFINITY else min(more, hard)
        resource.setrlimit(resource.RLIMIT_CPU, (most, hard))
    left, _ = signal.getitimer(signal.ITIMER_REAL)
    if left:
        signal.setitimer(signal.ITIMER_REAL, left + _PAGE_SECONDS)
