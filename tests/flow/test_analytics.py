"""Rows S2.12, S3.4, S3.6, S3.7 and S3.14: what questions leave, who reads it back, and what people think of answers."""

import json
import re
from typing import LiteralString

import pytest

from lightwell.domain.access import Reader
from lightwell.domain.analytics import Feedback, FeedbackRequest
from lightwell.domain.briefs import Brief
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.graph_views import Candidates
from lightwell.domain.ids import QueryId, SessionId, new_id
from lightwell.domain.questions import Channel, Mode, Question, Strategy
from lightwell.records.database import Database
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.text.tokens import token_count

from .conftest import Project
from .notes import noted

TAGS = ["team:sales"]
QUESTION = "What discount does the Nordwind contract give?"
CONTRACT = "The Nordwind contract gives a discount of 18 percent. Nordwind pays in March."


@pytest.fixture
async def sales(project: Project) -> Project:
    await project.kb.ingestion.ingest(
        InMemorySource(documents=(make_document("contract.md", CONTRACT, TAGS),))
    )
    return project


async def rated(project: Project, reader: Reader, comment: str = "") -> Feedback:
    answer = await project.kb.questions.ask(QUESTION, reader)
    request = FeedbackRequest(query_id=answer.query_id, rating=4, comment=comment)
    return await project.kb.analytics.give_feedback(reader, request)


async def test_s2_12_briefs_and_searches_leave_a_query_like_answers(database: Database) -> None:
    store = await noted(database)
    await store.put("a", TAGS, "Acme Corp (organization): sells pumps", "Acme Corp sells pumps.")
    await store.put("b", TAGS, "Acme Works (organization): sells dams", "Acme Works sells dams.")
    reader = await store.kb.reader(TAGS)
    found = await store.kb.questions.search("What does Acme Corp sell?", reader)
    brief = await store.kb.questions.brief("Acme Corp", reader)
    picks = await store.kb.questions.brief("Acme", reader)
    assert isinstance(brief, Brief)
    assert isinstance(picks, Candidates)
    logged = await store.kb.analytics.queries(reader)
    assert [each.id for each in logged] == [picks.query_id, brief.query_id, found.query_id]
    assert [each.citation_count for each in logged] == [0, len(brief.citations), 0]
    strategies = [Strategy.VECTOR_ONLY, Strategy.VECTOR_ONLY, Strategy.HYBRID]
    assert [each.strategy for each in logged] == strategies


async def test_s3_4_the_rrf_score_is_one_and_the_context_is_what_is_quoted(sales: Project) -> None:
    reader = await sales.kb.reader(TAGS)
    answer = await sales.kb.questions.ask(QUESTION, reader)
    logged = await sales.kb.analytics.query(reader, answer.query_id)
    found = await sales.kb.questions.search(QUESTION, reader)
    assert logged.rrf_top_score == pytest.approx(
        max(sum(1 / (61 + rank) for rank in each.ranks.values()) for each in found.evidence)
    )
    assert 0 < logged.rrf_top_score <= 5 / 61
    assert answer.citations
    assert logged.final_context_tokens == sum(
        token_count(each.snippet) for each in answer.citations
    )
    refused = await sales.kb.questions.ask("Who discovered radium?", reader)
    assert (await sales.kb.analytics.query(reader, refused.query_id)).final_context_tokens == 0


async def test_s3_4_a_query_is_read_back_with_all_its_metrics(sales: Project) -> None:
    reader = await sales.kb.reader(TAGS)
    answer = await sales.kb.questions.ask(QUESTION, reader)
    logged = await sales.kb.analytics.query(reader, answer.query_id)
    metrics = answer.metrics
    assert logged.execution_time_ms >= metrics.total_ms
    for own, given in (
        (logged.vector_search_ms, metrics.vector_ms),
        (logged.vector_result_count, metrics.vector_hits),
        (logged.vector_top_score, metrics.vector_top),
        (logged.vector_avg_score, metrics.vector_mean),
        (logged.graph_traversal_ms, metrics.graph_ms),
        (logged.graph_result_count, metrics.graph_hits),
        (logged.graph_max_depth, metrics.graph_depth),
        (logged.concepts_found, metrics.concepts),
        (logged.fusion_ms, metrics.fusion_ms),
        (logged.overlap_count, metrics.overlap),
        (logged.rrf_top_score, metrics.rrf_top),
        (logged.rerank_ms, metrics.rerank_ms),
        (logged.rerank_top_score, metrics.rerank_top),
        (logged.citation_count, len(answer.citations)),
    ):
        assert own == pytest.approx(given, abs=1e-6)
    assert {channel: each.hits for channel, each in logged.channels.items()} == {
        channel: each.hits for channel, each in metrics.channels.items()
    }
    assert logged.confidence_threshold_met == (metrics.rerank_top >= 0.6)
    assert (await sales.kb.analytics.session(reader, logged.session_id)).queries == 1


async def test_s3_4_metrics_are_summed_up(sales: Project) -> None:
    reader = await sales.kb.reader(TAGS)
    nothing = await sales.kb.analytics.summary(reader)
    assert (nothing.queries, nothing.mean_ms, nothing.mean_rating) == (0, None, None)
    await rated(sales, reader)
    await sales.kb.questions.search(QUESTION, reader, mode=Mode.NAIVE)
    total = await sales.kb.analytics.summary(reader)
    assert total.by_strategy == {Strategy.HYBRID: 1, Strategy.VECTOR_ONLY: 1}
    assert (total.queries, total.ratings, total.mean_rating) == (2, 1, 4.0)
    logged = await sales.kb.analytics.queries(reader)
    assert total.mean_ms == sum(each.execution_time_ms for each in logged) / 2
    assert total.threshold_met == sum(each.confidence_threshold_met for each in logged) / 2


async def test_s3_4_feedback_is_written_and_read(sales: Project) -> None:
    reader = await sales.kb.reader(TAGS)
    given = await rated(sales, reader, " Just right.\n")
    assert (given.rating, given.comment) == (4, "Just right.")
    more = FeedbackRequest(query_id=given.query_id, rating=2)
    second = await sales.kb.analytics.give_feedback(reader, more)
    assert await sales.kb.analytics.feedback(reader) == (second, given)
    assert await sales.kb.analytics.feedback(reader, before=second.id) == (given,)
    assert (await sales.kb.analytics.query(reader, given.query_id)).rating == 3.0


@pytest.mark.parametrize(
    ("rating", "is_binary", "counts"), [(0, False, 0), (0, True, 0), (1, True, 5), (1, False, 1)]
)
async def test_s3_4_a_rating_may_be_binary(
    sales: Project, rating: int, counts: int, *, is_binary: bool
) -> None:
    reader = await sales.kb.reader([*TAGS, f"user:binary{rating}{is_binary}"])
    query = (await sales.kb.questions.search("What of Nordwind?", reader)).query_id
    request = FeedbackRequest(query_id=query, rating=rating, is_binary=is_binary)
    assert (await sales.kb.analytics.give_feedback(reader, request)).rating == counts
    more = FeedbackRequest(query_id=query, rating=4, is_binary=True)
    with pytest.raises(Invalid, match="0 or 1"):
        await sales.kb.analytics.give_feedback(reader, more)


@pytest.mark.parametrize("rating", [-1, 6])
async def test_s3_6_a_rating_is_1_to_5(sales: Project, rating: int) -> None:
    request = FeedbackRequest(query_id=QueryId(new_id()), rating=rating)
    with pytest.raises(Invalid, match="Rating must be between 1 and 5"):
        await sales.kb.analytics.give_feedback(await sales.kb.reader(TAGS), request)


async def test_s3_6_a_comment_has_an_end(sales: Project) -> None:
    request = FeedbackRequest(query_id=QueryId(new_id()), rating=1, comment="x" * 2001)
    with pytest.raises(Invalid, match="Comment exceeds maximum length"):
        await sales.kb.analytics.give_feedback(await sales.kb.reader(TAGS), request)


async def test_s3_6_queries_of_a_session_belong_together(sales: Project) -> None:
    reader = await sales.kb.reader(TAGS)
    session = await sales.kb.analytics.begin_session(reader)
    assert session.ended_at is None
    asked = Question(text=QUESTION, session_id=session.id)
    await sales.kb.questions.ask(asked, reader)
    events = [event async for event in sales.kb.questions.stream(asked, reader)]
    assert events[-1].answer
    ended = await sales.kb.analytics.end_session(reader, session.id)
    assert ended.ended_at
    assert ended.queries == 2
    assert len(await sales.kb.analytics.queries(reader, session=session.id)) == 2
    assert (await sales.kb.analytics.summary(reader, session=session.id)).queries == 2
    for whose in (session.id, SessionId(new_id())):
        with pytest.raises(NotFound, match=f"You have no open session {whose}"):
            await sales.kb.questions.ask(Question(text=QUESTION, session_id=whose), reader)


async def test_s3_6_without_the_graph_only_passages_are_looked_at(sales: Project) -> None:
    reader = await sales.kb.reader(TAGS)
    answer = await sales.kb.questions.ask(Question(text=QUESTION, include_graph=False), reader)
    assert set(answer.metrics.channels) <= {Channel.DENSE, Channel.LEXICAL}
    logged = await sales.kb.analytics.query(reader, answer.query_id)
    assert (logged.strategy, logged.graph_result_count) == (Strategy.VECTOR_ONLY, 0)
    with pytest.raises(Invalid, match="searches only the graph"):
        Question(text=QUESTION, include_graph=False, mode=Mode.LOCAL)
    for text, limit, message in (
        (" ", 5, "Query cannot be empty"),
        ("x" * 2001, 5, "Query exceeds maximum length"),
        ("x", 21, "topK must be between 1 and 20"),
    ):
        with pytest.raises(Invalid, match=f"^{message}$"):
            await sales.kb.questions.ask(text, reader, limit=limit)


async def test_s3_4_analytics_are_each_users_own(sales: Project) -> None:
    """By the user that the caller or a tag names, whatever else the tags are; else by exactly the tags."""
    kb = sales.kb
    ada = await kb.reader([*TAGS, "user:ada"])
    given = await rated(sales, ada, "Fine.")
    session = await kb.analytics.begin_session(ada)
    strangers = [
        await kb.reader([*TAGS, "user:bob"]),
        await kb.reader([*TAGS, "user:ada"], user="bob"),
        await kb.reader([*TAGS, "user:ada", "user:bob"]),
        await kb.reader(TAGS),
    ]
    for other in strangers:
        assert await kb.analytics.queries(other) == ()
        assert await kb.analytics.sessions(other) == ()
        assert await kb.analytics.feedback(other) == ()
        assert (await kb.analytics.summary(other)).queries == 0
        with pytest.raises(NotFound, match="You have no "):
            await kb.analytics.query(other, given.query_id)
        with pytest.raises(NotFound, match="You have no "):
            await kb.analytics.end_session(other, session.id)
        with pytest.raises(NotFound, match="You have no "):
            await kb.questions.ask(Question(text=QUESTION, session_id=session.id), other)
        request = FeedbackRequest(query_id=given.query_id, rating=1)
        with pytest.raises(NotFound, match=f"You have no query {given.query_id}"):
            await kb.analytics.give_feedback(other, request)
    for same in (await kb.reader(["user:ada", "team:x"]), await kb.reader(TAGS, user="ada")):
        assert await kb.analytics.feedback(same) == (given,)


_EVERYTHING: tuple[LiteralString, ...] = (
    "SELECT to_jsonb(row)::text FROM analytics_sessions AS row",
    "SELECT to_jsonb(row)::text FROM rag_queries AS row",
    "SELECT to_jsonb(row)::text FROM retrieval_metrics AS row",
    "SELECT to_jsonb(row)::text FROM feedback_events AS row",
)


async def test_s3_14_no_plain_text_of_a_question_or_a_user_stands_in_analytics(
    sales: Project,
) -> None:
    reader = await sales.kb.reader([*TAGS, "user:ada.lindqvist"], user="ada.lindqvist")
    await rated(sales, reader)
    await sales.kb.questions.search(QUESTION, reader)
    await sales.kb.questions.statements(QUESTION, reader)
    await sales.kb.questions.brief("Nordwind", reader)
    turn = await sales.kb.questions.chat(QUESTION, reader)
    await sales.kb.questions.chat(
        "And when does Nordwind pay?", reader, conversation=turn.conversation_id
    )
    assert [event async for event in sales.kb.questions.stream(QUESTION, reader)]
    rows = [row[0] for query in _EVERYTHING for row in await sales.database.rows(query, {})]
    assert len(rows) > 20
    for row in rows:
        for word in (
            "nordwind",
            "discount",
            "contract",
            "lindqvist",
            "sales",
            str(turn.conversation_id),
        ):
            assert word not in row.casefold()
    logged = await sales.kb.analytics.queries(reader)
    assert len(logged) == 7
    assert len({each.query_hash for each in logged}) == 3
    assert all(re.fullmatch("[0-9a-f]{64}", each.query_hash) for each in logged)
    hashes = [json.loads(row)["user_hash"] for row in rows if "user_hash" in row]
    assert len(set(hashes)) == 1
    assert re.fullmatch("[0-9a-f]{64}", hashes[0])


async def test_s3_14_the_user_hash_is_of_the_user_where_one_is_known(sales: Project) -> None:
    for tags, user in (
        (["team:sales", "user:ada"], ""),
        (["team:sales"], "ada"),
        (["team:sales"], ""),
        (["team:sales", "user:bob"], ""),
    ):
        await sales.kb.questions.ask(QUESTION, await sales.kb.reader(tags, user=user))
    rows = await sales.database.rows("SELECT user_hash FROM analytics_sessions ORDER BY id", {})
    ada, also_ada, sales_team, bob = (row[0] for row in rows)
    assert ada == also_ada
    assert len({ada, sales_team, bob}) == 3


@pytest.mark.parametrize("verb", ["delete", "erase"])
async def test_s3_4_a_comment_goes_with_the_documents_its_answer_cites(
    sales: Project, verb: str
) -> None:
    reader = await sales.kb.reader(TAGS)
    given = await rated(sales, reader, "Nordwind has 18 percent, yes.")
    await getattr(sales.kb.documents, verb)(reader, ["file:///shelf/contract.md"])
    (left,) = await sales.kb.analytics.feedback(reader)
    assert (left.id, left.rating, left.comment) == (given.id, 4, "")
