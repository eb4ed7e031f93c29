"""S4's response, byte for byte, and what becomes of an answer in it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from lightwell.answer.chat import recent_messages
from lightwell.answer.forms import chat_response, cited_documents
from lightwell.answer.graph_answer import graph_facts
from lightwell.answer.model_calls import TokenCountingModel
from lightwell.answer.prompt import Budget
from lightwell.answer.quotes import make_citation, make_quote
from lightwell.domain.answers import (
    Answer,
    Answered,
    AnswerState,
    CitedSentence,
    Confidence,
    InsufficientEvidence,
)
from lightwell.domain.chat import (
    GRAPH_SOURCE,
    NO_INFORMATION,
    ChatMessage,
    ChatResponse,
    ChatTurn,
    Role,
    SearchResult,
    parse_conversation_id,
    user_message,
)
from lightwell.domain.documents import Chunk, Layout, Locator
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.evidence import Evidence, Metrics, Retrieval
from lightwell.domain.graph import Entity, Predicate, Relation
from lightwell.domain.ids import (
    ChunkId,
    ConversationId,
    DocumentId,
    EntityId,
    GlobalRef,
    QueryId,
    RelationId,
)
from lightwell.domain.question_analysis import analyze_question
from lightwell.domain.questions import Question
from lightwell.entrypoints.operations.conversations import ChatReply
from lightwell.ports import Message
from lightwell.testing.models import ScriptedModel

DOCUMENT = UUID("a1b2c3d4-5678-7abc-8ef0-123456789abc")
ASKED = ChatMessage(role=Role.USER, content="What is machine learning?")
GRAPH = SearchResult(
    id=None,
    chunk_text="Based on the knowledge graph, machine learning encompasses...",
    chunk_index=None,
    source=GRAPH_SOURCE,
    distance=None,
)
PASSAGE = SearchResult(
    id=DOCUMENT,
    chunk_text="Direct excerpt from document...",
    chunk_index=5,
    source="document.pdf",
    distance=0.85,
)


def said(text: str, sources: Sequence[SearchResult], count: int | None = None) -> ChatResponse:
    return ChatResponse(
        response=text,
        messages=(ASKED, ChatMessage(role=Role.ASSISTANT, content=text)),
        sources=tuple(sources),
        model="gpt-4",
        total_duration=1234,
        prompt_eval_count=count,
        eval_count=count,
    )


def check(given: ChatResponse, expected: str) -> None:
    """Compare as text, so that the order of keys and every null count."""
    turn = ChatTurn(
        conversation_id=ConversationId(UUID(int=1)),
        query_id=QueryId(UUID(int=2)),
        response=given,
        state=AnswerState.ANSWERED,
        confidence=Confidence.HIGH,
        relevance=0.9,
    )
    reply = ChatReply.model_validate(turn)
    assert reply.model_dump_json(by_alias=True, indent=2) == expected.strip()


def test_no_matching_documents_leave_an_empty_list_of_sources() -> None:
    check(
        said(NO_INFORMATION, ()),
        """
{
  "response": "I don't have information about that in the available documents.",
  "messages": [
    {
      "role": "user",
      "content": "What is machine learning?"
    },
    {
      "role": "assistant",
      "content": "I don't have information about that in the available documents."
    }
  ],
  "sources": [],
  "model": "gpt-4",
  "totalDuration": 1234,
  "promptEvalCount": null,
  "evalCount": null
}
""",
    )


def test_a_synthesized_source_has_explicit_nulls() -> None:
    check(
        replace(said("It is.", [GRAPH], 75), messages=()),
        """
{
  "response": "It is.",
  "messages": [],
  "sources": [
    {
      "id": null,
      "chunkText": "Based on the knowledge graph, machine learning encompasses...",
      "chunkIndex": null,
      "source": "LightRAG Answer",
      "distance": null
    }
  ],
  "model": "gpt-4",
  "totalDuration": 1234,
  "promptEvalCount": 75,
  "evalCount": 75
}
""",
    )


def test_passages_and_the_graph_stand_side_by_side() -> None:
    check(
        replace(said("It is.", [GRAPH, PASSAGE], 75), messages=()),
        """
{
  "response": "It is.",
  "messages": [],
  "sources": [
    {
      "id": null,
      "chunkText": "Based on the knowledge graph, machine learning encompasses...",
      "chunkIndex": null,
      "source": "LightRAG Answer",
      "distance": null
    },
    {
      "id": "a1b2c3d4-5678-7abc-8ef0-123456789abc",
      "chunkText": "Direct excerpt from document...",
      "chunkIndex": 5,
      "source": "document.pdf",
      "distance": 0.85
    }
  ],
  "model": "gpt-4",
  "totalDuration": 1234,
  "promptEvalCount": 75,
  "evalCount": 75
}
""",
    )


# ── from an answer ────────────────────────────────────────────────────────────────────────────────────

MOMENT = datetime(2026, 5, 1, tzinfo=UTC)
PLACE = Locator(page=None, last_page=None, section=(), start=0, end=100)
METRICS = Metrics(
    vector_ms=1,
    vector_hits=1,
    vector_top=0.5,
    vector_mean=0.5,
    graph_ms=1,
    graph_hits=1,
    graph_depth=1,
    concepts=1,
    fusion_ms=1,
    overlap=0,
    rrf_top=1.0,
    rerank_ms=1,
    rerank_top=1.0,
)


def chunk(number: int, text: str, *, index: int = 0, system: str = "file") -> Chunk:
    return Chunk(
        id=ChunkId(UUID(int=number)),
        document_id=DocumentId(UUID(int=100 + number)),
        document_ref=GlobalRef(f"{system}:document:{number}"),
        index=index,
        text=text,
        tokens=10,
        title=f"Title {number}",
        url=f"file:///papers/a%20paper-{number}.pdf" if system == "file" else f"https://x/{number}",
        system=system,
        kind="document",
        topic="",
        language="en",
        locator=PLACE,
        layout=Layout(sections=(), pages=()),
        created_at=MOMENT,
        updated_at=MOMENT,
    )


def entry(number: int, text: str, **more: object) -> Evidence:
    system, index = str(more.get("system", "file")), int(str(more.get("index", 0)))
    return Evidence(
        chunk=chunk(number, text, index=index, system=system),
        relevance=0.9,
        score=1.0,
        cosine_distance=0.123456,
    )


def retrieval(
    *evidence: Evidence, entities: tuple[Entity, ...] = (), relations: tuple[Relation, ...] = ()
) -> Retrieval:
    return Retrieval(
        question=Question(text="What?"),
        analysis=analyze_question("What?"),
        weights={},
        evidence=evidence,
        best_relevance=0.9,
        metrics=METRICS,
        entities=entities,
        relations=relations,
    )


Quoted = tuple[Evidence, int, int]


def answer(
    *quoted: Quoted, says: Sequence[tuple[str, Sequence[int]]] = (), model: str | None = None
) -> Answer:
    """Return an answer of these sentences, each with the places of its citations among the quoted parts, from 0."""
    citations = [
        make_citation(place, make_quote(each, start, end))
        for place, (each, start, end) in enumerate(quoted, start=1)
    ]
    sentences = tuple(
        CitedSentence(text=text, citations=tuple(citations[place] for place in places))
        for text, places in says
    )
    return Answer(
        query_id=QueryId(UUID(int=1)),
        question="What?",
        outcome=Answered(sentences=sentences) if sentences else InsufficientEvidence(),
        relevance=0.9,
        author=model,
        metrics=METRICS,
    )


def responded(
    given: Answer, found: Retrieval, counted: TokenCountingModel | None = None
) -> ChatResponse:
    graph = graph_facts(given, found, Budget())
    return chat_response(given, found, [ASKED], milliseconds=12, counted=counted, graph=graph)


def test_marks_are_the_places_of_the_sources() -> None:
    """Three quotations of two chunks: the two from one chunk have one source."""
    one, two = entry(1, "Pumps are blue. They hum."), entry(2, "The dam [2] is old.", index=3)
    given = responded(
        answer(
            (one, 0, 15),
            (one, 16, 25),
            (two, 0, 19),
            says=[("Pumps are blue.", [0]), ("They hum.", [1]), ("The dam [2] is old.", [0, 1, 2])],
        ),
        retrieval(two, one),
    )
    assert given.response == "Pumps are blue. [1]\nThey hum. [1]\nThe dam [2] is old. [1][2]"
    assert [(each.source, each.chunk_index) for each in given.sources] == [
        ("a paper-1.pdf", 0),
        ("a paper-2.pdf", 3),
    ]
    assert given.sources[0].id == one.chunk.document_id
    assert given.sources[0].chunk_text == "Pumps are blue. They hum."
    assert given.sources[0].distance == 0.1235
    assert given.messages[-1].content == given.response
    assert cited_documents(given) == (one.chunk.document_id, two.chunk.document_id)


def test_a_joined_passage_is_the_chunk_that_is_quoted() -> None:
    first = replace(chunk(1, "Pumps are blue. "), locator=replace(PLACE, start=0, end=16))
    second = replace(chunk(2, "They hum."), index=1, locator=replace(PLACE, start=16, end=25))
    whole = replace(first, text="Pumps are blue. They hum.", locator=replace(PLACE, end=25))
    passage = replace(entry(1, ""), chunk=whole, members=(first, second))
    given = responded(answer((passage, 16, 25), says=[("They hum.", [0])]), retrieval(passage))
    assert [(each.chunk_text, each.chunk_index) for each in given.sources] == [("They hum.", 1)]


def test_what_another_system_holds_is_known_by_its_title() -> None:
    issue = entry(1, "Pumps are blue.", system="linear")
    given = responded(answer((issue, 0, 15), says=[("Pumps are blue.", [0])]), retrieval(issue))
    assert given.sources[0].source == "Title 1"


def test_insufficient_evidence_is_said_in_the_words_of_chat() -> None:
    given = responded(answer(), retrieval(entry(1, "Pumps are blue.")))
    assert given.response == NO_INFORMATION
    assert given.sources == ()
    assert given.messages == (ASKED, ChatMessage(role=Role.ASSISTANT, content=NO_INFORMATION))


OSPREY = Entity(
    id=EntityId(UUID(int=7)),
    ref="kg:project:osprey",
    name="Osprey",
    kind="project",
    description="Finds leaks.",
    chunk_count=1,
    sources=(),
    paths=(),
)
USES = Relation(
    id=RelationId(UUID(int=9)),
    ends=(EntityId(UUID(int=7)), EntityId(UUID(int=8))),
    source="Osprey",
    target="Tarn 4",
    predicate=Predicate.USES,
    keywords="",
    description="Osprey listens with it.",
    weight=1.0,
    chunk_count=1,
    sources=(),
    paths=(),
)


def from_graph(given: ChatResponse) -> list[str]:
    return [each.chunk_text for each in given.sources if each.source == GRAPH_SOURCE]


def test_what_a_model_was_told_of_what_it_names_is_the_last_source() -> None:
    leaks = entry(1, "Osprey finds leaks with Tarn 4.")
    silent = replace(OSPREY, description="")
    unnamed = replace(OSPREY, name="Merlin")
    found = retrieval(leaks, entities=(silent, unnamed, OSPREY), relations=(USES,))
    given = responded(
        answer((leaks, 0, 31), says=[("Osprey finds leaks with Tarn 4.", [0])], model="gpt-4"),
        found,
    )
    assert given.response == "Osprey finds leaks with Tarn 4. [1]"
    assert given.sources[-1] == SearchResult(
        id=None,
        chunk_text="Based on the knowledge graph:\nOsprey (project): Finds leaks.\n"
        "Osprey → Tarn 4 (uses): Osprey listens with it.",
        chunk_index=None,
        source="LightRAG Answer",
        distance=None,
    )
    assert cited_documents(given) == (leaks.chunk.document_id,)
    half = responded(
        answer((leaks, 0, 31), says=[("Osprey finds leaks.", [0])], model="gpt-4"), found
    )
    assert from_graph(half) == ["Based on the knowledge graph:\nOsprey (project): Finds leaks."]


def test_what_did_not_fit_before_the_model_is_no_source() -> None:
    leaks = entry(1, "Osprey finds leaks.")
    long = replace(OSPREY, description="Finds leaks. " * 800)
    found = retrieval(leaks, entities=(long,))
    given = answer((leaks, 0, 19), says=[("Osprey finds leaks.", [0])], model="gpt-4")
    assert from_graph(responded(given, found)) == []
    assert from_graph(responded(given, retrieval(leaks, entities=(OSPREY,))))


def test_the_graph_is_no_source_of_extracts_nor_of_nothing() -> None:
    leaks = entry(1, "Osprey finds leaks.")
    found = retrieval(leaks, entities=(OSPREY,))
    assert (
        len(responded(answer((leaks, 0, 19), says=[("Osprey finds leaks.", [0])]), found).sources)
        == 1
    )
    assert responded(answer(model="gpt-4"), found).sources == ()


async def test_tokens_are_those_of_this_request() -> None:
    model = TokenCountingModel(ScriptedModel(["three little words", "two words"]))
    nothing = responded(answer(), retrieval(), model)
    assert (nothing.prompt_eval_count, nothing.eval_count) == (None, None)
    asked = [Message(role="user", content="Say something.")]
    await model.reply(asked, max_tokens=9)
    assert [each async for each in model.stream(asked, max_tokens=9)]
    given = responded(answer(), retrieval(), model)
    assert (given.prompt_eval_count, given.eval_count) == (6, 5)
    assert given.total_duration == 12


# ── what is said, what is carried along ───────────────────────────────────────────────────────────────


def test_a_message_says_something_and_not_too_much() -> None:
    assert user_message("  What?  ").content == "What?"
    for wrong in ("", " \n", "x" * 2001):
        with pytest.raises(Invalid, match="Message"):
            user_message(wrong)


def test_a_conversation_called_otherwise_is_not_found() -> None:
    with pytest.raises(NotFound):
        parse_conversation_id("the one about pumps")


def test_the_history_begins_with_a_question_and_keeps_to_its_budget() -> None:
    long = ChatMessage(role=Role.USER, content="pump " * 1500)
    reply = ChatMessage(role=Role.ASSISTANT, content="dam " * 600)
    assert recent_messages([ASKED, reply]) == (ASKED, reply)
    assert recent_messages([long, reply, ASKED, reply]) == (ASKED, reply)
    assert recent_messages([long, long]) == (long,)
    assert recent_messages([reply]) == ()
