"""Scans and pictures of text, with the extra `ocr`: a sentence is found, cited, and marked where it stands."""

import importlib.util
import io
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from lightwell.connectors.files import Files
from lightwell.domain.errors import Unreadable
from lightwell.domain.formats import Format
from lightwell.domain.originals import PictureRequest
from lightwell.ingest.parse import draw, parse
from lightwell.knowledge_base.page_pictures import Mark

from .conftest import Project

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("rapidocr") is None and "CI" not in os.environ,
        reason="needs the extra ocr",
    ),
]

TAGS = frozenset({"team:pumps"})
SENTENCE = "The pump of hall seven is serviced by Halden each March."
OTHER = "The canteen of the harbour serves fish soup on Fridays."
FILLER = [
    "Maintenance of the plant in Bergen",
    "Every valve is replaced after eight thousand hours of work.",
    "Oil is ordered in autumn, since the road is closed in winter.",
]
WIDTH, HEIGHT, TOP, STEP = 1240, 1754, 200, 60


def page(*lines: str) -> Image.Image:
    image = Image.new("RGB", (WIDTH, HEIGHT), "white")
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(32)
    for number, line in enumerate(lines):
        pen.text((120, TOP + number * STEP), line, fill="black", font=font)
    return image


def saved(kind: str, *pages: Image.Image) -> bytes:
    file = io.BytesIO()
    pages[0].save(file, kind, save_all=len(pages) > 1, append_images=pages[1:])
    return file.getvalue()


def marked(png: bytes) -> tuple[float, float]:
    """Return the first and the last row that has a mark, as shares of the height."""
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)
    is_yellow = (pixels[:, :, 0] > 200) & (pixels[:, :, 2] < 180)
    rows = np.flatnonzero(is_yellow.sum(axis=1) > 50)
    return float(rows[0]) / len(pixels), float(rows[-1]) / len(pixels)


SCANS: Mapping[str, tuple[bytes, int]] = {
    "letter.png": (saved("PNG", page(*FILLER, SENTENCE)), 1),
    "scan.pdf": (saved("PDF", page(*FILLER, "Nothing else."), page(*FILLER, SENTENCE)), 2),
    "fax.tiff": (saved("TIFF", page(*FILLER, "Nothing else."), page(*FILLER, SENTENCE)), 2),
}
"""The page with the sentence, in its fourth line."""


@pytest.mark.parametrize("name", SCANS)
async def test_a_sentence_of_a_scan_is_cited_and_marked(
    project: Project, tmp_path: Path, name: str
) -> None:
    content, number = SCANS[name]
    (tmp_path / name).write_bytes(content)
    (tmp_path / "other.md").write_text(OTHER)
    result = await project.kb.ingestion.ingest(Files(tmp_path, TAGS))
    assert [outcome.error for outcome in result.done] == ["", ""]
    reader = await project.kb.reader(TAGS)
    answer = await project.kb.questions.ask("Who services the pump of hall seven?", reader)
    assert SENTENCE in answer.text
    citation = answer.citations[0]
    assert citation.source_url == (tmp_path / name).as_uri()
    assert number in (citation.locator.page, citation.locator.last_page)
    view = await project.kb.pictures.view(
        reader, str(citation.source_url), number, Mark(quote=SENTENCE)
    )
    picture = await project.kb.pictures.draw(reader, view)
    assert (picture.marks, picture.width) == (1, 1200)
    first, last = marked(picture.png)
    line = TOP + 3 * STEP
    assert (line - 20) / HEIGHT < first < (line + 20) / HEIGHT
    assert (line + 20) / HEIGHT < last < (line + STEP) / HEIGHT


def test_a_hostile_picture_is_refused() -> None:
    cut = SCANS["letter.png"][0][:600]
    huge = io.BytesIO()
    Image.new("1", (20_000, 20_000)).save(huge, "PNG")
    for content in (b"\x89PNG\r\n\x1a\n", cut, huge.getvalue(), b"GIF89a" + b"\x00" * 50, b"%!PS"):
        with pytest.raises(Unreadable):
            parse(content, Format.IMAGE, name="a.png")
        with pytest.raises(Unreadable):
            draw(content, PictureRequest(page=1, width=1000))


def test_a_picture_without_text_is_no_document() -> None:
    with pytest.raises(Unreadable, match="contains no text"):
        parse(saved("PNG", page()), Format.IMAGE, name="a.png")
