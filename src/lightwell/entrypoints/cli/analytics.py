"""`analytics`: lists a reader's own sessions, questions and feedback; `feedback`: rates an answer."""

from typing import Annotated
from uuid import UUID

import typer
from rich.text import Text

import lightwell.entrypoints.json_analytics as json_analytics
from lightwell.domain.analytics import FeedbackRequest
from lightwell.domain.ids import FeedbackId, QueryId, SessionId
from lightwell.entrypoints.cli.console import clean, fields, new_table
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.groups import command, new_group, single_command
from lightwell.entrypoints.cli.options import As, Before, PageSize
from lightwell.entrypoints.cli.store import open_as

analytics = new_group(
    "List your own sessions, questions with their metrics, and feedback.",
    "lightwell analytics queries --as user:ada",
    "lightwell analytics summary --as user:ada",
)
feedback = single_command()


InSession = Annotated[
    UUID | None, typer.Option("--session", metavar="ID", help="Only questions of this session.")
]


_NOTHING = Text("You have no data here.")


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
    rating: Annotated[int, typer.Argument(metavar="RATING", help="1 (useless) to 5 (just right).")],
    *,
    who: As = None,
    comment: Annotated[
        str,
        typer.Option(
            "--comment", help="What is right or wrong with the answer: up to 2000 characters."
        ),
    ] = "",
) -> Report:
    """Rate an answer to one of your questions."""
    request = FeedbackRequest(query_id=QueryId(query), rating=rating, comment=comment)
    async with open_as(who) as (kb, reader):
        given = await kb.analytics.give_feedback(reader, request)
    return Report(document=json_analytics.feedback(given), text=Text(f"Rated {given.rating} of 5."))


@command(analytics, "begin", "lightwell analytics begin --as user:ada --json")
async def begin_session(
    *,
    who: As = None,
) -> Report:
    """Open a session, to which you can assign questions: `ask --session`."""
    async with open_as(who) as (kb, reader):
        begun = await kb.analytics.begin_session(reader)
    return Report(document=json_analytics.session(begun), text=Text(f"Session {begun.id} is open."))


@command(
    analytics, "end", "lightwell analytics end 019f0000-0000-7000-8000-000000000000 --as user:ada"
)
async def end_session(
    session: Annotated[UUID, typer.Argument(metavar="SESSION", help="The id of a session.")],
    *,
    who: As = None,
) -> Report:
    """End an open session."""
    async with open_as(who) as (kb, reader):
        ended = await kb.analytics.end_session(reader, SessionId(session))
    return Report(
        document=json_analytics.session(ended), text=Text(f"Session {ended.id} has ended.")
    )


@command(analytics, "sessions", "lightwell analytics sessions --as user:ada --limit 10")
async def list_sessions(
    *,
    who: As = None,
    limit: PageSize = 100,
    before: Before = None,
) -> Report:
    """List your sessions, the latest first; each conversation is one, and each question that is assigned to none."""
    async with open_as(who) as (kb, reader):
        older = SessionId(before) if before else None
        found = await kb.analytics.sessions(reader, before=older, limit=limit)
    table = new_table("session", "began", "ended", "queries")
    for each in found:
        ended = f"{each.ended_at:%Y-%m-%d %H:%M:%S}" if each.ended_at else "open"
        began = f"{each.started_at:%Y-%m-%d %H:%M:%S}"
        table.add_row(str(each.id), began, ended, str(each.queries))
    document = {"sessions": [json_analytics.session(each) for each in found]}
    return Report(document=document, text=table if found else _NOTHING)


@command(analytics, "queries", "lightwell analytics queries --as user:ada --limit 10")
async def list_queries(
    *,
    who: As = None,
    session: InSession = None,
    limit: PageSize = 100,
    before: Before = None,
) -> Report:
    """List your questions with their retrieval metrics, the latest first; their words are not kept."""
    async with open_as(who) as (kb, reader):
        found = await kb.analytics.queries(
            reader,
            session=SessionId(session) if session else None,
            before=QueryId(before) if before else None,
            limit=limit,
        )
    table = new_table("query", "when", "strategy", "ms", "best", "citations", "rating")
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
    document = {"queries": [json_analytics.query(each) for each in found]}
    return Report(document=document, text=table if found else _NOTHING)


@command(analytics, "summary", "lightwell analytics summary --as user:ada")
async def sum_up_queries(
    *,
    who: As = None,
    session: InSession = None,
) -> Report:
    """Summarise your questions: number, time, share with sufficient evidence, ratings."""
    async with open_as(who) as (kb, reader):
        found = await kb.analytics.summary(reader, session=SessionId(session) if session else None)
    strategies = {strategy.value: count for strategy, count in found.by_strategy.items()}
    rows = [
        ("queries", str(found.queries)),
        ("strategies", ", ".join(f"{count} {name}" for name, count in strategies.items())),
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
    return Report(document=json_analytics.summary(found), text=fields(rows))


@command(analytics, "feedback", "lightwell analytics feedback --as user:ada")
async def list_feedback(
    *,
    who: As = None,
    limit: PageSize = 100,
    before: Before = None,
) -> Report:
    """List the feedback that you gave, the latest first."""
    async with open_as(who) as (kb, reader):
        older = FeedbackId(before) if before else None
        found = await kb.analytics.feedback(reader, before=older, limit=limit)
    table = new_table("query", "when", "rating", "comment")
    for each in found:
        when = f"{each.created_at:%Y-%m-%d %H:%M:%S}"
        table.add_row(str(each.query_id), when, str(each.rating), clean(each.comment))
    document = {"feedback": [json_analytics.feedback(each) for each in found]}
    return Report(document=document, text=table if found else _NOTHING)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
