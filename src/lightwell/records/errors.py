"""What PostgreSQL refuses, told so that one can mend it; what our own SQL does wrong stays loud."""

from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from lightwell.domain.errors import Invalid, StoreConflict, StoreFailed
from lightwell.domain.texts import require_text

_NUL = "NUL (0x00)"
"""How psycopg names it when a text holds one."""

_CONFLICTS = (errors.DeadlockDetected, errors.SerializationFailure)

_TOLD: tuple[tuple[tuple[type[psycopg.Error], ...], str], ...] = (
    (
        (errors.DiskFull,),
        "PostgreSQL's disk is full: free some space and try again; finished work is kept",
    ),
    (
        (errors.OutOfMemory, errors.InsufficientResources),
        "PostgreSQL has too little memory: give its machine or container more, or let fewer workers run",
    ),
    (
        (errors.TooManyConnections,),
        "PostgreSQL takes no more connections: let fewer workers run, or raise its max_connections",
    ),
    (
        (errors.ReadOnlySqlTransaction,),
        "PostgreSQL is read only here: name the primary server, not a standby, in LIGHTWELL_DATABASE_URL",
    ),
    (
        (errors.InsufficientPrivilege,),
        "This PostgreSQL user may not do that: let it own Lightwell's tables, or name the user that does in"
        " LIGHTWELL_DATABASE_URL",
    ),
    (
        (errors.QueryCanceled, errors.IdleInTransactionSessionTimeout, errors.IdleSessionTimeout),
        "PostgreSQL cancelled a statement that took too long: raise its statement_timeout or idle timeouts for this user, or ask"
        " again when it has less to do",
    ),
    (
        (errors.DeadlockDetected, errors.SerializationFailure, errors.LockNotAvailable),
        "Another transaction wrote the same rows in PostgreSQL: try again",
    ),
    (
        (errors.DataCorrupted, errors.IndexCorrupted),
        "PostgreSQL reports damaged files: restore a backup, or run REINDEX for an index",
    ),
)

_TOO_LARGE = (
    errors.ProgramLimitExceeded,
    errors.StatementTooComplex,
    errors.TooManyColumns,
    errors.TooManyArguments,
)
"""What one document or one request does to the server; others of theirs go on."""


@contextmanager
def explained_errors() -> Generator[None]:
    """Raise `StoreFailed` for what the server or its machine refuses within, `Invalid` for what is no text or too large."""
    try:
        yield
    except UnicodeEncodeError as error:
        require_text(error.object, "What is to be kept or found")
        raise
    except psycopg.Error as error:
        if _NUL in str(error):
            require_text("\0", "What is to be kept or found")
        if isinstance(error, _TOO_LARGE):
            raise Invalid(
                f"The value is larger than PostgreSQL allows: shorten it ({_own_words(error)})"
            ) from error
        told = _explain(error)
        if told is None:
            raise
        failure = StoreConflict if isinstance(error, _CONFLICTS) else StoreFailed
        raise failure(f"{told} ({_own_words(error)})") from error


def _explain(error: psycopg.Error) -> str | None:
    for kinds, told in _TOLD:
        if isinstance(error, kinds):
            return told
    answered = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return "PostgreSQL did not answer" if answered else None


def _own_words(error: psycopg.Error) -> str:
    """Return the server's message alone: what it adds may hold a row."""
    return error.diag.message_primary or str(error)
