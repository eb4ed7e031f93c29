"""Checks of the database for `lightwell doctor`."""

from lightwell.domain.operations import Check, CopyLag
from lightwell.records.connections import open_connection
from lightwell.records.database import (
    MIN_SERVER_VERSION,
    list_pending_migrations,
    validate_conninfo,
)
from lightwell.records.embedding_space_progress import SpaceGaps, list_gaps_on
from lightwell.records.errors import translate_errors
from lightwell.records.graph import copies
from lightwell.records.rows import fetch_values

_CTYPE = "SELECT datctype FROM pg_database WHERE datname = current_database()"
_EXTENSION = "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"


async def examine_database(conninfo: str) -> list[Check]:
    """Return the checks of version, pgvector, text encoding, migrations and copies of graphs; raise `StoreFailed` if the server
    does not answer.
    """
    with translate_errors():
        async with await open_connection(validate_conninfo(conninfo)) as connection:
            version = connection.info.server_version
            vectors = await fetch_values(connection, _EXTENSION, {})
            (ctype,) = await fetch_values(connection, _CTYPE, {})
            lags = await copies.list_lags_on(connection)
    pending = await list_pending_migrations(conninfo)
    return [
        _check(
            "PostgreSQL",
            version >= MIN_SERVER_VERSION,
            f"version {version // 10000}",
            "Use PostgreSQL 16 or newer",
        ),
        _check(
            "pgvector",
            bool(vectors),
            f"version {vectors[0]}" if vectors else "missing",
            "Install the pgvector package of this PostgreSQL",
        ),
        _check(
            "text encoding",
            ctype not in {"C", "POSIX"},
            f"LC_CTYPE {ctype}",
            "Create the database with LC_CTYPE 'C.UTF-8', or words with accents are not found",
        ),
        Check(
            name="schema",
            ok=True,
            detail=f"{len(pending)} migrations will be applied at the next start"
            if pending
            else "up to date",
            fix="",
        ),
        *(_copy_check(lag) for lag in lags),
    ]


async def list_spaces(conninfo: str) -> list[SpaceGaps]:
    """Return the embedding spaces of all projects; raise `StoreFailed` if the server does not answer."""
    with translate_errors():
        async with await open_connection(validate_conninfo(conninfo)) as connection:
            return await list_gaps_on(connection)


def _copy_check(lag: CopyLag) -> Check:
    state = "complete" if lag.is_filled else "being filled"
    behind = f", {lag.changes} changes behind for {lag.seconds:.0f} s" if lag.changes else ""
    return _check(
        f"graph of {lag.project} in {lag.store}",
        lag.is_filled and lag.seconds < copies.MAX_LAG_SECONDS,
        state + behind,
        "Let `lightwell worker` or `lightwell serve` run with LIGHTWELL_GRAPH_STORE set, and see that the graph store answers",
    )


def _check(name: str, ok: bool, detail: str, fix: str) -> Check:  # noqa: FBT001 - a verdict, not an option
    return Check(name=name, ok=ok, detail=detail, fix="" if ok else fix)
