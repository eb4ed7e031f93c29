"""Calls about feedback, sessions and your own questions' figures."""

from uuid import UUID

from lightwell.entrypoints.operations.calls import Call, reader_of
from lightwell.entrypoints.operations.replies import PageQuery
from lightwell.entrypoints.schemas.feedback import (
    FeedbackBody,
    FeedbackPage,
    FeedbackQuery,
    FeedbackSchema,
    LoggedQueryPage,
    LoggedQueryQuery,
    SessionPage,
    SessionSchema,
    SummaryQuery,
    SummarySchema,
)

_read_feedback = reader_of(FeedbackSchema)
_read_page = reader_of(FeedbackPage)
_read_session = reader_of(SessionSchema)
_read_sessions = reader_of(SessionPage)
_read_queries = reader_of(LoggedQueryPage)
_read_summary = reader_of(SummarySchema)


def give_feedback(query: UUID | str, rating: int, *, comment: str = "") -> Call[FeedbackSchema]:
    """Rate the answer to one of your own questions, from 1 (useless) to 5 (exactly right)."""
    body = FeedbackBody(query_id=UUID(str(query)), rating=rating, comment=comment)
    return Call(
        method="POST", path="/v1/feedback", body=body, read=_read_feedback, is_repeatable=False
    )


def list_feedback(query: FeedbackQuery | None = None) -> Call[FeedbackPage]:
    """List a page of your own feedback, the latest first."""
    return Call(method="GET", path="/v1/feedback", query=query, read=_read_page)


def begin_session() -> Call[SessionSchema]:
    """Open a session, to which questions can be assigned."""
    return Call(method="POST", path="/v1/sessions", read=_read_session, is_repeatable=False)


def end_session(session: UUID | str) -> Call[SessionSchema]:
    """End one of your own open sessions."""
    path = f"/v1/sessions/{UUID(str(session))}/end"
    return Call(method="POST", path=path, read=_read_session, is_repeatable=False)


def list_sessions(query: PageQuery | None = None) -> Call[SessionPage]:
    """List a page of your own sessions, the latest first."""
    return Call(method="GET", path="/v1/sessions", query=query, read=_read_sessions)


def list_queries(query: LoggedQueryQuery | None = None) -> Call[LoggedQueryPage]:
    """List a page of your own questions with their metrics, the latest first."""
    return Call(method="GET", path="/v1/queries", query=query, read=_read_queries)


def sum_up_queries(session: UUID | None = None) -> Call[SummarySchema]:
    """Summarise your own questions, or those of one session: number, time, share with sufficient evidence, ratings."""
    query = SummaryQuery(session_id=session)
    return Call(method="GET", path="/v1/queries/summary", query=query, read=_read_summary)
