"""Answers as events: nothing is sent before it is checked, and together it is the answer."""

from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.answer.pipeline import QUOTED_INSTEAD, AnswerGenerator
from lightwell.answer.reply import SentenceBuffer, split_citation_marks
from lightwell.domain.answers import (
    INSUFFICIENT,
    NOT_FROM_DOCUMENTS,
    Answer,
    Confidence,
    StreamChunk,
    StreamType,
)
from lightwell.domain.errors import Invalid, ModelFailed
from lightwell.domain.evidence import Retrieval
from lightwell.domain.questions import Mode
from lightwell.ports import Message, Reply, Usage
from lightwell.testing.models import ScriptedModel
from lightwell.text.tokens import token_count
from tests.generation import examples
from tests.passages import chunk, found, passage

CONTRACT = "Nordwind receives a discount of 18 percent on all items. The term is three years.\n\nOrders end on 1 May 2027."
OUTAGE = "The gateway was down for 31 hours. Eleven manholes were opened by Dr. Albers."
ASKED = "What discount does Nordwind receive?"
REPLIES = (
    "Nordwind receives a discount of 18 percent [1]. Orders end on 1 May 2027 [1].",
    "Nordwind receives 18 percent. [1] The gateway was down for 31 hours. [2]\n\nThe moon is made of cheese. [1]",
    "- The term is three years [1]\n- Dr. Albers opened eleven manholes [2]\n- Nobody knows [7]",
    "# Answer\n\nNordwind receives 18 percent [1][2]. See [the contract](x) for more. The term is\nthree years [1] .",
    "The gateway was down for 31 hours [2]. INSUFFICIENT. The term is three years [1].",
    "INSUFFICIENT",
    "I do not know.",
    "1. The term is three years. [1]\n2. The gateway was down for 31 hours! [2]\nThe term is three years [1",
    "The term is three years [1]\n\n\n[2] The gateway was down for 31 hours [2]. ",
    '{"answerable": true, "sentences": [{"text": "The term is three years. It is fair.", "citations": [1]}, {"text": "The \\"gateway\\" was down for 31 hours.", "citations": ["2"]}]}',
    '{"answerable": true, "sentences": [{"quotes": ["The term is three years."], "text": "The term is 3 years."}, {"quotes": ["down for 31 \\"hours"], "text": "Down for 31 hours."}, {"quotes": ["x',
    'Sure!\n```json\n{"answerable": true, "sentences": []}\n```',
    '```json\n{\n  "sentences": ["Nordwind receives 18 percent [1]", {"text": "It is", "citations": "x"}],\n  "answerable": true}\n```\nDone.',
    '<think>It says {18}. [1]</think>\n{"answerable": false, "sentences": [{"text": "The term is three years.", "citations": [1]}]}',
    '{"answerable": true, "sentences": [{"text": "The term is three years.", "citations": [1]}, {"text": "Orders end on',
    "<think>The term is three years [1].",
    '{"answerable": true, "sentences": nonsense [1]}',
)


class Piecewise:
    """A model that says its reply in the given pieces, and after them fails where it is told to."""

    model = "piecewise"

    def __init__(self, pieces: Sequence[str], failure: ModelFailed | None = None) -> None:
        self.pieces = pieces
        self.failure = failure
        self.closed = False

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> Reply:
        usage = Usage(model=self.model, input_tokens=1, output_tokens=1)
        return Reply(text="".join(self.pieces), complete=True, usage=usage)

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> AsyncIterator[str]:
        try:
            for piece in self.pieces:
                yield piece
            if self.failure:
                raise self.failure
        finally:
            self.closed = True


def retrieval(*, relevance: float = 0.9, mode: Mode = Mode.MIX) -> Retrieval:
    passages = [
        passage(chunk(CONTRACT), relevance=relevance),
        passage(chunk(OUTAGE, 2), relevance=relevance),
    ]
    return found(ASKED, *passages, mode=mode)


async def events(answers: AnswerGenerator, asked: Retrieval) -> list[StreamChunk]:
    return [event async for event in answers.stream(asked)]


def tokens(told: Sequence[StreamChunk]) -> str:
    return "".join(event.content for event in told if event.type is StreamType.TOKEN)


def final(told: Sequence[StreamChunk]) -> Answer:
    assert told[-1].answer is not None
    return told[-1].answer


def comparable(answer: Answer) -> tuple[object, ...]:
    return (answer.text, answer.citations, answer.confidence, answer.nearest, answer.notes, answer.context_tokens)  # fmt: skip


async def test_each_sentence_is_followed_by_the_citations_it_brings() -> None:
    reply = "Nordwind receives a discount of 18 percent [1]. It is fair [1]. The discount is 18 percent [1]. The gateway was down for 31 hours [2]."
    told = await events(AnswerGenerator(model=ScriptedModel([reply])), retrieval())
    assert [
        event.content or (event.citation.id if event.citation else event.type) for event in told
    ] == [
        "Nordwind receives a discount of 18 percent. [1]",
        "[1]",
        "\nThe discount is 18 percent. [1]",
        "\nThe gateway was down for 31 hours. [2]",
        "[2]",
        "metadata",
        "done",
    ]


@pytest.mark.parametrize("reply", REPLIES)
@examples(20)
@given(data=st.data())
async def test_the_tokens_are_the_answers_text_however_the_reply_comes(
    reply: str, data: st.DataObject
) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(reply)), max_size=len(reply)))
    places = [0, *sorted(cuts), len(reply)]
    model = Piecewise([reply[a:b] for a, b in pairwise(places)])
    whole = await AnswerGenerator(model=model).answer(retrieval())
    told = await events(AnswerGenerator(model=model), retrieval())
    assert tokens(told) == whole.text
    assert comparable(final(told)) == comparable(whole)


@pytest.mark.parametrize(
    ("reply", "sentences"),
    [
        ("A is B [1]. C is D [2].", [("A is B.", (1,)), ("C is D.", (2,))]),
        ("A is B. [1][2] C is D.", [("A is B.", (1, 2)), ("C is D.", ())]),
        ("A is B. [1, 2]\n[3] C is D.", [("A is B.", (1, 2, 3)), ("C is D.", ())]),
        ("The pump runs. The valve holds [2].", [("The pump runs.", (2,)), ("The valve holds.", (2,))]),
        ("The pump runs.\nThe valve holds [2].", [("The pump runs.", ()), ("The valve holds.", (2,))]),
        ("- A is B [1]\n- C is D [2]", [("A is B", (1,)), ("C is D", (2,))]),
        ("A is B [1]\n\nC is D [2]", [("A is B", (1,)), ("C is D", (2,))]),
        ("Dr. Albers met Mr. Weber [1]. He left.", [("Dr. Albers met Mr. Weber.", (1,)), ("He left.", ())]),
    ],
)  # fmt: skip
def test_a_reply_is_cut_where_its_sentences_end(
    reply: str, sentences: list[tuple[str, tuple[int, ...]]]
) -> None:
    pieces = SentenceBuffer()
    parts = [part for sign in reply for part in pieces.feed(sign)] + [pieces.flush()]
    assert "".join(parts) == reply
    assert [each for part in parts for each in split_citation_marks(part)] == sentences


async def test_a_sentence_is_sent_as_soon_as_the_next_one_begins() -> None:
    coming = ["Nordwind receives 18 percent [1]. ", "The", " term is three years [1]."]
    stream = AnswerGenerator(model=Piecewise(coming, ModelFailed("later"))).stream(retrieval())
    first = await anext(stream)
    assert first.content == "Nordwind receives 18 percent. [1]"


async def test_metadata_is_what_the_specification_asks_for() -> None:
    answers = AnswerGenerator(model=ScriptedModel(["Nordwind receives 18 percent [1]."]))
    told = await events(answers, retrieval())
    metadata, answer = told[-2].metadata, final(told)
    assert metadata is not None
    assert metadata.query_id == answer.query_id
    assert metadata.total_tokens == answer.context_tokens + token_count(answer.text)
    assert (metadata.citation_count, metadata.confidence) == (1, Confidence.HIGH)
    assert (metadata.vector_result_count, metadata.graph_result_count) == (2, 4)
    assert metadata.latency_ms >= 20


async def test_where_nothing_stands_the_stream_quotes_the_documents() -> None:
    told = await events(
        AnswerGenerator(model=Piecewise(["Nordwind owns", " the moon [1]."])), retrieval()
    )
    assert [event.type for event in told] == ["token", "citation", "metadata", "done"]
    assert tokens(told) == final(told).text
    assert tokens(told).startswith("Nordwind receives a discount of 18 percent")
    assert final(told).notes[-1] == QUOTED_INSTEAD


@pytest.mark.parametrize("reply", ["The moon is not mentioned.", "INSUFFICIENT", ""])
async def test_where_no_sentence_stands_the_stream_says_so(reply: str) -> None:
    told = await events(AnswerGenerator(model=Piecewise([reply])), retrieval())
    assert [event.type for event in told] == ["token", "metadata", "done"]
    assert tokens(told) == INSUFFICIENT
    assert told[1].metadata is not None
    assert told[1].metadata.confidence is Confidence.INSUFFICIENT
    assert [each.document_title for each in final(told).nearest] == ["Document 1"]


async def test_without_a_model_or_enough_evidence_the_stream_is_the_same() -> None:
    told = await events(AnswerGenerator(model=None), retrieval())
    assert (
        tokens(told) == (await AnswerGenerator(model=None).answer(retrieval())).text != INSUFFICIENT
    )
    too_little = await events(AnswerGenerator(model=ScriptedModel(["x"])), retrieval(relevance=0.3))
    assert tokens(too_little) == INSUFFICIENT


async def test_a_model_that_fails_in_the_middle_is_a_note_and_never_answer_text() -> None:
    failure = ModelFailed("the endpoint broke off")
    model = Piecewise(["Nordwind receives 18 percent [1]. The term", " is three"], failure)
    told = await events(AnswerGenerator(model=model), retrieval())
    assert [event.type for event in told] == ["token", "citation", "metadata", "done"]
    assert final(told).notes[-1] == "The answer breaks off here: the endpoint broke off"
    assert "broke" not in tokens(told)
    assert "three" not in tokens(told)


async def test_a_reader_who_goes_away_ends_the_call() -> None:
    model = Piecewise(["Nordwind receives 18 percent [1]. ", "The term is three years [1]. ", "x"])
    stream = AnswerGenerator(model=model).stream(retrieval())
    await anext(stream)
    await stream.aclose()
    assert model.closed


async def test_past_the_documents_the_reply_is_streamed_without_what_looks_like_citations() -> None:
    model = Piecewise(["Discounts are usual [", "1]. They", " vary. [2]\n"])
    told = await events(AnswerGenerator(model=model), retrieval(mode=Mode.BYPASS))
    assert tokens(told) == f"{NOT_FROM_DOCUMENTS}\n\nDiscounts are usual. They vary."
    assert final(told).text == tokens(told)
    assert [event.type for event in told] == ["token", "token", "metadata", "done"]


async def test_past_the_documents_there_must_be_a_model_before_anything_is_sent() -> None:
    with pytest.raises(Invalid, match="LIGHTWELL_CHAT_URL"):
        AnswerGenerator(model=None).stream(retrieval(mode=Mode.BYPASS))
