"""The clients: connections that have the operations as methods, and follow answers and jobs."""

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable
from http import HTTPStatus
from uuid import UUID

from pydantic import ConfigDict

from lightwell.domain.answers import StreamType
from lightwell.domain.questions import Question
from lightwell.entrypoints.client.connections import AsyncConnection, Connection, Stream
from lightwell.entrypoints.client.event_parser import Received
from lightwell.entrypoints.client.failures import ServerError
from lightwell.entrypoints.client.operations import Operations
from lightwell.entrypoints.client.push_calls import (
    NOTHING_PUSHED,
    Line,
    add_report,
    later_parts_of,
    parts_of,
    push_lines,
    push_query,
)
from lightwell.entrypoints.operations.jobs import FollowedJob
from lightwell.entrypoints.operations.pushes import PushReport
from lightwell.entrypoints.operations.questions import DocumentFilters, StreamEvent, answer_question
from lightwell.entrypoints.operations.replies import Schema


class Client(Connection, Operations):
    """A connection to the server at `url`, to be used in `with` or closed. `http` replaces the HTTP client, for proxies and tests."""

    def push(
        self,
        source: str,
        lines: Iterable[Line],
        *,
        everything: bool = False,
        allow_mass_deletion: bool = False,
        progress: Callable[[PushReport], None] = lambda report: None,
    ) -> PushReport:
        """Push lines into a source, in several requests, and return what they did; docs/push.md has the lines. Raise `ServerError`.

        With `everything`, what no line names is removed at the end. `progress` is called with what was acknowledged so far.
        """
        report = NOTHING_PUSHED
        query = push_query(everything=everything, allow_mass_deletion=allow_mass_deletion)
        for part in parts_of(lines, everything=everything):
            report = add_report(report, self.send(push_lines(source, part, query)))
            progress(report)
        return report

    def stream(self, question: str | Question) -> Generator[StreamEvent, None, None]:
        """Yield an answer as events, each sentence when it is checked; a lost connection is resumed. Raise `ServerError`."""
        return self.follow(_answer_stream(question))

    def follow_job(self, job: UUID | str) -> Generator[FollowedJob, None, None]:
        """Yield a job whenever it has changed, until it has ended. Raise `ServerError`."""
        return self.follow(_job_stream(job))

    def wait_for_job(self, job: UUID | str) -> FollowedJob:
        """Return a job when it has ended, well or not. Raise `ServerError`."""
        *_, last = self.follow_job(job)
        return last


class AsyncClient(AsyncConnection, Operations):
    """A connection to the server at `url`, to be used in `async with` or closed. `http` replaces the HTTP client."""

    async def push(
        self,
        source: str,
        lines: Iterable[Line] | AsyncIterable[Line],
        *,
        everything: bool = False,
        allow_mass_deletion: bool = False,
        progress: Callable[[PushReport], None] = lambda report: None,
    ) -> PushReport:
        """Push lines into a source, in several requests, and return what they did; docs/push.md has the lines. Raise `ServerError`.

        With `everything`, what no line names is removed at the end. `progress` is called with what was acknowledged so far.
        """
        report = NOTHING_PUSHED
        query = push_query(everything=everything, allow_mass_deletion=allow_mass_deletion)
        async for part in later_parts_of(lines, everything=everything):
            report = add_report(report, await self.send(push_lines(source, part, query)))
            progress(report)
        return report

    def stream(self, question: str | Question) -> AsyncGenerator[StreamEvent, None]:
        """Yield an answer as events, each sentence when it is checked; a lost connection is resumed. Raise `ServerError`."""
        return self.follow(_answer_stream(question))

    def follow_job(self, job: UUID | str) -> AsyncGenerator[FollowedJob, None]:
        """Yield a job whenever it has changed, until it has ended. Raise `ServerError`."""
        return self.follow(_job_stream(job))

    async def wait_for_job(self, job: UUID | str) -> FollowedJob:
        """Return a job when it has ended, well or not. Raise `ServerError`."""
        return [state async for state in self.follow_job(job)][-1]


def _answer_stream(question: str | Question) -> Stream[StreamEvent]:
    if isinstance(question, str):
        call = answer_question.call(question)
    else:
        call = answer_question.call(
            question.text,
            session_id=question.session_id,
            top_k=question.limit,
            include_graph=question.include_graph,
            topic_filter=question.filters.topic,
            filters=DocumentFilters.of(question.filters),
            mode=question.mode,
            look_twice=question.look_twice,
            with_unsupported=question.with_unsupported,
        )
    path = "/v1/query/stream"
    return Stream(method="POST", path=path, content=call.content, read=read_answer_event)


def _job_stream(job: UUID | str) -> Stream[FollowedJob]:
    path = f"/v1/jobs/{UUID(str(job))}/events"
    return Stream(method="GET", path=path, content=None, read=read_job_event)


class _JobError(Schema):
    model_config = ConfigDict(extra="ignore")

    code: str
    error: str


def read_answer_event(_: str, data: str) -> Received[StreamEvent]:
    """Return an event of an answer."""
    event = StreamEvent.model_validate_json(data, extra="ignore")
    return Received(event, event.type in (StreamType.DONE, StreamType.ERROR))


def read_job_event(kind: str, data: str) -> Received[FollowedJob]:
    """Return a job as it is now; raise `ServerError` where it is gone."""
    if kind == "error":
        gone = _JobError.model_validate_json(data)
        raise ServerError(gone.error, status=HTTPStatus.NOT_FOUND, code=gone.code)
    return Received(FollowedJob.model_validate_json(data, extra="ignore"), kind == "done")
