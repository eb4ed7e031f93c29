"""Is the database well?"""

from psycopg import AsyncConnection

from lightwell.domain.health import Check
from lightwell.records.database import OLDEST, checked, pending_migrations
from lightwell.records.errors import explained_errors

_LETTERS = "SELECT datctype FROM pg_database WHERE datname = current_database()"
_EXTENSION = "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"


async def examine_database(conninfo: str) -> list[Check]:
    """Return what was found of version, pgvector, letters and migrations; raise `StoreFailed` without an answer."""
    with explained_errors():
        async with await AsyncConnection.connect(checked(conninfo), autocommit=True) as connection:
            version = connection.info.server_version
            vector = await (await connection.execute(_EXTENSION)).fetchone()
            letters = await (await connection.execute(_LETTERS)).fetchone()
    pending = await pending_migrations(conninfo)
    ctype = "" if letters is None else str(letters[0])
    return [
        _check(
            "PostgreSQL",
            version >= OLDEST,
            f"version {version // 10000}",
            "Use PostgreSQL 16 or newer",
        ),
        _check(
            "pgvector",
            vector is not None,
            "missing" if vector is None else f"version {vector[0]}",
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
            detail=f"{len(pending)} migrations come at the next start" if pending else "up to date",
            fix="",
        ),
    ]


def _check(name: str, ok: bool, detail: str, mend: str) -> Check:  # noqa: FBT001 - a verdict, not an option
    return Check(name=name, ok=ok, detail=detail, fix="" if ok else mend)
