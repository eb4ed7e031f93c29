"""E-books: chapters in their order, with the headings that they or the table of contents give them."""

import pytest

from lightwell.domain.documents import Format, ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse import parse
from lightwell.ingest.parse.formats import detect_format
from tests.packages import epub


def read(content: bytes) -> ParsedDocument:
    assert detect_format("book", content) is Format.EPUB
    return parse(content, Format.EPUB, name="book.epub")


def test_chapters_come_in_the_order_of_reading_with_their_titles() -> None:
    document = read(
        epub(
            "<h1>Start</h1><p>Open<span id='p1'/> the <b>valve</b>.</p><h2>Stop</h2><p>Close it.</p>",
            "<p>It <i/>ends.</p><table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>",
            contents={1: "Not this", 2: "The end"},
        )
    )
    assert document.text == (
        "Start\n\nOpen the valve.\n\nStop\n\nClose it.\n\nThe end\n\nIt ends.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"
    )
    assert [section.path for section in document.sections] == [
        ("Start",),
        ("Start", "Stop"),
        ("The end",),
    ]
    assert (document.title, document.author) == ("The pump book", "Ada Park, Bo Lund")
    assert str(document.updated_at) == "2026-03-04 00:00:00+00:00"


def test_a_thousand_places_in_a_page_are_no_deep_nesting() -> None:
    marked = "<p>word<span id='x'/><a/></p>" * 1000
    assert read(epub(marked)).text.count("word") == 1000


def test_the_contents_of_older_books_give_titles_too() -> None:
    ncx = (
        '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>Of pumps</text></navLabel>'
        '<content src="text/c%201.xhtml"/></navPoint></navMap></ncx>'
    )
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf"><manifest>'
        '<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
        '<item id="c1" href="text/c%201.xhtml" media-type="application/xhtml+xml"/></manifest>'
        "<spine>" + '<itemref idref="c1"/>' * 1000 + "</spine></package>"
    )
    content = epub("<p>Words.</p>", more={"OPS/toc.ncx": ncx, "OPS/book.opf": opf})
    assert read(content).text == "Of pumps\n\nWords."


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (
            {
                "META-INF/encryption.xml": '<e xmlns:c="http://www.w3.org/2001/04/xmlenc#">'
                '<c:CipherReference URI="OPS/text/c%201.xhtml"/></e>'
            },
            "encrypted",
        ),
        ({"META-INF/container.xml": "<container/>"}, "broken"),
        ({"OPS/book.opf": "<package"}, "broken"),
        ({"OPS/text/c 1.xhtml": "<div>" * 1000}, "broken"),
        ({"OPS/text/c 1.xhtml": ""}, "empty"),
    ],
)
def test_what_cannot_be_read_is_refused(more: dict[str, str], reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read(epub("<p>Words.</p>", more=more))
    assert caught.value.reason == reason
