"""What a chat says of answers: short, with sources that can be checked, and no word of a document that does anything."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given

from lightwell.domain.answers import (
    INSUFFICIENT,
    MAY_NOT_ANSWER,
    Answer,
    Answered,
    AnswerState,
    Citation,
    CitedSentence,
    Courtesy,
    InsufficientEvidence,
    Outcome,
    Step,
    StepKind,
)
from lightwell.domain.chat import ShownAnswer
from lightwell.domain.documents import Locator
from lightwell.domain.evidence import NO_METRICS
from lightwell.domain.graph import Entity
from lightwell.domain.graph_views import Candidate, Candidates
from lightwell.domain.ids import EntityId, new_query_id
from lightwell.domain.questions import UnderstoodFilter
from lightwell.entrypoints.channels.actions import ShowList
from lightwell.entrypoints.channels.messages import Button, Kind, Message, Span, Style, note, text
from lightwell.entrypoints.channels.paging import block_text
from lightwell.entrypoints.channels.platform import Labelled
from lightwell.entrypoints.channels.rendering import (
    candidate_label,
    render_answer,
    render_candidates,
    render_progress,
    render_statements,
)
from lightwell.entrypoints.slack.blocks import SlackText, to_slack
from lightwell.entrypoints.sources import sections_of
from tests.unit.test_chat_paging import messages

SERVER = "https://kb.example"
DOCUMENT = str(UUID(int=7))
HOSTILE = "<!channel> <@U1> *b* [x](http://evil.example) @here <b>&amp;"


def citation(
    mark: str = "[1]",
    snippet: str = "Nordwind gets 18 percent. From May on.",
    highlight: tuple[int, int] = (0, 25),
    *,
    source_url: str = "file:///contract.pdf",
    source_address: str = "",
) -> Citation:
    return Citation(
        id=mark,
        source_url=source_url,
        source_system="file",
        source_type="document",
        document_ref="file:document:1",
        document_id=DOCUMENT,
        chunk_ref="file:document:1#0",
        chunk_id=str(UUID(int=1)),
        document_title="Contract",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        dated_at=datetime(2026, 3, 2, tzinfo=UTC),
        snippet=snippet,
        score=0.9,
        locator=Locator(page=3, last_page=3, section=("Contract", "Prices"), start=0, end=40),
        highlight=highlight,
        source_address=source_address,
    )


def answer(outcome: Outcome, relevance: float = 0.9) -> Answer:
    return Answer(
        query_id=new_query_id(),
        question="What discount?",
        outcome=outcome,
        relevance=relevance,
        author=None,
        metrics=NO_METRICS,
    )


def answered(
    *cited: Citation, text: str = "Nordwind gets 18 percent.", relevance: float = 0.9
) -> Answer:
    sentence = CitedSentence(text=text, citations=cited or (citation(),))
    return answer(Answered(sentences=(sentence,)), relevance)


def lines(message: Message) -> list[str]:
    return [block_text(block) for block in message.blocks]


def links(message: Message) -> set[str]:
    return {span.url for block in message.blocks for span in block.spans if span.url}


def test_an_answer_is_its_sentence_its_source_what_stands_around_it_and_how_sure_it_is() -> None:
    message = render_answer(answered(), SERVER)
    assert lines(message) == [
        "Nordwind gets 18 percent. [1]",
        "[1] Contract › Prices, page 3 · 2026-03-02",
        "Nordwind gets 18 percent. From May on.",
        "confidence: high",
    ]
    assert [block.kind for block in message.blocks] == [
        Kind.TEXT,
        Kind.SOURCE,
        Kind.QUOTE,
        Kind.NOTE,
    ]
    assert message.blocks[2].spans[0] == Span("Nordwind gets 18 percent.", Style.BOLD)
    assert links(message) == {f"{SERVER}/d/{DOCUMENT}#0-25"}


def test_what_stands_above_is_not_quoted_again() -> None:
    message = render_answer(answered(citation(snippet="Nordwind gets 18 percent.")), SERVER)
    assert Kind.QUOTE not in [block.kind for block in message.blocks]


def test_a_quotation_does_not_repeat_the_heading_of_its_source() -> None:
    cited = citation(snippet="Prices\n\nNordwind gets 18 percent. From May on.", highlight=(8, 33))
    message = render_answer(answered(cited), SERVER)
    assert lines(message)[2] == "Nordwind gets 18 percent. From May on."


def test_quotations_of_one_place_are_one_source() -> None:
    snippet = "Nordwind gets 18 percent."
    cited = [citation(mark, snippet) for mark in ("[1]", "[2]")]
    message = render_answer(
        answered(*cited, replace(citation("[3]", snippet), document_title="Plan"))
    )
    sources = [block_text(block) for block in message.blocks if block.kind is Kind.SOURCE]
    assert [source.split(",")[0] for source in sources] == [
        "[1][2] Contract › Prices",
        "[3] Plan › Contract › Prices",
    ]


@pytest.mark.parametrize(
    ("title", "section", "shown"),
    [
        ("Contract", ("Contract",), []),
        ("Contract 14, Nordwind", ("Contract 14", "3. Price"), ["3. Price"]),
        ("Compte rendu, Valserine", ("Compte rendu : Valserine", "Questions"), ["Questions"]),
        ("Contract 14", ("Contract 1", "3. Price"), ["Contract 1", "3. Price"]),
        ("Prices 2026", ("Prices",), ["Prices"]),
        ("", ("Prices",), ["Prices"]),
        ("Contract", (), []),
    ],
)
def test_a_heading_that_the_title_says_is_not_said_again(
    title: str, section: tuple[str, ...], shown: list[str]
) -> None:
    locator = Locator(page=None, last_page=None, section=section, start=0, end=1)
    assert list(sections_of(locator, title)) == shown


def test_an_answer_is_shown_again_as_it_was_shown_first() -> None:
    first = answered()
    again = ShownAnswer(
        query_id=first.query_id,
        text=first.text,
        state=first.state,
        sentences=first.placed_sentences,
        citations=first.citations,
        model=first.model,
        notes=first.notes,
        confidence=first.confidence,
    )
    assert render_answer(again, SERVER) == render_answer(first, SERVER)


def test_a_doubtful_answer_begins_with_its_doubt_also_while_it_is_made() -> None:
    doubtful = answered(relevance=0.62)
    assert doubtful.state is AnswerState.POSSIBLY
    assert lines(render_answer(doubtful))[0] == MAY_NOT_ANSWER
    assert lines(render_progress(doubtful.sentences, is_doubtful=True)) == [
        MAY_NOT_ANSWER,
        "Nordwind gets 18 percent. [1]",
    ]
    step = Step(kind=StepKind.READING, titles=("Contract",))
    assert lines(render_progress((), step)) == ["Reading: Contract …"]


def test_a_refusal_has_three_paragraphs_at_most_and_leads_to_what_is_nearest() -> None:
    nothing = InsufficientEvidence(nearest=(citation(), citation("[2]")), missing_words=("cup",))
    message = render_answer(
        replace(answer(nothing, 0.1), remarks=("The reranker failed.",)), SERVER
    )
    assert lines(message) == [
        INSUFFICIENT,
        "Nearest: Contract › Prices, page 3: Nordwind gets 18 percent.",
        "The reranker failed. None of the closest passages mentions: cup.",
    ]
    assert links(message) == {f"{SERVER}/d/{DOCUMENT}#0-25"}


def test_a_greeting_is_as_it_is() -> None:
    assert lines(render_answer(answer(Courtesy(text="Hello!"), 0.0), SERVER)) == ["Hello!"]


def test_filters_and_names_that_may_mean_several_are_small_print() -> None:
    entity = Entity(
        id=EntityId(UUID(int=1)), ref="kg:company:nordwind", name="Nordwind", kind="company",
        description="", chunk_count=1, sources=(), paths=(),
    )  # fmt: skip
    apart = {"domain": "nordwind.example", "url": "https://crm.example/1", "passages": "1"}
    named = Candidates(
        name="Nordwind",
        candidates=tuple(Candidate(entity=entity, distinguishing=apart) for _ in "ab"),
    )
    made = replace(
        answered(),
        filters=(UnderstoodFilter(field="author", value="Ada", words="by Ada"),),
        ambiguous_names=(named,),
    )
    assert lines(render_answer(made))[-3:] == [
        "confidence: high",
        "Only: by Ada",
        "'Nordwind' may mean 2 different entities.",
    ]
    first, second, _ = render_candidates(named)
    assert block_text(first) == "'Nordwind' may mean 2 different entities."
    assert block_text(second) == "• Nordwind · nordwind.example · 1 passage"
    assert candidate_label(named.candidates[0]) == "Nordwind · nordwind.example · 1 passage"


def test_statements_have_their_days_but_where_they_name_them() -> None:
    outcome = Answered(
        sentences=(
            CitedSentence(text="We promise a report.", citations=(citation(),)),
            CitedSentence(text="Due: 2026-03-02", citations=(citation("[2]"),)),
        )
    )
    shown = lines(render_statements(answer(outcome), SERVER))
    assert shown[:2] == ["• 2026-03-02  We promise a report. [1]", "• Due: 2026-03-02 [2]"]


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://[evil",
        "https://bank.example@evil.example/",
        "https://evil.example/ x",
        "https://evil.example/\u202e",
        "tg://resolve?domain=evil",
        f"https://evil.example/{'x' * 3000}",
    ],
)
def test_a_link_leads_to_the_web_alone_and_to_what_it_shows(url: str) -> None:
    cited = citation(source_url=url, source_address=url)
    assert links(render_answer(answered(cited))) == set()


def test_without_an_address_of_the_server_a_link_leads_to_the_source() -> None:
    cited = citation(source_address="https://linear.app/halden/issue/ENG-42")
    assert links(render_answer(answered(cited))) == {"https://linear.app/halden/issue/ENG-42"}


def test_code_of_a_document_is_code_and_markup_is_no_junk() -> None:
    cited = citation(
        snippet="- **Mail** to `ada@halden.example`, see [here](http://evil.example).",
        highlight=(0, 0),
    )
    message = render_answer(answered(cited, text="Mail to `x` first"), SERVER)
    assert message.blocks[0].spans[1] == Span("x", Style.CODE)
    (quote,) = [block for block in message.blocks if block.kind is Kind.QUOTE]
    assert block_text(quote) == "Mail to ada@halden.example, see here."


# ── as Slack takes it ─────────────────────────────────────────────────────────────────────────────────


JSON = dict[str, Any]


def as_json(slack: SlackText) -> list[JSON]:
    """Return the blocks as they are sent."""
    return json.loads(json.dumps([block.to_dict() for block in slack.blocks]))


def parts(made: Any) -> list[JSON]:
    """Return each object in these blocks."""
    if isinstance(made, list):
        return [part for inner in cast("list[Any]", made) for part in parts(inner)]
    if isinstance(made, dict):
        inner = cast("JSON", made)
        return [inner, *(part for value in inner.values() for part in parts(value))]
    return []


@given(messages)
def test_nothing_is_parsed_by_slack_and_all_is_within_its_limits(message: Message) -> None:
    data = tuple(tuple("v1.data" for _ in row) for row in message.buttons)
    slack = to_slack(Labelled(message=message, data=data))
    made = as_json(slack)
    assert len(made) <= 50
    assert {str(part["type"]) for part in parts(made) if "type" in part} <= {
        "rich_text", "rich_text_section", "rich_text_preformatted", "text", "link", "context",
        "plain_text", "actions", "button",
    }  # fmt: skip
    for part in parts(made):
        if part.get("type") == "plain_text":
            assert part["emoji"] is False
            assert 0 < len(str(part["text"])) <= 3000
        if part.get("type") in ("text", "link"):
            assert part["text"]


def test_what_stands_below_each_other_in_slack_is_one_block_with_its_empty_lines() -> None:
    message = Message(blocks=(text("One."), text("Two."), note("small"), text("Three.")))
    made = as_json(to_slack(Labelled(message=message)))
    assert [block["type"] for block in made] == ["rich_text", "context", "rich_text"]
    words = [part["text"] for part in parts(made[0]) if isinstance(part.get("text"), str)]
    assert words == ["One.", "\n\n", "Two."]


def test_words_stay_words_in_slack_and_the_fallback_is_escaped() -> None:
    message = Message(blocks=(text(HOSTILE), note(HOSTILE)))
    slack = to_slack(Labelled(message=message))
    said = [part["text"] for part in parts(as_json(slack)) if isinstance(part.get("text"), str)]
    assert said == [HOSTILE, HOSTILE]
    assert "<" not in slack.text
    assert "&lt;!channel&gt; &lt;@U1&gt; *b*" in slack.text


def test_a_long_quotation_is_small_print_from_its_key_sentence_on() -> None:
    snippet = f"{'Before. ' * 40}The key. {'Behind. ' * 40}"
    cited = citation(snippet=snippet, highlight=(320, 328))
    message = render_answer(answered(cited), SERVER)
    made = as_json(to_slack(Labelled(message=message)))
    small = [block["elements"][0]["text"] for block in made if block["type"] == "context"]
    assert small[0].startswith("… The key. Behind.")
    assert small[0].endswith(" …")
    assert len(small[0]) < 320


def test_a_button_has_its_label_as_text_and_its_data_as_value() -> None:
    rows = (
        (Button(label="A\u202e" + "b" * 100, action=ShowList(command="links", words="")),),
        (Button(label="Open", url="https://kb.example/d/1"),),
    )
    slack = to_slack(Labelled(message=Message(blocks=(), buttons=rows), data=(("v1.x",), ("",))))
    first, second = (block["elements"][0] for block in as_json(slack))
    assert first["text"] == {"type": "plain_text", "text": "A" + "b" * 74, "emoji": False}
    assert first["value"] == "v1.x"
    assert second["url"] == "https://kb.example/d/1"
    assert "value" not in second
