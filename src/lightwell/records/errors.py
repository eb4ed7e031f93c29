"""Translation of PostgreSQL's errors into messages that say how to fix them; errors in our own SQL are raised unchanged."""

from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from lightwell.domain.errors import Invalid, StoreConflict, StoreFailed
from lightwell.domain.texts import require_text

_NUL = "NUL (0x00)"
"""psycopg's name for a NUL character in its error message."""

_CONFLICTS = (errors.DeadlockDetected, errors.SerializationFailure)

_MESSAGES: tuple[tuple[tuple[type[psycopg.Error], ...], str], ...] = (
    (
        (errors.DiskFull,),
        "PostgreSQL's disk is full: free some space and try again; finished work is kept",
    ),
    (
        (errors.OutOfMemory, errors.InsufficientResources),
        "PostgreSQL has too little memory: give its machine or container more, or run fewer workers",
    ),
    (
        (errors.TooManyConnections,),
        "PostgreSQL accepts no more connections: run fewer workers, or raise its max_connections",
    ),
    (
        (errors.ReadOnlySqlTransaction,),
        "This PostgreSQL server is read only: set LIGHTWELL_DATABASE_URL to the primary server, not a standby",
    ),
    (
        (errors.InsufficientPrivilege,),
        "This PostgreSQL user may not do that: make it the owner of Lightwell's tables, or use their owner in"
        " LIGHTWELL_DATABASE_URL",
    ),
    (
        (errors.QueryCanceled, errors.IdleInTransactionSessionTimeout, errors.IdleSessionTimeout),
        "PostgreSQL cancelled a statement that took too long: raise statement_timeout or the idle timeouts for this user, or try"
        " again when the server is less busy",
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
"""Errors that one document or request causes; other documents and requests are not affected."""


@contextmanager
def translate_errors() -> Generator[None]:
    """Raise `StoreFailed` for what the server refuses, `Invalid` for a value that is not text or too large."""
    try:
        yield
    except UnicodeEncodeError as error:
        require_text(error.object, "The text")
        raise
    except psycopg.Error as error:
        if _NUL in str(error):
            require_text("\0", "The text")
        if isinstance(error, _TOO_LARGE):
            raise Invalid(
                f"The value is larger than PostgreSQL allows: shorten it ({_own_words(error)})"
            ) from error
        message = _explain(error)
        if message is None:
            raise
        failure = StoreConflict if isinstance(error, _CONFLICTS) else StoreFailed
        raise failure(f"{message} ({_own_words(error)})") from error


def _explain(error: psycopg.Error) -> str | None:
    for kinds, message in _MESSAGES:
        if isinstance(error, kinds):
            return message
    answered = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return "PostgreSQL did not answer" if answered else None


def _own_words(error: psycopg.Error) -> str:
    """Return the server's primary message only: its details may quote a row."""
    return error.diag.message_primary or str(error)
