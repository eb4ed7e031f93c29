"""`analytics`: lists a reader's own sessions, questions and feedback; `feedback`: rates an answer."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer
from rich.console import Group
from rich.text import Text

from lightwell.domain.analytics import FeedbackRequest
from lightwell.domain.ids import FeedbackId, QueryId, SessionId
from lightwell.entrypoints.cli.console import clean, dim, fields, new_table
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import As, Before, PageSize, Server
from lightwell.entrypoints.cli.registration import command, new_group, single_command
from lightwell.entrypoints.cli.remote import choose_server, dump, send
from lightwell.entrypoints.cli.store import open_as

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType
    from rich.table import Table

    from lightwell.entrypoints.schemas.feedback import LoggedQuerySchema, SessionSchema

analytics = new_group(
    "List your own sessions, questions with their metrics, and feedback.",
    "lightwell analytics queries --as user:ada",
    "lightwell analytics summary --as user:ada",
)
feedback = single_command()


InSession = Annotated[
    UUID | None, typer.Option("--session", metavar="ID", help="Only questions of this session.")
]


@command(
    feedback,
    "feedback",
    "lightwell feedback 019f0000-0000-7000-8000-000000000000 5 --as user:ada",
    'lightwell feedback 019f0000-0000-7000-8000-000000000000 2 --comment "The year is missing." --as user:ada',
)
async def rate_answer(
    query: Annotated[
        UUID, typer.Argument(metavar="QUERY", help="The queryId of an answer, from --json.")
    ],
    rating: Annotated[
        int,
        typer.Argument(metavar="RATING", help="1 (useless) to 5 (just right), 0 for a plain no."),
    ],
    *,
    who: As = None,
    server: Server = None,
    comment: Annotated[
        str,
        typer.Option(
            "--comment", help="What is right or wrong with the answer: up to 2000 characters."
        ),
    ] = "",
) -> Report:
    """Rate an answer to one of your questions."""
    from lightwell.entrypoints.client import feedback_calls
    from lightwell.entrypoints.schemas.feedback import feedback_schema

    request = FeedbackRequest(query_id=QueryId(query), rating=rating, comment=comment)
    if login := choose_server(server, who):
        given = await send(feedback_calls.give_feedback(query, rating, comment=comment), login)
    else:
        async with open_as(who) as (kb, reader):
            given = feedback_schema(await kb.analytics.give_feedback(reader, request))
    return Report(document=dump(given), text=Text(f"Rated {given.rating} of 5."))


@command(analytics, "begin", "lightwell analytics begin --as user:ada --json")
async def begin_session(*, who: As = None, server: Server = None) -> Report:
    """Open a session, to which you can assign questions: `ask --session`."""
    from lightwell.entrypoints.client import feedback_calls
    from lightwell.entrypoints.schemas.feedback import session_schema

    if login := choose_server(server, who):
        begun = await send(feedback_calls.begin_session(), login)
    else:
        async with open_as(who) as (kb, reader):
            begun = session_schema(await kb.analytics.begin_session(reader))
    return Report(document=dump(begun), text=Text(f"Session {begun.session_id} is open."))


@command(
    analytics, "end", "lightwell analytics end 019f0000-0000-7000-8000-000000000000 --as user:ada"
)
async def end_session(
    session: Annotated[UUID, typer.Argument(metavar="SESSION", help="The id of a session.")],
    *,
    who: As = None,
    server: Server = None,
) -> Report:
    """End an open session."""
    from lightwell.entrypoints.client import feedback_calls
    from lightwell.entrypoints.schemas.feedback import session_schema

    if login := choose_server(server, who):
        ended = await send(feedback_calls.end_session(session), login)
    else:
        async with open_as(who) as (kb, reader):
            ended = session_schema(await kb.analytics.end_session(reader, SessionId(session)))
    return Report(document=dump(ended), text=Text(f"Session {ended.session_id} has ended."))


@command(
    analytics,
    "sessions",
    "lightwell analytics sessions --as user:ada --limit 10",
    "lightwell analytics sessions --server http://127.0.0.1:8000",
)
async def list_sessions(
    *,
    who: As = None,
    server: Server = None,
    limit: PageSize = 100,
    before: Before = None,
) -> Report:
    """List your sessions, the latest first; each conversation is one, and each question that is assigned to none."""
    from lightwell.entrypoints.client import feedback_calls
    from lightwell.entrypoints.operations.replies import PageQuery, cut_page
    from lightwell.entrypoints.schemas.feedback import session_page

    query = PageQuery(limit=limit, after=str(before) if before else "")
    if login := choose_server(server, who):
        page = await send(feedback_calls.list_sessions(query), login)
    else:
        async with open_as(who) as (kb, reader):
            older = SessionId(before) if before else None
            found = await kb.analytics.sessions(reader, before=older, limit=limit + 1)
        page = session_page(*cut_page(found, query, lambda each: str(each.id)))
    text = _page(_session_table(page.sessions), page.next_after)
    return Report(document=dump(page), text=text)


@command(
    analytics,
    "queries",
    "lightwell analytics queries --as user:ada --limit 10",
    "lightwell analytics queries --server http://127.0.0.1:8000",
)
async def list_queries(
    *,
    who: As = None,
    server: Server = None,
    session: InSession = None,
    limit: PageSize = 100,
    before: Before = None,
) -> Report:
    """List your questions with their retrieval metrics, the latest first; their words are not kept."""
    from lightwell.entrypoints.client import feedback_calls
    from lightwell.entrypoints.operations.replies import cut_page
    from lightwell.entrypoints.schemas.feedback import LoggedQueryQuery, logged_query_page

    older = str(before) if before else ""
    query = LoggedQueryQuery(session_id=session, limit=limit, after=older)
    if login := choose_server(server, who):
        page = await send(feedback_calls.list_queries(query), login)
    else:
        async with open_as(who) as (kb, reader):
            found = await kb.analytics.queries(
                reader,
                session=SessionId(session) if session else None,
                before=QueryId(before) if before else None,
                limit=limit + 1,
            )
        page = logged_query_page(*cut_page(found, query, lambda each: str(each.id)))
    text = _page(_query_table(page.queries), page.next_after)
    return Report(document=dump(page), text=text)


@command(
    analytics,
    "summary",
    "lightwell analytics summary --as user:ada",
    "lightwell analytics summary --server http://127.0.0.1:8000",
)
async def sum_up_queries(
    *,
    who: As = None,
    server: Server = None,
    session: InSession = None,
) -> Report:
    """Summarise your questions: number, time, share with sufficient evidence, ratings."""
    from lightwell.entrypoints.client import feedback_calls
    from lightwell.entrypoints.schemas.feedback import summary_schema

    if login := choose_server(server, who):
        found = await send(feedback_calls.sum_up_queries(session), login)
    else:
        own = SessionId(session) if session else None
        async with open_as(who) as (kb, reader):
            found = summary_schema(await kb.analytics.summary(reader, session=own))
    rows = [
        ("queries", str(found.queries)),
        ("strategies", ", ".join(f"{count} {name}" for name, count in found.by_strategy.items())),
        ("mean time", f"{_number(found.mean_ms)} ms" if found.queries else ""),
        ("95th percentile", f"{_number(found.p95_ms)} ms" if found.queries else ""),
        (
            "sufficient evidence",
            "" if found.threshold_met is None else f"{found.threshold_met:.0%}",
        ),
        ("citations", _number(found.mean_citations)),
        ("context tokens", _number(found.mean_context_tokens)),
        (
            "mean rating",
            f"{_number(found.mean_rating)} of {found.ratings}" if found.ratings else "",
        ),
    ]
    return Report(document=dump(found), text=fields([(name, clean(row)) for name, row in rows]))


@command(
    analytics,
    "feedback",
    "lightwell analytics feedback --as user:ada",
    "lightwell analytics feedback --server http://127.0.0.1:8000",
)
async def list_feedback(
    *,
    who: As = None,
    server: Server = None,
    limit: PageSize = 100,
    before: Before = None,
) -> Report:
    """List the feedback that you gave, the latest first."""
    from lightwell.entrypoints.client import feedback_calls
    from lightwell.entrypoints.operations.replies import cut_page
    from lightwell.entrypoints.schemas.feedback import FeedbackQuery, feedback_page

    query = FeedbackQuery(limit=limit, after=str(before) if before else "")
    if login := choose_server(server, who):
        page = await send(feedback_calls.list_feedback(query), login)
    else:
        async with open_as(who) as (kb, reader):
            older = FeedbackId(before) if before else None
            found = await kb.analytics.feedback(reader, before=older, limit=limit + 1)
        page = feedback_page(*cut_page(found, query, lambda each: str(each.id)))
    table = new_table("query", "when", "rating", "comment")
    for each in page.feedback:
        when = _second(each.created_at)
        table.add_row(clean(each.query_id), when, str(each.rating), clean(each.comment))
    return Report(document=dump(page), text=_page(table, page.next_after))


def _session_table(sessions: "Sequence[SessionSchema]") -> "Table":
    table = new_table("session", "began", "ended", "queries")
    for each in sessions:
        ended = _second(each.ended_at) if each.ended_at else "open"
        began = _second(each.started_at)
        table.add_row(clean(each.session_id), began, ended, str(each.queries))
    return table


def _query_table(queries: "Sequence[LoggedQuerySchema]") -> "Table":
    table = new_table("query", "when", "strategy", "ms", "best", "citations", "rating")
    for each in queries:
        table.add_row(
            clean(each.query_id),
            _second(each.timestamp),
            clean(each.strategy_used),
            str(each.execution_time_ms),
            f"{each.rerank_top_score:.2f}",
            str(each.citation_count),
            _number(each.rating),
        )
    return table


def _page(table: "Table", following: str | None) -> "RenderableType":
    """Return a page as text, with where the next one begins."""
    if not table.row_count:
        return Text("You have no data here.")
    return Group(table, dim(f"There are more: --before {clean(following)}")) if following else table


def _second(time: str) -> str:
    """Return a time as people read it."""
    return f"{datetime.fromisoformat(time):%Y-%m-%d %H:%M:%S}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
