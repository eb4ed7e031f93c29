"""What is written down of how a question went."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

import pytest

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.answers import Answer
from lightwell.domain.ids import ConversationId, QueryId, SessionId, new_id
from lightwell.domain.questions import Channel, Mode, Strategy
from lightwell.knowledge_base import KnowledgeBase
from lightwell.ports import Vectors
from lightwell.records import query_log
from lightwell.records.database import Database
from lightwell.records.query_log import QueryRecorder, QuestionContext
from lightwell.records.rows import Query
from lightwell.testing.models import HashEmbedder, ScriptedModel
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project, make_retriever
from .notes import noted

TAGS = ["team:sales"]
QUESTION = "What discount does the Nordwind contract give?"


async def asked(project: Project) -> Answer:
    contract = "The Nordwind contract gives a discount of 18 percent."
    await project.kb.ingestion.ingest(
        InMemorySource(documents=(make_document("contract.md", contract, TAGS),))
    )
    return await project.kb.questions.ask(QUESTION, await project.kb.reader(TAGS))


@pytest.mark.parametrize(("relevance", "met"), [(0.59, False), (0.6, True)])
async def test_the_threshold_is_met_by_the_relevance_of_what_was_chosen(
    project: Project, *, relevance: float, met: bool
) -> None:
    """S3: 0.6, of the answer; a passage may be relevant while nothing in it answers."""
    answer = await asked(project)
    other = replace(
        answer,
        query_id=QueryId(new_id()),
        relevance=relevance,
        metrics=replace(answer.metrics, rerank_top=1.19 - relevance),
    )
    reader = await project.kb.reader(TAGS)
    log = query_log.make_query_log(Strategy.HYBRID, other)
    recorder = QueryRecorder(project.database)
    await recorder.record(QuestionContext(reader=reader, started_at=0.0), log)
    rows = await project.database.rows(
        "SELECT confidence_threshold_met FROM retrieval_metrics WHERE query_id = %(query)s",
        {"query": other.query_id},
    )
    assert rows == [(met,)]


SLOW = 0.15
"""Seconds that each part takes: the embedder and the model."""


class SlowEmbedder(HashEmbedder):
    async def embed_query(self, text: str) -> Vectors:
        await asyncio.sleep(SLOW)
        return await super().embed_query(text)


async def test_the_time_of_a_question_is_all_of_it(project: Project) -> None:
    """From the embedding to the model's last word, at once and as it comes."""
    await asked(project)
    model = ScriptedModel(
        lambda sent: "The Nordwind contract gives a discount of 18 percent [1].", latency=SLOW
    )
    context = replace(project.context, embedder=SlowEmbedder(dimension=64))
    kb = KnowledgeBase(context, make_retriever(context), AnswerGenerator(model=model))
    reader = await kb.reader(TAGS)
    await project.database.execute("DELETE FROM analytics_sessions", {})
    answer = await kb.questions.ask(QUESTION, reader)
    assert answer.metrics.total_ms >= SLOW * 1000
    events = [event async for event in kb.questions.stream(QUESTION, reader)]
    (told,) = [event.metadata for event in events if event.metadata]
    assert told.latency_ms >= 2 * SLOW * 1000
    await kb.questions.statements(QUESTION, reader)
    await kb.questions.chat(QUESTION, reader)
    rows = await project.database.rows("SELECT execution_time_ms FROM rag_queries", {})
    assert len(rows) == 4
    assert all(row[0] >= 2 * SLOW * 1000 for row in rows)


async def test_a_conversation_is_one_session_and_a_question_by_itself_another(
    project: Project,
) -> None:
    await asked(project)
    reader = await project.kb.reader(TAGS)
    await project.database.execute("DELETE FROM analytics_sessions", {})
    first = await project.kb.questions.chat(QUESTION, reader)
    for text in ("And who signed it?", "And when?"):
        await project.kb.questions.chat(text, reader, conversation=first.conversation_id)
    await project.kb.questions.chat(QUESTION, reader)
    await project.kb.questions.ask(QUESTION, reader)
    rows = await project.database.rows(
        """
        SELECT count(*), max(ended_at) > min(started_at), max(session::text)
        FROM analytics_sessions AS session JOIN rag_queries ON session_id = session.id
        GROUP BY session.id ORDER BY session.id
        """,
        {},
    )
    assert [row[0] for row in rows] == [3, 1, 1]
    assert rows[0][1]
    assert str(first.conversation_id) not in str(rows)


@pytest.mark.parametrize(("mode", "depth"), [(Mode.NAIVE, 0), (Mode.GLOBAL, 1), (Mode.MIX, 2)])
async def test_the_depth_is_that_of_the_channels_that_found_something(
    database: Database, mode: Mode, depth: int
) -> None:
    store = await noted(database)
    await store.put("a", TAGS, "Acme Corp -> Nordwind [USES]: Acme Corp sells pumps to Nordwind")
    await store.put("b", TAGS, "Acme Corp (organization): sells pumps")
    answer = await store.kb.questions.ask(
        "What pumps does Acme Corp sell?", await store.kb.reader(TAGS), mode=mode
    )
    rows = await database.rows("SELECT graph_max_depth FROM retrieval_metrics", {})
    assert rows == [(depth,)]
    assert answer.metrics.graph_depth == depth


async def test_a_passage_alone_has_no_neighbours_to_walk_to(database: Database) -> None:
    store = await noted(database)
    await store.put("b", TAGS, "Acme Corp (organization): sells pumps")
    found = await store.kb.questions.search(
        "What pumps does Acme Corp sell?", await store.kb.reader(TAGS)
    )
    assert found.metrics.channels[Channel.ENTITIES].hits == 1
    assert found.metrics.graph_depth == 1


async def test_questions_that_end_together_are_logged_together(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two statements for sixteen questions; one of a session that is gone costs only itself its entry."""
    answer = await asked(project)
    reader = await project.kb.reader(TAGS)
    await project.database.execute("DELETE FROM analytics_sessions", {})
    conversation = ConversationId(new_id())
    contexts = [
        QuestionContext(reader=reader, started_at=0.0),
        QuestionContext(reader=reader, started_at=0.0, session=SessionId(new_id())),
        *[QuestionContext(reader=reader, started_at=0.0, conversation=conversation)] * 14,
    ]
    logs = [
        query_log.make_query_log(Strategy.HYBRID, replace(answer, query_id=QueryId(new_id())))
        for _ in contexts
    ]
    statements = 0
    execute = project.database.execute

    async def counted(query: Query, parameters: Mapping[str, object]) -> int:
        nonlocal statements
        statements += 1
        return await execute(query, parameters)

    monkeypatch.setattr(project.database, "execute", counted)
    recorder = QueryRecorder(project.database)
    await asyncio.gather(
        *(recorder.record(context, log) for context, log in zip(contexts, logs, strict=True))
    )
    assert statements <= 2
    rows = await project.database.rows(
        "SELECT count(*) FROM rag_queries GROUP BY session_id ORDER BY 1", {}
    )
    assert rows == [(1,), (14,)]
    (documents,) = await project.database.values(
        "SELECT DISTINCT document_ids FROM rag_queries", {}
    )
    assert documents == [UUID(citation.document_id) for citation in answer.citations]
