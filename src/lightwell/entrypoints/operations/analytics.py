"""Feedback, sessions and logged questions: a person's own, and for administrators the figures of the project."""

from datetime import date, datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from lightwell.domain.analytics import MAX_COMMENT_LENGTH, RATINGS, FeedbackRequest
from lightwell.domain.api_keys import Scope
from lightwell.domain.ids import FeedbackId, QueryId, SessionId
from lightwell.domain.questions import Channel, Strategy
from lightwell.entrypoints.operations.declaration import Caller, Subject
from lightwell.entrypoints.operations.replies import (
    After,
    Moment,
    NextAfter,
    PageLimit,
    Reply,
    page_of,
    parse_after,
    read_from,
)
from lightwell.entrypoints.operations.searches import ChannelFigures

analytics = Subject(prefix="/v1", tag="feedback")

_EXAMPLE_ID = "019f0000-0000-7000-8000-000000000000"
InSession = Annotated[UUID | None, Field(description="Only questions of this session.")]


class Feedback(Reply):
    feedback_id: Annotated[UUID, read_from("feedbackId", "id")]
    query_id: UUID
    rating: Annotated[int, Field(examples=[5])]
    comment: str
    created_at: Moment


class FeedbackPage(Reply):
    """Your own feedback, the latest first."""

    feedback: list[Feedback]
    next_after: NextAfter


class Session(Reply):
    """A session; `endedAt` is null while it is open, `queries` counts its questions."""

    session_id: Annotated[UUID, read_from("sessionId", "id"), Field(examples=[_EXAMPLE_ID])]
    started_at: Moment
    ended_at: Moment | None
    queries: int


class SessionPage(Reply):
    """Your own sessions, the latest first: each conversation is one, and each question that is assigned to none."""

    sessions: list[Session]
    next_after: NextAfter


class ProjectSession(Session):
    """A session of anybody; the user is known by a keyed hash alone."""

    user_hash: str


class ProjectSessionPage(Reply):
    """The sessions of all users, the latest first."""

    sessions: list[ProjectSession]
    next_after: NextAfter


class LoggedQuery(Reply):
    """One question with its metrics: times in milliseconds, scores from 0 to 1. Equal questions have one `queryHash`."""

    query_id: Annotated[UUID, read_from("queryId", "id"), Field(examples=[_EXAMPLE_ID])]
    session_id: UUID
    timestamp: Moment
    query_hash: str
    strategy_used: Annotated[Strategy, read_from("strategyUsed", "strategy")]
    execution_time_ms: int
    vector_search_ms: int
    vector_result_count: int
    vector_top_score: float
    vector_avg_score: float
    graph_traversal_ms: int
    graph_result_count: int
    graph_max_depth: int
    concepts_found: int
    fusion_ms: int
    overlap_count: int
    rrf_top_score: float
    rerank_ms: int
    rerank_top_score: float
    confidence_threshold_met: bool
    final_context_tokens: int
    citation_count: int
    channels: dict[Channel, ChannelFigures]
    rating: float | None


class LoggedQueryPage(Reply):
    """Your own questions, the latest first."""

    queries: list[LoggedQuery]
    next_after: NextAfter


class Summary(Reply):
    """Totals and means over questions; `thresholdMet` is the share with sufficient evidence. A mean of nothing is null."""

    queries: Annotated[int, Field(examples=[12])]
    by_strategy: dict[Strategy, int]
    mean_ms: float | None
    p95_ms: float | None
    threshold_met: float | None
    mean_citations: float | None
    mean_context_tokens: float | None
    ratings: int
    mean_rating: float | None


class DayOfUsage(Reply):
    """What was asked on a day, how much had enough evidence, and what reading documents cost; `meanMs` is null without questions."""

    day: date
    queries: int
    answered: int
    mean_ms: float | None
    context_tokens: int
    documents: int
    model_calls: int
    input_tokens: int
    output_tokens: int


class Days(Reply):
    """The last days, the earliest first."""

    days: list[DayOfUsage]


@analytics.operation("POST", "/feedback", status=201)
async def give_feedback(
    caller: Caller,
    query_id: Annotated[UUID, Field(description="The answer's `queryId`.", examples=[_EXAMPLE_ID])],
    rating: Annotated[
        int,
        Field(
            description="1 (useless) to 5 (exactly right), 0 for a plain no; with `binary`, 0 or 1.",
            json_schema_extra={"minimum": 0, "maximum": RATINGS[-1]},
            examples=[5],
        ),
    ],
    *,
    comment: Annotated[
        str,
        Field(
            description="What is right or wrong with the answer.",
            json_schema_extra={"maxLength": MAX_COMMENT_LENGTH},
        ),
    ] = "",
    binary: Annotated[
        bool, Field(description="Whether `rating` is 0 (no) or 1 (yes); a yes counts as 5.")
    ] = False,
) -> Feedback:
    """Rate the answer to one of your own questions."""
    request = FeedbackRequest(
        query_id=QueryId(query_id), rating=rating, comment=comment, is_binary=binary
    )
    return Feedback.model_validate(
        await caller.knowledge_base.analytics.give_feedback(caller.reader, request)
    )


@analytics.operation("GET", "/feedback")
async def list_feedback(
    caller: Caller,
    query_id: Annotated[UUID | None, Field(description="Only feedback on this query.")] = None,
    limit: PageLimit = 100,
    after: After = "",
) -> FeedbackPage:
    """List your own feedback, the latest first."""
    listed = await caller.knowledge_base.analytics.feedback(
        caller.reader,
        query=QueryId(query_id) if query_id else None,
        before=parse_after(after, FeedbackId),
        limit=limit + 1,
    )
    page, next_after = page_of(listed, limit, lambda feedback: str(feedback.id))
    feedback = [Feedback.model_validate(opinion) for opinion in page]
    return FeedbackPage(feedback=feedback, next_after=next_after)


@analytics.operation("POST", "/sessions", status=201)
async def begin_session(caller: Caller) -> Session:
    """Open a session, to which questions can be assigned (`sessionId`)."""
    return Session.model_validate(
        await caller.knowledge_base.analytics.begin_session(caller.reader)
    )


@analytics.operation("GET", "/sessions")
async def list_sessions(caller: Caller, limit: PageLimit = 100, after: After = "") -> SessionPage:
    """List your own sessions, the latest first."""
    listed = await caller.knowledge_base.analytics.sessions(
        caller.reader, before=parse_after(after, SessionId), limit=limit + 1
    )
    page, next_after = page_of(listed, limit, lambda session: str(session.id))
    sessions = [Session.model_validate(session) for session in page]
    return SessionPage(sessions=sessions, next_after=next_after)


@analytics.operation("GET", "/sessions/{session_id}")
async def get_session(caller: Caller, session_id: UUID) -> Session:
    """Return one of your own sessions."""
    return Session.model_validate(
        await caller.knowledge_base.analytics.session(caller.reader, SessionId(session_id))
    )


@analytics.operation("POST", "/sessions/{session_id}/end")
async def end_session(caller: Caller, session_id: UUID) -> Session:
    """End one of your own open sessions."""
    return Session.model_validate(
        await caller.knowledge_base.analytics.end_session(caller.reader, SessionId(session_id))
    )


@analytics.operation("GET", "/queries")
async def list_queries(
    caller: Caller, session_id: InSession = None, limit: PageLimit = 100, after: After = ""
) -> LoggedQueryPage:
    """List your own questions with their metrics, the latest first; their words are not kept."""
    listed = await caller.knowledge_base.analytics.queries(
        caller.reader,
        session=SessionId(session_id) if session_id else None,
        before=parse_after(after, QueryId),
        limit=limit + 1,
    )
    page, next_after = page_of(listed, limit, lambda query: str(query.id))
    queries = [LoggedQuery.model_validate(query) for query in page]
    return LoggedQueryPage(queries=queries, next_after=next_after)


@analytics.operation("GET", "/queries/summary")
async def sum_up_queries(caller: Caller, session_id: InSession = None) -> Summary:
    """Summarise your own questions: number, time, share with sufficient evidence, ratings."""
    session = SessionId(session_id) if session_id else None
    return Summary.model_validate(
        await caller.knowledge_base.analytics.summary(caller.reader, session=session)
    )


@analytics.operation("GET", "/queries/{query_id}")
async def get_query(caller: Caller, query_id: UUID) -> LoggedQuery:
    """Return one of your own questions with its metrics."""
    return LoggedQuery.model_validate(
        await caller.knowledge_base.analytics.query(caller.reader, QueryId(query_id))
    )


@analytics.operation("GET", "/analytics/sessions", scope=Scope.ADMIN)
async def list_project_sessions(
    caller: Caller, limit: PageLimit = 100, after: After = ""
) -> ProjectSessionPage:
    """List the sessions of all users of the project, the latest first; users are hashes."""
    listed = await caller.knowledge_base.analytics.project_sessions(
        before=parse_after(after, SessionId),
        limit=limit + 1,
        project_id=caller.knowledge_base.project_id,
    )
    page, next_after = page_of(listed, limit, lambda session: str(session.id))
    sessions = [ProjectSession.model_validate(session) for session in page]
    return ProjectSessionPage(sessions=sessions, next_after=next_after)


@analytics.operation("GET", "/analytics/summary", scope=Scope.ADMIN)
async def sum_up_project(
    caller: Caller,
    since: Annotated[
        datetime | None, Field(description="Only questions from this time on (ISO 8601).")
    ] = None,
) -> Summary:
    """Summarise the questions of all users of the project."""
    kb = caller.knowledge_base
    return Summary.model_validate(await kb.analytics.project_summary(kb.project_id, since=since))


@analytics.operation("GET", "/analytics/days", scope=Scope.ADMIN)
async def list_usage_days(
    caller: Caller,
    days: Annotated[int, Field(ge=1, le=366, description="How many days, with today.")] = 30,
) -> Days:
    """List what all users of the project asked and what reading documents cost, day by day."""
    kb = caller.knowledge_base
    listed = await kb.analytics.project_days(kb.project_id, days=days)
    return Days(days=[DayOfUsage.model_validate(day) for day in listed])
