"""A user's own sessions, logged questions and feedback.

Analytics have no access class: each row belongs to one user, known by a keyed hash, and contains only what that
user was answered.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from lightwell.domain.access import Reader
from lightwell.domain.analytics import (
    Feedback,
    FeedbackRequest,
    LoggedQuery,
    MetricsSummary,
    ProjectSession,
    Session,
    UsageOfDay,
)
from lightwell.domain.errors import NotFound
from lightwell.domain.evidence import ChannelMetrics
from lightwell.domain.ids import DocumentId, FeedbackId, ProjectId, QueryId, SessionId, new_id
from lightwell.domain.questions import Channel, Strategy
from lightwell.records.database import Connection, Database
from lightwell.records.query_log import user_hash
from lightwell.records.rows import make

_BEGIN = """
INSERT INTO analytics_sessions (id, project_id, user_hash) VALUES (%(session)s, %(project_id)s, keyed_hash(%(project_id)s, %(user)s))
RETURNING id, started_at, ended_at, 0 AS queries
"""

_END = """
UPDATE analytics_sessions SET ended_at = now()
WHERE id = %(session)s AND project_id = %(project_id)s AND user_hash = keyed_hash(%(project_id)s, %(user)s) AND ended_at IS NULL
"""

_OPEN = """
SELECT FROM analytics_sessions
WHERE id = %(session)s AND project_id = %(project_id)s AND user_hash = keyed_hash(%(project_id)s, %(user)s) AND ended_at IS NULL
"""

_SESSIONS = """
SELECT session.id, session.started_at, session.ended_at,
       (SELECT count(*) FROM rag_queries AS query WHERE query.session_id = session.id) AS queries
FROM analytics_sessions AS session
WHERE session.project_id = %(project_id)s AND session.user_hash = keyed_hash(%(project_id)s, %(user)s)
  AND (%(session)s::uuid IS NULL OR session.id = %(session)s)
  AND (%(before)s::uuid IS NULL OR session.id < %(before)s)
ORDER BY session.id DESC LIMIT %(limit)s
"""

_PROJECT_SESSIONS = """
SELECT session.id, session.started_at, session.ended_at,
       (SELECT count(*) FROM rag_queries AS query WHERE query.session_id = session.id) AS queries, session.user_hash
FROM analytics_sessions AS session
WHERE session.project_id = %(project_id)s AND (%(before)s::uuid IS NULL OR session.id < %(before)s)
ORDER BY session.id DESC LIMIT %(limit)s
"""

_QUERIES = """
SELECT query.id, query.session_id, query.timestamp, query.query_hash, query.strategy_used AS strategy, query.execution_time_ms,
       metrics.vector_search_ms, metrics.vector_result_count, metrics.vector_top_score, metrics.vector_avg_score,
       metrics.graph_traversal_ms, metrics.graph_result_count, metrics.graph_max_depth, metrics.concepts_found,
       metrics.fusion_ms, metrics.overlap_count, metrics.rrf_top_score, metrics.rerank_ms, metrics.rerank_top_score,
       metrics.confidence_threshold_met, metrics.final_context_tokens, metrics.citation_count, metrics.channels,
       (SELECT avg(rating)::float8 FROM feedback_events AS event WHERE event.query_id = query.id) AS rating
FROM rag_queries AS query
JOIN analytics_sessions AS session ON session.id = query.session_id
JOIN retrieval_metrics AS metrics ON metrics.query_id = query.id
WHERE session.project_id = %(project_id)s AND session.user_hash = keyed_hash(%(project_id)s, %(user)s)
  AND (%(query)s::uuid IS NULL OR query.id = %(query)s)
  AND (%(session)s::uuid IS NULL OR query.session_id = %(session)s)
  AND (%(before)s::uuid IS NULL OR query.id < %(before)s)
ORDER BY query.id DESC LIMIT %(limit)s
"""

# Of all users, or of the one whose `user` is given.
_SUMMARY = """
WITH counted AS (
    SELECT query.id, query.strategy_used, query.execution_time_ms, metrics.confidence_threshold_met,
           metrics.citation_count, metrics.final_context_tokens
    FROM rag_queries AS query
    JOIN analytics_sessions AS session ON session.id = query.session_id
    JOIN retrieval_metrics AS metrics ON metrics.query_id = query.id
    WHERE session.project_id = %(project_id)s
      AND (%(user)s::text IS NULL OR session.user_hash = keyed_hash(%(project_id)s, %(user)s))
      AND (%(session)s::uuid IS NULL OR query.session_id = %(session)s)
      AND (%(since)s::timestamptz IS NULL OR query.timestamp >= %(since)s)
), rated AS (
    SELECT count(*) AS ratings, avg(rating)::float8 AS mean FROM feedback_events JOIN counted ON counted.id = query_id
)
SELECT count(*) AS queries,
       count(*) FILTER (WHERE strategy_used = 'vector_only') AS vector_only,
       count(*) FILTER (WHERE strategy_used = 'graph_only') AS graph_only,
       count(*) FILTER (WHERE strategy_used = 'hybrid') AS hybrid,
       avg(execution_time_ms)::float8 AS mean_ms,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY execution_time_ms) AS p95_ms,
       avg(confidence_threshold_met::integer)::float8 AS threshold_met, avg(citation_count)::float8 AS mean_citations,
       avg(final_context_tokens)::float8 AS mean_context_tokens, (SELECT ratings FROM rated) AS ratings,
       (SELECT mean FROM rated) AS mean_rating
FROM counted
"""

# Days without anything are there, too. What a question cost is not kept; what reading documents cost is.
_DAYS = """
WITH asked AS (
    SELECT query.timestamp::date AS day, count(*) AS queries,
           count(*) FILTER (WHERE metrics.confidence_threshold_met) AS answered,
           avg(query.execution_time_ms)::float8 AS mean_ms, sum(metrics.final_context_tokens)::bigint AS context_tokens
    FROM rag_queries AS query JOIN retrieval_metrics AS metrics ON metrics.query_id = query.id
    WHERE query.project_id = %(project_id)s AND query.timestamp >= current_date - (%(days)s - 1)
    GROUP BY 1
), read AS (
    SELECT created_at::date AS day, count(*) AS documents, sum(model_calls)::bigint AS model_calls,
           sum(input_tokens)::bigint AS input_tokens, sum(output_tokens)::bigint AS output_tokens
    FROM ingestion_jobs
    WHERE project_id = %(project_id)s AND created_at >= current_date - (%(days)s - 1)
    GROUP BY 1
)
SELECT series.at::date AS day, coalesce(queries, 0) AS queries, coalesce(answered, 0) AS answered, mean_ms,
       coalesce(context_tokens, 0) AS context_tokens, coalesce(documents, 0) AS documents,
       coalesce(model_calls, 0) AS model_calls, coalesce(input_tokens, 0) AS input_tokens,
       coalesce(output_tokens, 0) AS output_tokens
FROM generate_series(current_date - (%(days)s - 1), current_date, '1 day') AS series (at)
LEFT JOIN asked ON asked.day = series.at::date LEFT JOIN read ON read.day = series.at::date
ORDER BY 1
"""

_GIVE_FEEDBACK = """
INSERT INTO feedback_events (id, query_id, rating, comment)
SELECT %(feedback)s, query.id, %(rating)s, %(comment)s
FROM rag_queries AS query JOIN analytics_sessions AS session ON session.id = query.session_id
WHERE query.id = %(query)s AND session.project_id = %(project_id)s AND session.user_hash = keyed_hash(%(project_id)s, %(user)s)
RETURNING id, query_id, rating, comment, created_at
"""

_FEEDBACK = """
SELECT event.id, event.query_id, event.rating, event.comment, event.created_at
FROM feedback_events AS event
JOIN rag_queries AS query ON query.id = event.query_id
JOIN analytics_sessions AS session ON session.id = query.session_id
WHERE session.project_id = %(project_id)s AND session.user_hash = keyed_hash(%(project_id)s, %(user)s)
  AND (%(query)s::uuid IS NULL OR query.id = %(query)s) AND (%(before)s::uuid IS NULL OR event.id < %(before)s)
ORDER BY event.id DESC LIMIT %(limit)s
"""

_DELETE_COMMENTS = """
UPDATE feedback_events SET comment = ''
FROM rag_queries AS query
WHERE query.id = feedback_events.query_id AND query.document_ids && %(documents)s::uuid[]
  AND feedback_events.comment <> ''
"""


async def begin_session(database: Database, reader: Reader) -> Session:
    """Open a session of the user, which questions may be logged in."""
    parameters = {**_own(reader), "session": new_id()}
    return (await database.rows(_BEGIN, parameters, into=Session))[0]


async def end_session(database: Database, reader: Reader, session: SessionId) -> None:
    """End a session of the user; raise `NotFound` if there is none, or if it has ended."""
    if not await database.execute(_END, {**_own(reader), "session": session}):
        raise _no_open_session(session)


async def require_open_session(database: Database, reader: Reader, session: SessionId) -> None:
    """Raise `NotFound` unless the user has an open session with this id."""
    if not await database.rows(_OPEN, {**_own(reader), "session": session}):
        raise _no_open_session(session)


async def list_sessions(
    database: Database,
    reader: Reader,
    *,
    session: SessionId | None = None,
    before: SessionId | None = None,
    limit: int = 100,
) -> list[Session]:
    """Return up to `limit` sessions of the user, the latest first, those before `before`."""
    parameters = {**_own(reader), "session": session, "before": before, "limit": limit}
    return await database.rows(_SESSIONS, parameters, into=Session)


async def list_queries(
    database: Database,
    reader: Reader,
    *,
    query: QueryId | None = None,
    session: SessionId | None = None,
    before: QueryId | None = None,
    limit: int = 100,
) -> list[LoggedQuery]:
    """Return up to `limit` questions of the user with their metrics, the latest first, those before `before`."""
    keys = {"query": query, "session": session, "before": before, "limit": limit}
    return await database.rows(_QUERIES, {**_own(reader), **keys}, into=_query)


async def summarize(
    database: Database, reader: Reader, *, session: SessionId | None
) -> MetricsSummary:
    """Return totals and means over the user's questions, or over those of one session."""
    parameters = {**_own(reader), "session": session, "since": None}
    return (await database.rows(_SUMMARY, parameters, into=_summary))[0]


async def list_project_sessions(
    database: Database, project_id: ProjectId, *, before: SessionId | None, limit: int
) -> list[ProjectSession]:
    """Return up to `limit` sessions of all users, the latest first, those before `before`; for administrators."""
    parameters = {"project_id": project_id, "before": before, "limit": limit}
    return await database.rows(_PROJECT_SESSIONS, parameters, into=ProjectSession)


async def summarize_project(
    database: Database, project_id: ProjectId, *, since: datetime | None
) -> MetricsSummary:
    """Return totals and means over the questions of all users, those from `since` on; for administrators."""
    parameters = {"project_id": project_id, "user": None, "session": None, "since": since}
    return (await database.rows(_SUMMARY, parameters, into=_summary))[0]


def _summary(**columns: Any) -> MetricsSummary:
    counts = {strategy: columns.pop(strategy.value) for strategy in Strategy}
    by_strategy = {strategy: count for strategy, count in counts.items() if count}
    return MetricsSummary(by_strategy=by_strategy, **columns)


async def list_days(database: Database, project_id: ProjectId, *, days: int) -> list[UsageOfDay]:
    """Return what all users asked and what reading documents cost on each of the last days, the earliest first."""
    return await database.rows(_DAYS, {"project_id": project_id, "days": days}, into=UsageOfDay)


async def give_feedback(database: Database, reader: Reader, request: FeedbackRequest) -> Feedback:
    """Store the user's feedback on one of their own questions; raise `NotFound` if it is not theirs."""
    fields = {
        "feedback": new_id(),
        "query": request.query_id,
        "rating": request.rating,
        "comment": request.comment,
    }
    feedback = await database.row(_GIVE_FEEDBACK, {**_own(reader), **fields}, into=Feedback)
    if feedback is None:
        raise NotFound(f"You have no query {request.query_id}")
    return feedback


async def list_feedback(
    database: Database,
    reader: Reader,
    *,
    query: QueryId | None,
    before: FeedbackId | None,
    limit: int,
) -> list[Feedback]:
    """Return up to `limit` items of the user's feedback, the latest first, those before `before`."""
    keys = {"query": query, "before": before, "limit": limit}
    return await database.rows(_FEEDBACK, {**_own(reader), **keys}, into=Feedback)


async def delete_comments_citing(connection: Connection, documents: Sequence[DocumentId]) -> None:
    """Delete comments on answers that cite these documents, because they may repeat what the documents say."""
    await connection.execute(_DELETE_COMMENTS, {"documents": list(documents)})


def _own(reader: Reader) -> dict[str, object]:
    return {"project_id": reader.project_id, "user": user_hash(reader)}


def _no_open_session(session: SessionId) -> NotFound:
    return NotFound(f"You have no open session {session}")


def _query(*, channels: Mapping[str, Mapping[str, int]], **columns: Any) -> LoggedQuery:
    figures = {Channel(name): ChannelMetrics(**channel) for name, channel in channels.items()}
    return make(LoggedQuery, channels=figures, **columns)
