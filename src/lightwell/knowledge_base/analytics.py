"""Methods for a user's own sessions, questions and feedback."""

from dataclasses import dataclass
from datetime import datetime

from lightwell.domain.access import Reader
from lightwell.domain.analytics import (
    Feedback,
    FeedbackRequest,
    LoggedQuery,
    MetricsSummary,
    ProjectSession,
    Session,
    UsageOfDay,
    validate_feedback,
)
from lightwell.domain.errors import NotFound
from lightwell.domain.ids import FeedbackId, ProjectId, QueryId, SessionId
from lightwell.records import analytics
from lightwell.records.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Analytics:
    """One project's analytics, each user's own: those of `Reader.user`, or of exactly the reader's tags without one."""

    database: Database

    async def begin_session(self, reader: Reader) -> Session:
        """Open a session, to which questions can be assigned."""
        return await analytics.begin_session(self.database, reader)

    async def end_session(self, reader: Reader, session: SessionId) -> Session:
        """End an open session; raise `NotFound`."""
        await analytics.end_session(self.database, reader, session)
        return await self.session(reader, session)

    async def session(self, reader: Reader, session: SessionId) -> Session:
        """Return a session; raise `NotFound`."""
        sessions = await analytics.list_sessions(self.database, reader, session=session)
        if not sessions:
            raise NotFound(f"You have no session {session}")
        return sessions[0]

    async def sessions(
        self, reader: Reader, *, before: SessionId | None = None, limit: int = 100
    ) -> tuple[Session, ...]:
        """Return up to `limit` sessions, the latest first, those older than `before`."""
        return tuple(
            await analytics.list_sessions(self.database, reader, before=before, limit=limit)
        )

    async def queries(
        self,
        reader: Reader,
        *,
        session: SessionId | None = None,
        before: QueryId | None = None,
        limit: int = 100,
    ) -> tuple[LoggedQuery, ...]:
        """Return up to `limit` questions with their metrics, the latest first, those older than `before`."""
        queries = await analytics.list_queries(
            self.database, reader, session=session, before=before, limit=limit
        )
        return tuple(queries)

    async def query(self, reader: Reader, query: QueryId) -> LoggedQuery:
        """Return a question with its metrics; raise `NotFound`."""
        queries = await analytics.list_queries(self.database, reader, query=query)
        if not queries:
            raise NotFound(f"You have no query {query}")
        return queries[0]

    async def summary(self, reader: Reader, *, session: SessionId | None = None) -> MetricsSummary:
        """Return the metrics of all questions, or of those of one session, summed up."""
        return await analytics.summarize(self.database, reader, session=session)

    async def project_sessions(
        self, project_id: ProjectId, *, before: SessionId | None = None, limit: int = 100
    ) -> tuple[ProjectSession, ...]:
        """Return up to `limit` sessions of all users, the latest first; the caller must be an administrator."""
        sessions = await analytics.list_project_sessions(
            self.database, project_id, before=before, limit=limit
        )
        return tuple(sessions)

    async def project_summary(
        self, project_id: ProjectId, *, since: datetime | None = None
    ) -> MetricsSummary:
        """Return the metrics of all users' questions, summed up; the caller must be an administrator."""
        return await analytics.summarize_project(self.database, project_id, since=since)

    async def project_days(self, project_id: ProjectId, *, days: int) -> list[UsageOfDay]:
        """Return the usage of the project on each of the last days, the earliest first; the caller must be an administrator."""
        return await analytics.list_days(self.database, project_id, days=days)

    async def give_feedback(self, reader: Reader, request: FeedbackRequest) -> Feedback:
        """Rate an answer to one of the user's own questions, from 1 to 5; raise `Invalid` or `NotFound`."""
        return await analytics.give_feedback(self.database, reader, validate_feedback(request))

    async def feedback(
        self,
        reader: Reader,
        *,
        query: QueryId | None = None,
        before: FeedbackId | None = None,
        limit: int = 100,
    ) -> tuple[Feedback, ...]:
        """Return up to `limit` pieces of feedback, the latest first, those older than `before`."""
        feedback = await analytics.list_feedback(
            self.database, reader, query=query, before=before, limit=limit
        )
        return tuple(feedback)
