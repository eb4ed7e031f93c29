"""A page as a picture: the quotation is marked where it stands, and a hostile file costs a bounded picture or none."""

import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import pypdfium2
import pytest
from reportlab.pdfgen.canvas import Canvas

from lightwell.domain.documents import Page
from lightwell.domain.errors import LimitExceeded, Unreadable
from lightwell.domain.originals import Picture, PictureRequest
from lightwell.ingest.parse import draw
from lightwell.ingest.parser import Parser
from lightwell.ingest.parser_messages import ParserLimits
from lightwell.knowledge_base.page_pictures import find_on_page, part_on_page

YELLOW, WHITE = (0xFF, 0xE8, 0x9A), (0xFF, 0xFF, 0xFF)
HEIGHT = 842.0
TOP, LEFT, STEP = 780, 72, 20


def pdf(*pages: Sequence[str]) -> bytes:
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=(595, HEIGHT))
    for lines in pages:
        for number, line in enumerate(lines):
            canvas.drawString(LEFT, TOP - number * STEP, line)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def turned(content: bytes, degrees: int) -> bytes:
    """Return a PDF whose first page is shown turned."""
    file = io.BytesIO()
    document = pypdfium2.PdfDocument(content)
    document[0].set_rotation(degrees)
    document.save(file)
    return file.getvalue()


@dataclass(frozen=True)
class Pixels:
    """The pixels of a PNG that we wrote ourselves: eight bits, red, green and blue, no filter."""

    picture: Picture

    @property
    def rows(self) -> list[bytes]:
        png, size = self.picture.png, 3 * self.picture.width
        assert png.startswith(b"\x89PNG\r\n\x1a\n")
        assert png.endswith(b"IEND\xaeB`\x82")
        length = int.from_bytes(png[33:37])
        assert png[37:41] == b"IDAT"
        raw = zlib.decompress(png[41 : 41 + length])
        rows = [raw[start : start + size + 1] for start in range(0, len(raw), size + 1)]
        assert len(rows) == self.picture.height
        assert {row[0] for row in rows} == {0}
        return [row[1:] for row in rows]

    def marked_lines(self) -> list[int]:
        """Return which lines of `pdf` have yellow in them."""
        scale = self.picture.width / 595
        rows = self.rows
        yellow = bytes(YELLOW)
        return [
            number
            for number in range(10)
            if yellow in rows[round((HEIGHT - TOP + number * STEP - 3) * scale)]
        ]


def drawn(content: bytes, quote: str = "", **more: int) -> Pixels:
    wanted = {"page": 1, "width": 595, **more}
    return Pixels(draw(content, PictureRequest(quote=quote, **wanted)))


ABOUT = pdf(
    [
        "Nordwind receives a discount of",
        "18 percent on all items. It is fi\ufb01xed.",
        "A con-",
        "tract is signed. Oslo is far.",
        "Oslo is far.",
        "Nothing else.",
    ]
)


@pytest.mark.parametrize(
    ("quote", "lines"),
    [
        ("", []),
        ("Nothing else.", [5]),
        ("nothing  ELSE", [5]),
        ("Nordwind receives a discount of 18 percent on all items.", [0, 1]),
        ("A contract is signed.", [2, 3]),
        ("Nordwind receives a discount of 19 percent", []),
        ("...", []),
    ],
)
def test_every_line_of_the_quotation_is_marked_and_nothing_else(
    quote: str, lines: list[int]
) -> None:
    pixels = drawn(ABOUT, quote)
    assert pixels.marked_lines() == lines
    assert pixels.picture.marks == len(lines)


@pytest.mark.parametrize(("occurrence", "lines"), [(0, [3]), (1, [4]), (7, [4])])
def test_the_place_that_is_meant_is_marked(occurrence: int, lines: list[int]) -> None:
    assert drawn(ABOUT, "Oslo is far.", occurrence=occurrence).marked_lines() == lines


def test_what_is_printed_stays_as_dark_under_a_mark() -> None:
    plain, marked = drawn(ABOUT), drawn(ABOUT, "Nothing else.")
    assert min(map(min, plain.rows)) == min(map(min, marked.rows)) < 40
    before = [row for number, row in enumerate(plain.rows) if number < 100]
    assert before == [row for number, row in enumerate(marked.rows) if number < 100]


@pytest.mark.parametrize("rotated", [0, 90, 180, 270])
def test_a_page_that_is_turned_has_its_mark_on_its_words(rotated: int) -> None:
    """Dark words, the full stop too, are in the middle of the mark, wherever it is."""
    content = turned(pdf(["Alpha beta gamma."]), rotated)
    pixels = drawn(content, "Alpha beta gamma.", width=1200)
    marked = [
        (x, y)
        for y, row in enumerate(pixels.rows)
        for x in range(pixels.picture.width)
        if tuple(row[3 * x : 3 * x + 3]) == YELLOW
    ]
    dark = [
        (x, y)
        for y, row in enumerate(pixels.rows)
        for x in range(pixels.picture.width)
        if max(row[3 * x : 3 * x + 3]) < 60
    ]
    assert marked
    assert dark
    for axis in (0, 1):
        assert min(p[axis] for p in marked) <= min(p[axis] for p in dark)
        assert max(p[axis] for p in dark) <= max(p[axis] for p in marked)


@pytest.mark.parametrize("width", [100, 1200, 2000])
def test_it_is_as_wide_as_asked(width: int) -> None:
    assert drawn(ABOUT, width=width).picture.width in {width, width + 1}


@pytest.mark.parametrize(
    "box", ["0 0 14400 14400", "0 0 1 14400", "0 0 14400 1", "0 0 0.001 0.001", "0 0 9e9 9e9"]
)
def test_a_giant_page_has_few_pixels(box: str) -> None:
    content = written(f"<</Type/Page/Parent 2 0 R/MediaBox[{box}]/Contents 4 0 R>>", b"")
    try:
        picture = drawn(content, width=2000).picture
    except Unreadable:
        return
    assert picture.width * picture.height <= 6_100_000
    assert len(picture.png) < 1_000_000


@pytest.mark.parametrize("page", [0, 2, 10**6])
def test_a_page_that_is_not_there_is_refused(page: int) -> None:
    with pytest.raises(Unreadable):
        drawn(ABOUT, page=page)


@pytest.mark.parametrize("content", [b"", b"%PDF-1.7", b"<svg/>", ABOUT[: len(ABOUT) // 3]])
def test_what_is_no_pdf_is_refused(content: bytes) -> None:
    with pytest.raises(Unreadable):
        drawn(content)


def written(page: str, content: bytes, *more: str) -> bytes:
    """Return a PDF with this page and its content; `more` are objects from number 5 on."""
    stream = f"<</Length {len(content)}>>stream\n".encode() + content + b"\nendstream"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        page.encode(),
        stream,
        *(each.encode("latin-1") for each in more),
    ]
    body, places = b"%PDF-1.7\n", [b"0000000000 65535 f \n"]
    for number, each in enumerate(objects, 1):
        places.append(b"%010d 00000 n \n" % len(body))
        body += b"%d 0 obj\n" % number + each + b"\nendobj\n"
    table = b"xref\n0 %d\n" % len(places) + b"".join(places)
    trailer = b"trailer<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF\n" % (len(places), len(body))
    return body + table + trailer


def tree(depth: int, breadth: int) -> bytes:
    """Return a page of forms that each draw the next one many times."""
    forms = [
        f"<</Type/XObject/Subtype/Form/BBox[0 0 595 842]/Resources<</XObject<</F {number + 1} 0 R>>>>"
        f"/Length {len('/F Do ' * breadth)}>>stream\n{'/F Do ' * breadth}\nendstream"
        for number in range(5, 5 + depth)
    ]
    leaf = "<</Type/XObject/Subtype/Form/BBox[0 0 595 842]/Length 23>>stream\n0 0 595 842 re f 0 0 m \nendstream"
    page = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</XObject<</F 5 0 R>>>>>>"
    return written(page, b"/F Do", *forms, leaf)


def image(side: int) -> bytes:
    """Return a page with an image of this many pixels square, in few bytes."""
    packer = zlib.compressobj(9)
    row = bytes(3 * side)
    packed = b"".join(packer.compress(row) for _ in range(side)) + packer.flush()
    drawing = (
        f"<</Type/XObject/Subtype/Image/Width {side}/Height {side}/ColorSpace/DeviceRGB/BitsPerComponent 8"
        f"/Filter/FlateDecode/Length {len(packed)}>>stream\n{packed.decode('latin-1')}\nendstream"
    )
    page = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</XObject<</F 5 0 R>>>>>>"
    return written(page, b"595 0 0 842 0 0 cm /F Do", drawing)


async def test_a_bomb_costs_its_process_and_no_more() -> None:
    """The forms would be drawn 30^12 times; the next page is drawn as ever, and a big picture small."""
    parser = Parser(ParserLimits(cpu_seconds=2, memory_bytes=1024 * 1024**2), processes=1)
    wanted = PictureRequest(page=1, width=1200)
    try:
        with pytest.raises(LimitExceeded):
            await parser.draw(tree(12, 30), wanted)
        assert (await parser.draw(image(24_000), wanted)).width == 1200
        assert (await parser.draw(ABOUT, wanted)).width == 1200
    finally:
        parser.close()


async def test_a_process_reads_and_draws_in_turn() -> None:
    parser = Parser(processes=1)
    try:
        picture = await parser.draw(ABOUT, PictureRequest(page=1, width=300, quote="Nothing else"))
        assert picture.marks == 1
        with pytest.raises(Unreadable):
            await parser.draw(ABOUT, PictureRequest(page=9, width=300))
        assert len(parser.process_ids) == 1
    finally:
        parser.close()


TEXT = "Alpha is one. Alpha is two and goes on. Gamma is three."
FIRST, SECOND = Page(number=1, start=0, end=28), Page(number=2, start=28, end=len(TEXT))


def test_what_goes_over_pages_has_a_part_on_each() -> None:
    span = find_on_page(TEXT, "alpha is two and goes on.", SECOND)
    assert span == (14, 39)
    assert part_on_page(TEXT, span, FIRST) == ("Alpha is two a", 0)
    assert part_on_page(TEXT, span, SECOND) == ("nd goes on.", 0)


def test_the_same_words_are_counted_on_their_page() -> None:
    assert part_on_page(TEXT, (14, 22), FIRST) == ("Alpha is", 1)
    assert part_on_page(TEXT, (0, 8), FIRST) == ("Alpha is", 0)
    assert find_on_page(TEXT, "Gamma", FIRST) is None
    assert part_on_page(TEXT, (40, 45), FIRST) == ("", 0)
    assert part_on_page(TEXT, None, FIRST) == ("", 0)


def test_the_file_itself_is_not_changed() -> None:
    before = bytes(ABOUT)
    drawn(ABOUT, "Nothing else.")
    assert before == ABOUT
    assert len(pypdfium2.PdfDocument(ABOUT)) == 1
