"""Nothing that a document or a model wrote becomes markup that loads, runs or links anything; links are citations."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from lightwell.answer.quotes import make_nearest_citation, render_text
from lightwell.answer.reply import verify_reply
from lightwell.domain.answers import (
    Answer,
    Answered,
    Citation,
    CitedSentence,
    InsufficientEvidence,
    StreamChunk,
    StreamType,
)
from lightwell.domain.evidence import NO_METRICS
from lightwell.domain.ids import new_query_id
from lightwell.entrypoints import markdown
from lightwell.entrypoints.http.openai_api import annotations
from lightwell.text.markup import strip_active_markup
from tests.generation import examples
from tests.passages import chunk, passage

SAID = "Nordwind Energie receives a discount of 18 percent on all items"
TERMS = (
    f"{SAID}. The terms are at https://halden.example/terms, questions go to Terms@Halden.example."
)
URL = "file:///1.pdf"

ATTACKS = (
    "![x](https:1.2.3.4/(krehiahgxtdd))",
    "![x](http:16909060/(a))",
    "![x](https://evil.com/(18))",
    '![x](https://evil.com/(18) "t")',
    "![x](<https:1.2.3.4/ 18>)",
    "![a][1]",
    "![1]",
    "[q](          https:1.2.3.4/18)",
    "[q](//evil.com/18)",
    "[q][a]\n[a]: //evil.com/18",
    "[1]: https://evil.com/18",
    "[x](javascript:alert(18))",
    "<img src=//evil.com/18>",
    "<svg/onload=alert(18)>",
    "<script>alert(18)</script>",
    "<xss onfocus=alert(18) tabindex=1>",
    "<https://evil.com/18>",
    "<!-- 18 -->",
    "https://evil.com/18",
    "HTTPS://EVIL.COM/18",
    "www.evil.com/18",
    "evil.com/18",
    "evil1.de",
    "me18@evil.com",
    "mailto:18@evil.com",
    "//evil.com/18",
    "`` ` https://evil.com/18",
    "| a |\n| --- |\n| `b | <img src=//evil.com/18>` |",
    "~~~\n\n<img src=//evil.com/18>",
    "```\n\n![x](//evil.com/18)",
    "\\![x](//evil.com/18)",
    "\\\\![x](//evil.com/18)",
    "`a\\` ![x](//evil.com/18)",
    "    ![x](//evil.com/18)\n![x](//evil.com/18)",
    "- ~~~\n- <b>",
    "[y](https://evil.com/[18])",
    "[![x](//evil.com/18)](//evil.com/18)",
    "&#33;&#91;x](//evil.com/18)",
    "&lt;img src=//evil.com/18&gt;",
)
SIGNS = st.text(alphabet="![]()<>`~|\\&:/@.#*_- \nabhtpsw1\"'", max_size=40)
WORDS = st.sampled_from(
    (*ATTACKS, "List<String>", "`a[0](b)`", "a", "\n", "\n\n", " ", "![", "](", "<", "`", "```")
)
TEXTS = st.lists(WORDS | SIGNS, max_size=6).map("".join)


def cited(url: str = URL, title: str = "Terms") -> Citation:
    first = make_nearest_citation(1, passage(chunk(TERMS)))
    return replace(first, source_url=url, document_title=title)


def answer(*texts: str, citation: Citation | None = None) -> Answer:
    citations = (citation or cited(),)
    sentences = tuple(CitedSentence(text=each, citations=citations) for each in texts)
    return Answer(
        query_id=new_query_id(),
        question="Which discount?",
        outcome=Answered(sentences=sentences),
        relevance=0.9,
        author=None,
        metrics=NO_METRICS,
    )


def tokens(text: str, *, finds_addresses: bool = True, links: str = "") -> list[Token]:
    """Return everything that a client makes of markdown that links what begins like this, with raw HTML allowed and bare addresses linked."""
    options = {"html": True, "linkify": finds_addresses}
    parser = MarkdownIt("js-default", options).enable("table")
    # What a client refuses to link is none of ours to rely on.
    parser.validateLink = lambda url: url.startswith(links)  # type: ignore[method-assign]
    return list(_flat(parser.parse(text)))


def _flat(found: list[Token]) -> Iterator[Token]:
    for each in found:
        yield each
        yield from _flat(each.children or [])


def active(text: str, *, finds_addresses: bool = True, links: str = "") -> list[str]:
    """Return what the text loads, runs or links to in a client that renders markdown."""
    found = tokens(text, finds_addresses=finds_addresses, links=links)
    targets = [str(each.attrGet("href")) for each in found if each.type == "link_open"]
    return [
        *targets,
        *(each.content for each in found if "html" in each.type or each.type == "image"),
    ]


def shown(text: str) -> str:
    return "".join(
        each.content
        for each in tokens(text)
        if each.type in ("text", "text_special", "code_inline", "softbreak")
    )


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_in_an_answer_is_text(attack: str) -> None:
    rendered = markdown.render_answer(answer(f"{SAID} {attack}", f"{attack} {SAID}"))
    assert set(active(rendered)) == {URL}


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_a_refusal_names_as_nearest_is_text(attack: str) -> None:
    named = replace(cited(title=f"Terms {attack}"), snippet=f"{SAID} {attack}", highlight=(0, 0))
    refused = replace(answer(SAID), outcome=InsufficientEvidence(nearest=(named,)))
    rendered = markdown.render_answer(refused)
    assert "Nearest: Terms" in rendered
    assert active(rendered) == []


def test_the_parser_of_these_tests_sees_what_clients_see() -> None:
    alive = [each for each in ATTACKS if active(each)]
    assert len(alive) > 20
    assert active("See https://evil.com/x and evil.com and a@evil.com") == [
        "https://evil.com/x",
        "http://evil.com",
        "mailto:a@evil.com",
    ]


@examples(300)
@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_markdown_has_no_link_but_citations(texts: list[str]) -> None:
    assert set(active(markdown.render_answer(answer(*texts)))) <= {URL}


@examples(300)
@given(TEXTS)
def test_what_is_no_answer_has_no_link_at_all(text: str) -> None:
    assert active(markdown.escape(text)) == []


@examples(300)
@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_what_a_model_wrote_is_text_in_every_door(texts: list[str]) -> None:
    text = answer(*map(strip_active_markup, texts)).text
    assert active(text, finds_addresses=False) == []
    defined = f"{text}\n\n[1]: <{URL}>"
    assert set(active(defined, finds_addresses=False)) <= {URL}


@examples(100)
@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_a_stream_has_the_same_markdown(texts: list[str]) -> None:
    whole = answer(*texts)
    events = [
        StreamChunk(
            type=StreamType.TOKEN,
            content=f"{'' if not at else chr(10)}{each.marked_text}",
            sentence=each,
        )
        for at, each in enumerate(whole.sentences)
    ]
    streamed = "".join(map(markdown.render_token, events)) + markdown.render_rest(whole)
    assert streamed == markdown.render_answer(whole)
    for sentence, (start, end) in zip(whole.sentences, markdown.sentence_spans(whole), strict=True):
        assert streamed[start:end].endswith(sentence.marks)


@pytest.mark.parametrize(
    "text",
    [
        "List<String> a = b[0](c) & d < e;",
        "Run `pip install x[dev]` in C:\\Temp\\[a].",
        "Use <name> for the user's name, snake_case and a|b.",
        "Write to payroll@halden.example (see https://halden.example/a_b).",
        "&lt;b&gt; and &amp; stay, 3 < 5 and ![no image].",
    ],
)
def test_a_reader_sees_every_sign(text: str) -> None:
    assert shown(markdown.escape(text)).replace("`", "") == text.replace("`", "")


def test_a_call_that_looks_like_an_address_is_code_to_its_last_parenthesis() -> None:
    assert markdown.escape("Call skarn.connect(port=7007).") == "Call `skarn.connect(port=7007)`."
    assert markdown.escape("(see a.example)") == "(see `a.example`)"


def test_a_url_that_runs_is_no_link() -> None:
    hostile = answer(SAID, citation=cited("javascript:alert(1)"))
    assert active(markdown.render_answer(hostile)) == []
    assert annotations(hostile, "") == []
    (own,) = annotations(hostile, "https://knowledge.example.com")
    assert own.url_citation.url.startswith("https://knowledge.example.com/d/")
    assert [each.url_citation.url for each in annotations(answer(SAID), "")] == [URL]


@examples(100)
@given(TEXTS)
def test_a_title_ends_no_definition(title: str) -> None:
    titled = answer(SAID, citation=cited(title=title))
    assert set(active(markdown.render_answer(titled))) <= {URL}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_model_brings_no_markup_and_no_address_of_its_own(attack: str) -> None:
    kept = [each.text for each in verify_reply(f"{SAID} {attack} [1].", [passage(chunk(TERMS))])]
    assert all("evil" not in each and active(each) == [] for each in kept)


@pytest.mark.parametrize(
    "text",
    ["The terms are at https://halden.example/terms", "Questions go to terms@halden.example"],
)
def test_a_model_repeats_an_address_of_its_source_as_text(text: str) -> None:
    kept = verify_reply(f"{text} [1].", [passage(chunk(TERMS))])
    assert [each.text for each in kept] == [f"{text}."]


def test_a_models_link_leaves_its_words() -> None:
    text = "The [terms](https://evil.com/18) are at https://halden.example/terms [1]."
    kept = verify_reply(text, [passage(chunk(TERMS))])
    assert [each.text for each in kept] == ["The terms are at https://halden.example/terms."]


def test_extracts_have_no_tags_that_load_or_run() -> None:
    text = "It costs 20 euros <script>alert(1)</script> a month <svg/onload=alert(1)><x onfocus=a() b>."
    assert "<" not in render_text(text)
    assert render_text("Use List<String> or <name>.") == "Use List<String> or <name>."


@examples(100)
@given(TEXTS)
def test_a_title_is_text_for_programs_that_know_no_links_to_files(title: str) -> None:
    """Then the definition is a paragraph for them, and the title stands in it."""
    titled = answer(SAID, citation=cited("file:///docs/terms.md", title))
    assert active(markdown.render_answer(titled), links="http") == []
