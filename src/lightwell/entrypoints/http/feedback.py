"""Feedback, sessions and logged questions: a person's own, and for administrators the figures of the project."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query

from lightwell.domain.api_keys import Scope
from lightwell.domain.ids import FeedbackId, QueryId, SessionId
from lightwell.entrypoints.http.authentication import Caller, Reading, caller_with
from lightwell.entrypoints.operations.replies import PageQuery, cut_page
from lightwell.entrypoints.schemas.feedback import (
    FeedbackBody,
    FeedbackPage,
    FeedbackQuery,
    FeedbackSchema,
    LoggedQueryPage,
    LoggedQueryQuery,
    LoggedQuerySchema,
    ProjectSessionPage,
    ProjectSummaryQuery,
    SessionPage,
    SessionSchema,
    SummaryQuery,
    SummarySchema,
    feedback_page,
    feedback_schema,
    logged_query,
    logged_query_page,
    project_session_page,
    session_page,
    session_schema,
    summary_schema,
)

router = APIRouter(prefix="/v1", tags=["feedback"])

Administrator = Annotated[Caller, Depends(caller_with(Scope.ADMIN))]


@router.post("/feedback", status_code=201)
async def give_feedback(body: FeedbackBody, caller: Reading) -> FeedbackSchema:
    """Rate the answer to one of your own questions."""
    given = await caller.knowledge_base.analytics.give_feedback(caller.reader, body.to_request())
    return feedback_schema(given)


@router.get("/feedback")
async def list_feedback(caller: Reading, query: Annotated[FeedbackQuery, Query()]) -> FeedbackPage:
    """List your own feedback, the latest first."""
    before = query.after_id
    found = await caller.knowledge_base.analytics.feedback(
        caller.reader,
        query=QueryId(query.query_id) if query.query_id else None,
        before=FeedbackId(before) if before else None,
        limit=query.limit + 1,
    )
    return feedback_page(*cut_page(found, query, lambda each: str(each.id)))


@router.post("/sessions", status_code=201)
async def begin_session(caller: Reading) -> SessionSchema:
    """Open a session, to which questions can be assigned (`sessionId`)."""
    return session_schema(await caller.knowledge_base.analytics.begin_session(caller.reader))


@router.get("/sessions")
async def list_sessions(caller: Reading, query: Annotated[PageQuery, Query()]) -> SessionPage:
    """List your own sessions, the latest first."""
    before = query.after_id
    found = await caller.knowledge_base.analytics.sessions(
        caller.reader, before=SessionId(before) if before else None, limit=query.limit + 1
    )
    return session_page(*cut_page(found, query, lambda each: str(each.id)))


@router.get("/sessions/{session_id}")
async def get_session(session_id: UUID, caller: Reading) -> SessionSchema:
    """Return one of your own sessions."""
    analytics = caller.knowledge_base.analytics
    return session_schema(await analytics.session(caller.reader, SessionId(session_id)))


@router.post("/sessions/{session_id}/end")
async def end_session(session_id: UUID, caller: Reading) -> SessionSchema:
    """End one of your own open sessions."""
    analytics = caller.knowledge_base.analytics
    return session_schema(await analytics.end_session(caller.reader, SessionId(session_id)))


@router.get("/queries")
async def list_queries(
    caller: Reading, query: Annotated[LoggedQueryQuery, Query()]
) -> LoggedQueryPage:
    """List your own questions with their metrics, the latest first; their words are not kept."""
    before = query.after_id
    found = await caller.knowledge_base.analytics.queries(
        caller.reader,
        session=SessionId(query.session_id) if query.session_id else None,
        before=QueryId(before) if before else None,
        limit=query.limit + 1,
    )
    return logged_query_page(*cut_page(found, query, lambda each: str(each.id)))


@router.get("/queries/summary")
async def sum_up_queries(caller: Reading, query: Annotated[SummaryQuery, Query()]) -> SummarySchema:
    """Summarise your own questions: number, time, share with sufficient evidence, ratings."""
    session = SessionId(query.session_id) if query.session_id else None
    found = await caller.knowledge_base.analytics.summary(caller.reader, session=session)
    return summary_schema(found)


@router.get("/queries/{query_id}")
async def get_query(query_id: UUID, caller: Reading) -> LoggedQuerySchema:
    """Return one of your own questions with its metrics."""
    analytics = caller.knowledge_base.analytics
    return logged_query(await analytics.query(caller.reader, QueryId(query_id)))


@router.get("/analytics/sessions")
async def list_project_sessions(
    caller: Administrator, query: Annotated[PageQuery, Query()]
) -> ProjectSessionPage:
    """List the sessions of all users of the project, the latest first; users are hashes."""
    before = query.after_id
    found = await caller.knowledge_base.analytics.project_sessions(
        before=SessionId(before) if before else None,
        limit=query.limit + 1,
        project_id=caller.knowledge_base.project_id,
    )
    return project_session_page(*cut_page(found, query, lambda each: str(each.session.id)))


@router.get("/analytics/summary")
async def sum_up_project(
    caller: Administrator, query: Annotated[ProjectSummaryQuery, Query()]
) -> SummarySchema:
    """Summarise the questions of all users of the project."""
    kb = caller.knowledge_base
    return summary_schema(await kb.analytics.project_summary(kb.project_id, since=query.since))
