"""`analytics`: lists a reader's own sessions, questions and feedback; `feedback`: rates an answer."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer
from rich.console import Group
from rich.text import Text

import lightwell.entrypoints.operations.analytics as operations
from lightwell.entrypoints.cli.asking import Asker
from lightwell.entrypoints.cli.console import clean, dim, fields, new_table
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import Before, PageSize
from lightwell.entrypoints.cli.registration import command, new_group, single_command

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

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
    asker: Asker,
    comment: Annotated[
        str,
        typer.Option(
            "--comment", help="What is right or wrong with the answer: up to 2000 characters."
        ),
    ] = "",
) -> Report:
    """Rate an answer to one of your questions."""
    feedback = await asker(operations.give_feedback, query, rating, comment=comment)
    return Report(document=feedback, text=Text(f"Rated {feedback.rating} of 5."))


@command(analytics, "begin", "lightwell analytics begin --as user:ada --json")
async def begin_session(*, asker: Asker) -> Report:
    """Open a session, to which you can assign questions: `ask --session`."""
    begun = await asker(operations.begin_session)
    return Report(document=begun, text=Text(f"Session {begun.session_id} is open."))


@command(
    analytics, "end", "lightwell analytics end 019f0000-0000-7000-8000-000000000000 --as user:ada"
)
async def end_session(
    session: Annotated[UUID, typer.Argument(metavar="SESSION", help="The id of a session.")],
    *,
    asker: Asker,
) -> Report:
    """End an open session."""
    ended = await asker(operations.end_session, session)
    return Report(document=ended, text=Text(f"Session {ended.session_id} has ended."))


@command(
    analytics,
    "sessions",
    "lightwell analytics sessions --as user:ada --limit 10",
    "lightwell analytics sessions --server http://127.0.0.1:8000",
)
async def list_sessions(*, asker: Asker, limit: PageSize = 100, before: Before = None) -> Report:
    """List your sessions, the latest first; each conversation is one, and each question that is assigned to none."""
    page = await asker(operations.list_sessions, limit=limit, after=_after(before))
    table = new_table("session", "began", "ended", "queries")
    for session in page.sessions:
        ended = _second(session.ended_at) if session.ended_at else "open"
        began = _second(session.started_at)
        table.add_row(str(session.session_id), began, ended, str(session.queries))
    return Report(document=page, text=_page(table, page.next_after))


@command(
    analytics,
    "queries",
    "lightwell analytics queries --as user:ada --limit 10",
    "lightwell analytics queries --server http://127.0.0.1:8000",
)
async def list_queries(
    *,
    asker: Asker,
    session: InSession = None,
    limit: PageSize = 100,
    before: Before = None,
) -> Report:
    """List your questions with their retrieval metrics, the latest first; their words are not kept."""
    page = await asker(
        operations.list_queries, session_id=session, limit=limit, after=_after(before)
    )
    table = new_table("query", "when", "strategy", "ms", "best", "citations", "rating")
    for query in page.queries:
        table.add_row(
            str(query.query_id),
            _second(query.timestamp),
            query.strategy_used,
            str(query.execution_time_ms),
            f"{query.rerank_top_score:.2f}",
            str(query.citation_count),
            _number(query.rating),
        )
    return Report(document=page, text=_page(table, page.next_after))


@command(
    analytics,
    "summary",
    "lightwell analytics summary --as user:ada",
    "lightwell analytics summary --server http://127.0.0.1:8000",
)
async def sum_up_queries(*, asker: Asker, session: InSession = None) -> Report:
    """Summarise your questions: number, time, share with sufficient evidence, ratings."""
    summary = await asker(operations.sum_up_queries, session_id=session)
    strategies = (f"{count} {strategy}" for strategy, count in summary.by_strategy.items())
    met = summary.threshold_met
    rating = f"{_number(summary.mean_rating)} of {summary.ratings}"
    rows = [
        ("queries", str(summary.queries)),
        ("strategies", ", ".join(strategies)),
        ("mean time", f"{_number(summary.mean_ms)} ms" if summary.queries else ""),
        ("95th percentile", f"{_number(summary.p95_ms)} ms" if summary.queries else ""),
        ("sufficient evidence", "" if met is None else f"{met:.0%}"),
        ("citations", _number(summary.mean_citations)),
        ("context tokens", _number(summary.mean_context_tokens)),
        ("mean rating", rating if summary.ratings else ""),
    ]
    return Report(document=summary, text=fields(rows))


@command(
    analytics,
    "feedback",
    "lightwell analytics feedback --as user:ada",
    "lightwell analytics feedback --server http://127.0.0.1:8000",
)
async def list_feedback(*, asker: Asker, limit: PageSize = 100, before: Before = None) -> Report:
    """List the feedback that you gave, the latest first."""
    page = await asker(operations.list_feedback, limit=limit, after=_after(before))
    table = new_table("query", "when", "rating", "comment")
    for opinion in page.feedback:
        when = _second(opinion.created_at)
        table.add_row(str(opinion.query_id), when, str(opinion.rating), clean(opinion.comment))
    return Report(document=page, text=_page(table, page.next_after))


def _after(before: UUID | None) -> str:
    return str(before) if before else ""


def _page(table: "Table", following: str | None) -> "RenderableType":
    """Return a page as text, with where the next one begins."""
    if not table.row_count:
        return Text("You have no data here.")
    return Group(table, dim(f"There are more: --before {clean(following)}")) if following else table


def _second(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
