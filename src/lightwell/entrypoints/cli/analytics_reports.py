"""What `feedback` and `analytics` do."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from rich.table import Table
from rich.text import Text

import lightwell.entrypoints.cli.people as people
import lightwell.entrypoints.cli.show as show
from lightwell.domain.access import Reader
from lightwell.domain.analytics import Feedback, FeedbackRequest, LoggedQuery, Session
from lightwell.domain.ids import FeedbackId, QueryId, SessionId
from lightwell.entrypoints.cli.edge import Report, settings_of_store
from lightwell.knowledge_base import KnowledgeBase
from lightwell.wiring import open_knowledge_base

Json = Mapping[str, object]

_NOTHING = Text("You have no data here.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Which page of a list: `limit` entries older than `before`."""

    before: UUID | None
    limit: int


async def give_feedback(query: UUID, rating: int, comment: str, who: Sequence[str]) -> Report:
    """Write feedback down and report it."""
    request = FeedbackRequest(query_id=QueryId(query), rating=rating, comment=comment)
    async with _open(who) as (kb, reader):
        given = await kb.analytics.give_feedback(reader, request)
    return Report(document=_feedback(given), text=Text(f"Rated {given.rating} of 5."))


async def begin_session(who: Sequence[str]) -> Report:
    """Open a session and report its id."""
    async with _open(who) as (kb, reader):
        begun = await kb.analytics.begin_session(reader)
    return Report(document=_session(begun), text=Text(f"Session {begun.id} is open."))


async def end_session(session: UUID, who: Sequence[str]) -> Report:
    """End a session and report it."""
    async with _open(who) as (kb, reader):
        ended = await kb.analytics.end_session(reader, SessionId(session))
    return Report(document=_session(ended), text=Text(f"Session {ended.id} has ended."))


async def sessions(page: Page, who: Sequence[str]) -> Report:
    """Report sessions, the latest first."""
    async with _open(who) as (kb, reader):
        before = SessionId(page.before) if page.before else None
        found = await kb.analytics.sessions(reader, before=before, limit=page.limit)
    table = _table("session", "began", "ended", "queries")
    for each in found:
        ended = f"{each.ended_at:%Y-%m-%d %H:%M:%S}" if each.ended_at else "open"
        began = f"{each.started_at:%Y-%m-%d %H:%M:%S}"
        table.add_row(str(each.id), began, ended, str(each.queries))
    document = {"sessions": [_session(each) for each in found]}
    return Report(document=document, text=table if found else _NOTHING)


async def queries(page: Page, session: UUID | None, who: Sequence[str]) -> Report:
    """Report questions with their metrics, the latest first."""
    async with _open(who) as (kb, reader):
        found = await kb.analytics.queries(
            reader,
            session=SessionId(session) if session else None,
            before=QueryId(page.before) if page.before else None,
            limit=page.limit,
        )
    table = _table("query", "when", "strategy", "ms", "best", "citations", "rating")
    for each in found:
        table.add_row(
            str(each.id),
            f"{each.timestamp:%Y-%m-%d %H:%M:%S}",
            each.strategy.value,
            str(each.execution_time_ms),
            f"{each.rerank_top_score:.2f}",
            str(each.citation_count),
            _number(each.rating),
        )
    document = {"queries": [_query(each) for each in found]}
    return Report(document=document, text=table if found else _NOTHING)


async def summary(session: UUID | None, who: Sequence[str]) -> Report:
    """Report the metrics of all questions, or of one session's, summed up."""
    async with _open(who) as (kb, reader):
        found = await kb.analytics.summary(reader, session=SessionId(session) if session else None)
    strategies = {strategy.value: count for strategy, count in found.by_strategy.items()}
    rows = [
        ("queries", str(found.queries)),
        ("strategies", ", ".join(f"{count} {name}" for name, count in strategies.items())),
        ("mean time", f"{_number(found.mean_ms)} ms" if found.queries else ""),
        ("95th percentile", f"{_number(found.p95_ms)} ms" if found.queries else ""),
        ("enough evidence", "" if found.threshold_met is None else f"{found.threshold_met:.0%}"),
        ("citations", _number(found.mean_citations)),
        ("context tokens", _number(found.mean_context_tokens)),
        (
            "mean rating",
            f"{_number(found.mean_rating)} of {found.ratings}" if found.ratings else "",
        ),
    ]
    document = {
        "queries": found.queries,
        "byStrategy": strategies,
        "meanMs": found.mean_ms,
        "p95Ms": found.p95_ms,
        "thresholdMet": found.threshold_met,
        "meanCitations": found.mean_citations,
        "meanContextTokens": found.mean_context_tokens,
        "ratings": found.ratings,
        "meanRating": found.mean_rating,
    }
    return Report(document=document, text=show.fields(rows))


async def feedback(page: Page, who: Sequence[str]) -> Report:
    """Report feedback, the latest first."""
    async with _open(who) as (kb, reader):
        before = FeedbackId(page.before) if page.before else None
        found = await kb.analytics.feedback(reader, before=before, limit=page.limit)
    table = _table("query", "when", "rating", "comment")
    for each in found:
        when = f"{each.created_at:%Y-%m-%d %H:%M:%S}"
        table.add_row(str(each.query_id), when, str(each.rating), show.clean(each.comment))
    document = {"feedback": [_feedback(each) for each in found]}
    return Report(document=document, text=table if found else _NOTHING)


@asynccontextmanager
async def _open(who: Sequence[str]) -> AsyncGenerator[tuple[KnowledgeBase, Reader], None]:
    tags = people.tags(who)
    async with open_knowledge_base(settings_of_store()) as kb:
        yield kb, await people.reader(kb, tags)


def _session(session: Session) -> Json:
    return {
        "sessionId": str(session.id),
        "startedAt": session.started_at.isoformat(),
        "endedAt": session.ended_at.isoformat() if session.ended_at else None,
        "queries": session.queries,
    }


def _feedback(feedback: Feedback) -> Json:
    return {
        "feedbackId": str(feedback.id),
        "queryId": str(feedback.query_id),
        "rating": feedback.rating,
        "comment": feedback.comment,
        "createdAt": feedback.created_at.isoformat(),
    }


def _query(query: LoggedQuery) -> Json:
    return {
        "queryId": str(query.id),
        "sessionId": str(query.session_id),
        "timestamp": query.timestamp.isoformat(),
        "queryHash": query.query_hash,
        "strategyUsed": query.strategy.value,
        "executionTimeMs": query.execution_time_ms,
        "vectorSearchMs": query.vector_search_ms,
        "vectorResultCount": query.vector_result_count,
        "vectorTopScore": query.vector_top_score,
        "vectorAvgScore": query.vector_avg_score,
        "graphTraversalMs": query.graph_traversal_ms,
        "graphResultCount": query.graph_result_count,
        "graphMaxDepth": query.graph_max_depth,
        "conceptsFound": query.concepts_found,
        "fusionMs": query.fusion_ms,
        "overlapCount": query.overlap_count,
        "rrfTopScore": query.rrf_top_score,
        "rerankMs": query.rerank_ms,
        "rerankTopScore": query.rerank_top_score,
        "confidenceThresholdMet": query.confidence_threshold_met,
        "finalContextTokens": query.final_context_tokens,
        "citationCount": query.citation_count,
        "channels": {
            channel.value: {"ms": each.ms, "hits": each.hits}
            for channel, each in query.channels.items()
        },
        "rating": query.rating,
    }


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
