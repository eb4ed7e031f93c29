"""Backup and restore of a whole store, by PostgreSQL's own programs, which the embedded server brings along.

A password goes to them by their environment, never by an argument that others see in a list of processes.
"""

import os
import subprocess
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from lightwell.domain.errors import Invalid, StoreFailed
from lightwell.stores.embedded import _programs

_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
_PORTABLE = ("--no-owner", "--no-privileges")


def dump(conninfo: str, file: Path) -> None:
    """Write the database to a new file that only its owner may read; raise `Invalid` where it exists, else `StoreFailed`.

    It is one consistent state; the store may be in use meanwhile. It blocks.
    """
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise Invalid(f"{file} exists already; name another file") from None
    except OSError as error:
        raise Invalid(f"{file} cannot be written: {error.strerror}") from error
    whole = False
    try:
        with os.fdopen(descriptor, "wb") as output:
            arguments = ["--format=custom", "--no-unlogged-table-data", *_PORTABLE]
            _run("pg_dump", arguments, conninfo, output=output.fileno())
            os.fsync(output.fileno())
        whole = True
    finally:
        if not whole:
            file.unlink()


def list_migrations(file: Path) -> list[str]:
    """Return the migrations that the dumped store has; raise `Invalid` for a file that is no backup. It blocks."""
    if not file.is_file():
        raise Invalid(f"There is no file {file}")
    arguments = ["--data-only", "--table=migrations", "--file=-", str(file)]
    try:
        text = _run("pg_restore", arguments, None).decode()
    except StoreFailed as error:
        raise Invalid(f"{file} is not a backup of Lightwell: {error}") from error
    lines = text.partition("COPY public.migrations")[2].splitlines()[1:]
    names = [line.partition("\t")[0] for line in lines]
    if "\\." not in names:
        raise Invalid(f"{file} is not a backup of Lightwell: it has no list of migrations")
    return names[: names.index("\\.")]


def load(conninfo: str, file: Path) -> None:
    """Restore the dumped store into an empty database, whole or not at all; raise `StoreFailed`. It blocks."""
    arguments = ["--single-transaction", "--exit-on-error", "--no-comments", *_PORTABLE, str(file)]
    _run("pg_restore", arguments, conninfo)


def _run(
    program: str, arguments: list[str], conninfo: str | None, *, output: int = subprocess.PIPE
) -> bytes:
    """Run a program on the database and return what it writes; raise `StoreFailed` with its last words."""
    target, environment = _connection(conninfo)
    ended = subprocess.run(  # noqa: S603 - our own program with our own arguments
        [_programs.binary_path(program), *target, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.PIPE,
        env={**_ENVIRONMENT, **environment},
        check=False,
    )
    if ended.returncode:
        lines = ended.stderr.decode(errors="replace").strip().splitlines()
        raise StoreFailed(f"{program} failed: {lines[-1] if lines else 'it says no reason'}")
    return ended.stdout or b""


def _connection(conninfo: str | None) -> tuple[list[str], dict[str, str]]:
    """Return the arguments and the environment that name a database, none for None."""
    if conninfo is None:
        return [], {}
    parts = {name: str(value) for name, value in conninfo_to_dict(conninfo).items()}
    password = parts.pop("password", "")
    environment = {"PGPASSWORD": password} if password else {}
    return [f"--dbname={make_conninfo(**parts)}"], environment
