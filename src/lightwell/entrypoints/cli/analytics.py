"""What can be said about sessions, queries and feedback on the command line; what it does stands in `analytics_reports`."""

from typing import Annotated
from uuid import UUID

import typer

from lightwell.entrypoints.cli.commands import As, Json, Verbose
from lightwell.entrypoints.cli.jobs import Before, Limit

analytics = typer.Typer(
    help="Your own sessions, queries with their metrics, and feedback.",
    epilog="\b\nExamples:\n  lightwell analytics queries --as user:ada\n  lightwell analytics summary --as user:ada",
    no_args_is_help=True,
    rich_markup_mode=None,
)
rating = typer.Typer()
InSession = Annotated[
    UUID | None, typer.Option("--session", metavar="ID", help="Only those of this session.")
]


@rating.command(
    epilog="\b\nExamples:\n  lightwell feedback 019f0000-0000-7000-8000-000000000000 5 --as user:ada\n"
    '  lightwell feedback 019f0000-0000-7000-8000-000000000000 2 --comment "The year is missing." --as user:ada'
)
def feedback(
    query: Annotated[
        UUID, typer.Argument(metavar="QUERY", help="The queryId of an answer, from --json.")
    ],
    rating: Annotated[int, typer.Argument(metavar="RATING", help="1 (useless) to 5 (just right).")],
    *,
    who: As = None,
    comment: Annotated[
        str, typer.Option("--comment", help="What is wrong or right: up to 2000 characters.")
    ] = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Rate an answer to a question of your own."""
    import lightwell.entrypoints.cli.analytics_reports as reports
    from lightwell.entrypoints.cli.edge import run

    run(reports.give_feedback(query, rating, comment, who or []), as_json=as_json, verbose=verbose)


@analytics.command(
    "begin", epilog="\b\nExamples:\n  lightwell analytics begin --as user:ada --json"
)
def begin_session(*, who: As = None, as_json: Json = False, verbose: Verbose = False) -> None:
    """Open a session, to which questions may belong: `ask --session`."""
    import lightwell.entrypoints.cli.analytics_reports as reports
    from lightwell.entrypoints.cli.edge import run

    run(reports.begin_session(who or []), as_json=as_json, verbose=verbose)


@analytics.command(
    "end",
    epilog="\b\nExamples:\n  lightwell analytics end 019f0000-0000-7000-8000-000000000000 --as user:ada",
)
def end_session(
    session: Annotated[UUID, typer.Argument(metavar="SESSION", help="The id of a session.")],
    *,
    who: As = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """End an open session."""
    import lightwell.entrypoints.cli.analytics_reports as reports
    from lightwell.entrypoints.cli.edge import run

    run(reports.end_session(session, who or []), as_json=as_json, verbose=verbose)


@analytics.command(
    "sessions", epilog="\b\nExamples:\n  lightwell analytics sessions --as user:ada --limit 10"
)
def list_sessions(
    *,
    who: As = None,
    limit: Limit = 100,
    before: Before = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List your sessions, the latest first; a question or conversation by itself is a session too."""
    import lightwell.entrypoints.cli.analytics_reports as reports
    from lightwell.entrypoints.cli.edge import run

    page = reports.Page(before=before, limit=limit)
    run(reports.sessions(page, who or []), as_json=as_json, verbose=verbose)


@analytics.command(
    "queries", epilog="\b\nExamples:\n  lightwell analytics queries --as user:ada --limit 10"
)
def list_queries(
    *,
    who: As = None,
    session: InSession = None,
    limit: Limit = 100,
    before: Before = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List your questions with their retrieval metrics, the latest first; their words are not kept."""
    import lightwell.entrypoints.cli.analytics_reports as reports
    from lightwell.entrypoints.cli.edge import run

    page = reports.Page(before=before, limit=limit)
    run(reports.queries(page, session, who or []), as_json=as_json, verbose=verbose)


@analytics.command("summary", epilog="\b\nExamples:\n  lightwell analytics summary --as user:ada")
def summary(
    *,
    who: As = None,
    session: InSession = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Sum up your questions: how many, how long they took, how often the evidence was enough, ratings."""
    import lightwell.entrypoints.cli.analytics_reports as reports
    from lightwell.entrypoints.cli.edge import run

    run(reports.summary(session, who or []), as_json=as_json, verbose=verbose)


@analytics.command("feedback", epilog="\b\nExamples:\n  lightwell analytics feedback --as user:ada")
def list_feedback(
    *,
    who: As = None,
    limit: Limit = 100,
    before: Before = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List the feedback that you gave, the latest first."""
    import lightwell.entrypoints.cli.analytics_reports as reports
    from lightwell.entrypoints.cli.edge import run

    page = reports.Page(before=before, limit=limit)
    run(reports.feedback(page, who or []), as_json=as_json, verbose=verbose)
