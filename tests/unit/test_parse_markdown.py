from datetime import UTC, datetime

import pytest

from lightwell.domain.documents import Format, ParsedDocument, SpanKind
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse import parse


def read(text: str) -> ParsedDocument:
    return parse(text.encode(), Format.MARKDOWN, name="note.md")


def under(document: ParsedDocument) -> list[tuple[tuple[str, ...], str]]:
    return [(each.path, document.text[each.start : each.end]) for each in document.sections]


def test_headings_of_both_kinds_make_sections_that_cover_the_text() -> None:
    text = "Before.\n\nGuide\n=====\nOne.\n\n## A *bold* [link](x)\nTwo.\n\nLast\n----\nThree.\n"
    document = read(text)
    assert document.text == text
    assert under(document) == [
        ((), "Before.\n\n"),
        (("Guide",), "Guide\n=====\nOne.\n\n"),
        (("Guide", "A bold link"), "## A *bold* [link](x)\nTwo.\n\n"),
        (("Guide", "Last"), "Last\n----\nThree.\n"),
    ]
    assert document.title == "Guide"


def test_a_heading_inside_code_or_a_quotation_is_none() -> None:
    document = read("# Real\n\n```sh\n# not a heading\n```\n\n> # Quoted\n")
    assert [each.path for each in document.sections] == [("Real",)]


def test_code_tables_and_formulas_are_found_where_they_stand() -> None:
    text = (
        "# T\n\n    price = $x^2$\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
        "It costs $5 or $6. But $x^2$ and \\(y\\) and\n\n$$\nE = mc^2\n$$\n"
    )
    document = read(text)
    assert [(span.kind, text[span.start : span.end]) for span in document.spans] == [
        (SpanKind.CODE, "    price = $x^2$"),
        (SpanKind.TABLE, "| a | b |\n|---|---|\n| 1 | 2 |"),
        (SpanKind.FORMULA, "$x^2$"),
        (SpanKind.FORMULA, "\\(y\\)"),
        (SpanKind.FORMULA, "$$\nE = mc^2\n$$"),
    ]


def test_front_matter_is_left_out_and_names_title_author_and_day() -> None:
    document = read(
        "---\ntitle: Notes &amp; notices\nauthor: Ada\ndate: 2026-03-01\n---\n# Heading\n"
    )
    assert document.text == "# Heading\n"
    assert (document.title, document.author) == ("Notes & notices", "Ada")
    assert document.updated_at == datetime(2026, 3, 1, tzinfo=UTC)


def test_a_rule_at_the_top_is_no_front_matter() -> None:
    text = "---\nJust words\n---\nmore\n"
    assert read(text).text == text


def test_text_is_composed_and_has_no_control_characters() -> None:
    document = read("\ufeffGro\u0308ße\x00\x07\r\nzwei\rdrei\u2028vier\n")
    assert document.text == "Größe\nzwei\ndrei\nvier\n"


@pytest.mark.parametrize("content", [b"", b" \n\t\n", b"\x00" * 5000, b"---\ntitle: x\n---\n"])
def test_a_file_without_text_is_empty(content: bytes) -> None:
    with pytest.raises(Unreadable) as caught:
        parse(content, Format.MARKDOWN, name="a.md")
    assert caught.value.reason == "empty"


def test_a_text_of_too_many_characters_is_refused() -> None:
    with pytest.raises(Unreadable) as caught:
        parse(b"ab \n" * 5_100_000, Format.MARKDOWN, name="a.md")
    assert caught.value.reason == "too_large"


def test_a_fence_that_holds_text_is_no_code_and_its_headings_are_headings() -> None:
    text = (
        "# Pump\n\n````{note} Hot\n## Inside\n\n```{tip}\nWords.\n```\n````\n\n```python\nx\n```\n"
    )
    document = parse(text.encode(), Format.MARKDOWN, name="a.md")
    assert [section.path for section in document.sections] == [("Pump",), ("Pump", "Inside")]
    assert [document.text[span.start : span.end] for span in document.spans] == [
        "```python\nx\n```"
    ]
    assert document.text[document.sections[1].start :].startswith("## Inside")


def test_attributes_of_a_heading_are_not_its_words() -> None:
    text = b"# Pump {#top}\n\n## Use {.unnumbered #use title='x'}\n\n## {x} y\n\nWords."
    document = parse(text, Format.MARKDOWN, name="a.md")
    assert [section.path[-1] for section in document.sections] == ["Pump", "Use", "{x} y"]
