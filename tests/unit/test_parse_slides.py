"""Presentations and texts of office programs: slides are sections and pages, and what people see is read in order."""

import pytest

from lightwell.domain.documents import Format, ParsedDocument, SpanKind
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse import parse
from lightwell.ingest.parse.formats import detect_format
from tests.packages import opendocument, powerpoint, shape, slide, slide_table, zipped

AGENDA = slide(
    shape("7", "sldNum"), shape("Costs\nTime", "body"), shape("What we\nspeak of", "title")
)
COSTS = slide(shape("Costs", "title"), slide_table("Item|Price", "Pump|50 €"), shape("All is net."))
ODT = """
<text:p text:style-name="P1">The guide</text:p>
<text:table-of-content><text:index-body><text:p>Set up 1</text:p></text:index-body></text:table-of-content>
<text:h text:outline-level="1">Set up</text:h>
<text:tracked-changes><text:changed-region><text:deletion><text:p>Gone</text:p></text:deletion></text:changed-region></text:tracked-changes>
<text:p>Turn it <text:span>on</text:span><text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>With the key.</text:p></text:note-body></text:note>
  <text:s text:c="3"/>now<office:annotation><text:p>Really?</text:p></office:annotation>.</text:p>
<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>two</text:p></text:list-item></text:list></text:list-item></text:list>
<text:h text:outline-level="2">Prices</text:h>
<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Item</text:p></table:table-cell>
<table:table-cell><text:p>Price</text:p></table:table-cell></table:table-row></table:table-header-rows>
<table:table-row><table:table-cell table:number-columns-repeated="2"><text:p>7</text:p></table:table-cell>
<table:table-cell table:number-columns-repeated="16000"/></table:table-row></table:table>
<text:p text:style-name="P2">pump --on</text:p><text:p text:style-name="P2">pump --off</text:p>
"""
STYLES = (
    '<style:style style:name="P1" style:parent-style-name="Title"/>'
    '<style:style style:name="P2" style:parent-style-name="Preformatted_20_Text"/>'
)


def frame(text: str, role: str = "") -> str:
    marked = f' presentation:class="{role}"' if role else ""
    return (
        f"<draw:frame{marked}><draw:text-box><text:p>{text}</text:p></draw:text-box></draw:frame>"
    )


def read(content: bytes, name: str) -> ParsedDocument:
    return parse(content, detect_format(name, content), name=name)


def reason(content: bytes, name: str) -> str:
    with pytest.raises(Unreadable) as caught:
        read(content, name)
    return caught.value.reason


def where(document: ParsedDocument) -> list[tuple[tuple[str, ...], str]]:
    return [
        (section.path, document.text[section.start : section.end].strip())
        for section in document.sections
    ]


def test_a_slide_is_a_section_of_its_number_and_title_and_a_page() -> None:
    document = read(
        powerpoint(AGENDA, COSTS, notes={1: "Say hello."}, title="Pumps 2026"), "plan.pptx"
    )
    assert where(document) == [
        (
            ("Slide 1: What we speak of",),
            "Slide 1: What we speak of\n\n- Costs\n- Time",
        ),
        (("Slide 1: What we speak of", "Notes"), "Notes\n\nSay hello."),
        (
            ("Slide 2: Costs",),
            "Slide 2: Costs\n\n| Item | Price |\n| --- | --- |\n| Pump | 50 € |\n\nAll is net.",
        ),
    ]
    first, second = document.pages
    assert (first.number, first.start, second.end) == (1, 0, len(document.text))
    assert document.text[second.start :].startswith("Slide 2")
    assert [span.kind for span in document.spans] == [SpanKind.TABLE]
    assert (document.title, document.author) == ("Pumps 2026", "Ada Park")
    assert document.updated_at is not None
    assert document.updated_at.isoformat() == "2026-03-04T05:06:07+00:00"


def test_without_a_title_of_its_own_a_presentation_is_named_by_its_first_slide_that_has_one() -> (
    None
):
    shown = powerpoint(slide(shape("words")), COSTS, title="PowerPoint Presentation")
    document = read(shown, "a.pptx")
    assert document.title == "Costs"
    assert document.text.startswith("Slide 1\n\nwords")


def test_slides_without_text_are_no_text() -> None:
    assert reason(powerpoint(slide(), slide(shape("3", "sldNum"))), "a.pptx") == "no_text"


def test_a_text_of_libreoffice_is_read_as_people_see_it() -> None:
    document = read(opendocument(ODT, styles=STYLES, title="Untold"), "a.odt")
    assert document.text == (
        "The guide\n\nSet up\n\nTurn it on[1] now.\n\n[1] With the key.\n\n- one\n- two\n\nPrices\n\n"
        "| Item | Price |\n| --- | --- |\n| 7 | 7 |\n\n        pump --on\n        pump --off"
    )
    assert [section.path for section in document.sections] == [
        ("The guide",),
        ("The guide", "Set up"),
        ("The guide", "Set up", "Prices"),
    ]
    assert [span.kind for span in document.spans] == [SpanKind.TABLE, SpanKind.CODE]
    assert (document.title, document.author, document.pages) == ("The guide", "Ada Park", ())
    assert document.updated_at is not None


def test_a_presentation_of_libreoffice_has_slides_too() -> None:
    notes = f"<presentation:notes>{frame('Speak up.')}</presentation:notes>"
    slides = (
        f"<draw:page>{frame('Costs', 'title')}{frame('3', 'page-number')}{frame('All is net.')}{notes}</draw:page>"
        f"<draw:page>{frame('More')}</draw:page>"
    )
    document = read(opendocument(slides, kind="presentation"), "a.odp")
    assert document.text == "Slide 1: Costs\n\nAll is net.\n\nNotes\n\nSpeak up.\n\nSlide 2\n\nMore"
    assert [page.number for page in document.pages] == [1, 2]
    assert document.title == "Costs"


def test_a_part_that_is_named_a_thousand_times_is_read_once() -> None:
    members = {
        "ppt/presentation.xml": '<p:presentation xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
        ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
        + '<p:sldId r:id="a"/>' * 1000
        + "</p:presentation>",
        "ppt/_rels/presentation.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="a" Type="x/slide" Target="slides/a.xml"/></Relationships>',
        "ppt/slides/a.xml": slide(shape("words")),
    }
    assert len(read(zipped(members), "a.pptx").pages) == 1


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (zipped({"ppt/presentation.xml": "<p"}), "broken"),
        (zipped({"ppt/presentation.xml": "<!DOCTYPE p [<!ENTITY e 'x'>]><p>&e;</p>"}), "no_text"),
        (zipped({"mimetype": "application/vnd.oasis.opendocument.text"}), "broken"),
        (
            zipped(
                {
                    "mimetype": "application/vnd.oasis.opendocument.text",
                    "META-INF/manifest.xml": "<manifest:encryption-data/>",
                }
            ),
            "encrypted",
        ),
        (zipped({"ppt/presentation.xml": "<p>" * 100_000}), "broken"),
        (zipped({"ppt/presentation.xml": "<p>" + " " * 10_000_000}), "too_large"),
    ],
)
def test_what_is_damaged_or_hostile_is_refused_with_its_reason(
    content: bytes, expected: str
) -> None:
    assert reason(content, "a.bin") == expected


def test_entities_and_files_outside_are_not_read() -> None:
    entity = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname"><!ENTITY f "boo">]>'
    content = entity + slide(shape("before &e;&f; after"))
    shown = powerpoint(content, COSTS)
    assert read(shown, "a.pptx").text.startswith("Slide 1\n\nbefore\n\nSlide 2")


def test_a_name_without_its_extension_is_no_hindrance() -> None:
    assert detect_format("x", powerpoint(COSTS)) is Format.PPTX
    assert detect_format("x.zip", opendocument("")) is Format.OPENDOCUMENT


def test_what_stands_in_itself_is_read_once() -> None:
    inner = "<a:p><a:r><a:t>word</a:t></a:r>" * 100 + "</a:p>" * 100
    shown = slide(f"<p:sp><p:txBody>{inner}</p:txBody></p:sp>", shape("end"))
    assert read(powerpoint(shown), "a.pptx").text.count("word") == 100
    pages = "<draw:page>" * 100 + frame("word") + "</draw:page>" * 100
    assert read(opendocument(pages, kind="presentation"), "a.odp").text.count("word") == 1
