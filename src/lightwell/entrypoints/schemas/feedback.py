"""Feedback, sessions and logged questions: figures without the words of a question."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

import lightwell.entrypoints.json_analytics as json_analytics
from lightwell.domain.analytics import (
    MAX_COMMENT_LENGTH,
    RATINGS,
    Feedback,
    FeedbackRequest,
    LoggedQuery,
    MetricsSummary,
    ProjectSession,
    Session,
)
from lightwell.domain.ids import QueryId
from lightwell.entrypoints.operations.replies import NextAfter, PageQuery, Schema

_EXAMPLE_ID = "019f0000-0000-7000-8000-000000000000"


class FeedbackBody(Schema):
    """An opinion of the answer to one of your own questions."""

    query_id: Annotated[UUID, Field(description="The answer's `queryId`.", examples=[_EXAMPLE_ID])]
    rating: Annotated[
        int,
        Field(
            description="1 (useless) to 5 (exactly right), 0 for a plain no; with `binary`, 0 or 1.",
            json_schema_extra={"minimum": 0, "maximum": RATINGS[-1]},
            examples=[5],
        ),
    ]
    comment: Annotated[
        str,
        Field(
            description="What is right or wrong with the answer.",
            json_schema_extra={"maxLength": MAX_COMMENT_LENGTH},
        ),
    ] = ""
    binary: Annotated[
        bool, Field(description="Whether `rating` is 0 (no) or 1 (yes); a yes counts as 5.")
    ] = False

    def to_request(self) -> FeedbackRequest:
        return FeedbackRequest(
            query_id=QueryId(self.query_id),
            rating=self.rating,
            comment=self.comment,
            is_binary=self.binary,
        )


class FeedbackSchema(Schema):
    feedback_id: str
    query_id: str
    rating: Annotated[int, Field(examples=[5])]
    comment: str
    created_at: str


class FeedbackQuery(PageQuery):
    query_id: Annotated[UUID | None, Field(description="Only feedback on this query.")] = None


class FeedbackPage(Schema):
    """Your own feedback, the latest first."""

    feedback: list[FeedbackSchema]
    next_after: NextAfter


class SessionSchema(Schema):
    """A session; `endedAt` is null while it is open, `queries` counts its questions."""

    session_id: Annotated[str, Field(examples=[_EXAMPLE_ID])]
    started_at: str
    ended_at: str | None
    queries: int


class SessionPage(Schema):
    """Your own sessions, the latest first: each conversation is one, and each question that is assigned to none."""

    sessions: list[SessionSchema]
    next_after: NextAfter


class ProjectSessionSchema(SessionSchema):
    """A session of anybody; the user is known by a keyed hash alone."""

    user_hash: str


class ProjectSessionPage(Schema):
    """The sessions of all users, the latest first."""

    sessions: list[ProjectSessionSchema]
    next_after: NextAfter


class LoggedChannelSchema(Schema):
    ms: int
    hits: int


class LoggedQuerySchema(Schema):
    """One question with its metrics: times in milliseconds, scores from 0 to 1. Equal questions have one `queryHash`."""

    query_id: Annotated[str, Field(examples=[_EXAMPLE_ID])]
    session_id: str
    timestamp: str
    query_hash: str
    strategy_used: str
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
    channels: dict[str, LoggedChannelSchema]
    rating: float | None


class LoggedQueryQuery(PageQuery):
    session_id: Annotated[UUID | None, Field(description="Only questions of this session.")] = None


class LoggedQueryPage(Schema):
    """Your own questions, the latest first."""

    queries: list[LoggedQuerySchema]
    next_after: NextAfter


class SummaryQuery(Schema):
    session_id: Annotated[UUID | None, Field(description="Only questions of this session.")] = None


class ProjectSummaryQuery(Schema):
    since: Annotated[
        datetime | None, Field(description="Only questions from this time on (ISO 8601).")
    ] = None


class SummarySchema(Schema):
    """Totals and means over questions; `thresholdMet` is the share with sufficient evidence. A mean of nothing is null."""

    queries: Annotated[int, Field(examples=[12])]
    by_strategy: dict[str, int]
    mean_ms: float | None
    p95_ms: float | None
    threshold_met: float | None
    mean_citations: float | None
    mean_context_tokens: float | None
    ratings: int
    mean_rating: float | None


def feedback_schema(given: Feedback) -> FeedbackSchema:
    """Return a rating as the server sends it."""
    return FeedbackSchema.model_validate(json_analytics.feedback(given), by_alias=True)


def feedback_page(found: Sequence[Feedback], following: str | None) -> FeedbackPage:
    """Return a page of ratings."""
    return FeedbackPage(feedback=[feedback_schema(each) for each in found], next_after=following)


def session_schema(session: Session) -> SessionSchema:
    """Return a session as the server sends it."""
    return SessionSchema.model_validate(json_analytics.session(session), by_alias=True)


def session_page(found: Sequence[Session], following: str | None) -> SessionPage:
    """Return a page of sessions."""
    return SessionPage(sessions=[session_schema(each) for each in found], next_after=following)


def project_session_page(
    found: Sequence[ProjectSession], following: str | None
) -> ProjectSessionPage:
    """Return a page of the sessions of all users."""
    document = {
        "sessions": [json_analytics.project_session(each) for each in found],
        "nextAfter": following,
    }
    return ProjectSessionPage.model_validate(document, by_alias=True)


def logged_query(query: LoggedQuery) -> LoggedQuerySchema:
    """Return a question's figures as the server sends them."""
    return LoggedQuerySchema.model_validate(json_analytics.query(query), by_alias=True)


def logged_query_page(found: Sequence[LoggedQuery], following: str | None) -> LoggedQueryPage:
    """Return a page of questions."""
    return LoggedQueryPage(queries=[logged_query(each) for each in found], next_after=following)


def summary_schema(found: MetricsSummary) -> SummarySchema:
    """Return totals and means as the server sends them."""
    return SummarySchema.model_validate(json_analytics.summary(found), by_alias=True)
