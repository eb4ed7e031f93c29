"""The embedded PostgreSQL: one server per data directory, shared by all processes that use it.

Each process holds a shared lock on `users.lock`, which ends with the process. Whoever leaves and can lock it
exclusively was the last, and stops the server. `start.lock` serialises starting and stopping.
"""

import math
import os
import shlex
import shutil
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import psycopg

from lightwell.domain.errors import ServerFailed
from lightwell.logs import logger
from lightwell.ownership import open_for_owner

if sys.platform == "win32":
    raise ServerFailed(
        "The embedded PostgreSQL needs Linux or macOS; "
        "on Windows, set LIGHTWELL_DATABASE_URL to a PostgreSQL server"
    )

import fcntl
import pwd

from lightwell.stores.embedded import _clusters, _places, _presence, _programs

_LOG_BYTES = 10_000_000
_ORPHANS_MESSAGE = "pre-existing shared memory block"

_NO_DATABASE_MESSAGE = 'database "lightwell" does not exist'

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """The state of a data directory's server; `cluster_version` is "" before the first start."""

    binaries_version: str
    """As in `18.6`."""
    cluster_version: str
    """The major version, as in `18`."""
    pid: int | None
    """None when it does not run."""
    cluster: Path
    log: Path
    socket: Path
    size: int
    """Bytes of the cluster on the disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Home:
    directory: Path
    cluster: Path
    log: Path


@contextmanager
def run_server(directory: Path, *, timeout: float = 60.0) -> Generator[str]:
    """Yield the URI of the server in `directory`; start it if needed, and stop it when the last user leaves.

    Calls may nest, within a process and across processes. `timeout` is in seconds, for the start. Raises
    `ServerFailed`. It blocks, so async code must run it in a thread.
    """
    home = _home(directory)
    with _explain_failures(home):
        _programs.make_folders(home.log.parent)
        _check_owner(home.directory)
        users = _open(home.directory / "users.lock")
    owner, used = os.getpid(), None
    try:
        with _explain_failures(home), _lock_exclusively(home):
            fcntl.flock(users, fcntl.LOCK_SH)
            used = replace(home, cluster=_clusters.provide_cluster(home.directory))
            uri = _ensure_running(used, timeout)
        yield uri
    finally:
        # A forked child that unwinds must not stop its parent's server, nor a copy of a store that of the original.
        if used and os.getpid() == owner:
            _stop_if_last(used, users, timeout)
        os.close(users)


def is_running(directory: Path) -> bool:
    """Return whether the server in `directory` runs; raise `ServerFailed` when the directory cannot be read."""
    home = _home(directory)
    with _explain_failures(home):
        return _presence.is_running(home.cluster)


def start_again(directory: Path, *, timeout: float = 60.0) -> None:
    """Start the server again if it died, such as by a signal; only for a caller within `run_server`.

    `timeout` is in seconds. Raises `ServerFailed`. It blocks.
    """
    home = _home(directory)
    with _explain_failures(home), _lock_exclusively(home):
        _ensure_running(home, timeout)


def is_initialised(directory: Path) -> bool:
    """Return whether `directory` holds a cluster; raise ServerFailed when it cannot be read."""
    home = _home(directory)
    with _explain_failures(home):
        return (home.cluster / "PG_VERSION").exists()


def status(directory: Path) -> ServerStatus:
    """Return the state of the server in `directory`, without starting or changing anything.

    Raises `ServerFailed` if the directory cannot be read or the binaries are missing.
    """
    home = _home(directory)
    with _explain_failures(home):
        marker = home.cluster / "PG_VERSION"
        return ServerStatus(
            binaries_version=_programs.version(),
            cluster_version=marker.read_text().strip() if marker.exists() else "",
            pid=_presence.server_pid(home.cluster),
            cluster=home.cluster,
            log=home.log,
            socket=_presence.socket_folder(home.cluster) / _presence.SOCKET,
            size=_size(home.cluster),
        )


def list_left_folders() -> list[str]:
    """Return what `lightwell doctor` says of data that no data directory leads to any more."""
    return [
        f"{folder}, {_size(folder) / 1e6:,.0f} MB, of {owner}"
        for folder, owner in _places.list_left_folders()
    ]


def _home(directory: Path) -> _Home:
    whole = directory.expanduser().resolve()
    cluster = _places.find_cluster(whole)
    return _Home(directory=whole, cluster=cluster, log=whole / "logs" / "postgres.log")


@contextmanager
def _explain_failures(home: _Home) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise ServerFailed(
            f"{error.filename or home.directory}: {error.strerror or error}. The embedded PostgreSQL "
            f"needs a local data directory that this user may write, with room on the disk"
        ) from error


def _check_owner(directory: Path) -> None:
    """Raise `ServerFailed` if another user owns the data directory; for root, log a warning instead."""
    owner = directory.stat().st_uid
    if owner == os.geteuid():
        return
    if os.geteuid() != 0:
        raise ServerFailed(
            f"{directory} belongs to another user, who could read and change the data in it:"
            " set LIGHTWELL_DATA to a data directory of your own"
        )
    _log.warning("server.directory_of_another_user", directory=str(directory), user=owner)


def _open(path: Path) -> int:
    return open_for_owner(path, os.O_RDWR)


@contextmanager
def _lock_exclusively(home: _Home) -> Generator[None]:
    lock = _open(home.directory / "start.lock")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _stop_if_last(home: _Home, users: int, timeout: float) -> None:
    try:
        # Where the data directory was removed, nobody can start the server any more.
        with _lock_exclusively(home) if home.directory.exists() else nullcontext():
            if _is_last(users):
                _stop(home, timeout)
    except OSError as error:
        _log.warning("server.left_running", directory=str(home.directory), reason=str(error))


def _is_last(users: int) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


# Starting and stopping; the caller holds start.lock.


def _ensure_running(home: _Home, timeout: float) -> str:
    deadline = time.monotonic() + timeout
    account = _programs.server_account(home.cluster)
    while True:
        if not _presence.is_running(home.cluster):
            _start(home, account, deadline)
        folder = _presence.socket_folder(home.cluster)
        uri = _uri(folder, _presence.server_user(home.cluster))
        refusal = _refusal(uri)
        if not refusal:
            return uri
        if time.monotonic() > deadline:
            raise ServerFailed(
                f"PostgreSQL runs on {home.cluster} but takes no connection after {timeout:g} s: "
                f"{refusal.strip()}; {home.log} says:\n{_log_since(home.log, 0)}"
            )
        time.sleep(0.02)


def _uri(folder: Path, user: int) -> str:
    """Return the URI; libpq accepts only a server that runs as this user."""
    host = quote(os.fspath(folder), safe="")
    uri = f"postgresql://lightwell@/lightwell?host={host}&port={_presence.PORT}"
    with suppress(KeyError):  # libpq compares user names, which a container may not know
        uri += f"&requirepeer={quote(pwd.getpwuid(user).pw_name, safe='')}"
    return uri


def _refusal(uri: str) -> str:
    """Return why the server refuses connections, "" if it accepts them and the database exists."""
    try:
        psycopg.connect(uri, connect_timeout=5).close()
    except psycopg.OperationalError as error:
        if _NO_DATABASE_MESSAGE not in str(error):
            return str(error)
        # A new database would take seven megabytes; renaming the unused one of initdb takes none.
        try:
            with psycopg.connect(uri, dbname="template1", autocommit=True) as connection:
                connection.execute("ALTER DATABASE postgres RENAME TO lightwell")
        except psycopg.Error as failure:
            raise ServerFailed(
                f"The database lightwell could not be created: {failure}"
            ) from failure
    return ""


def _start(home: _Home, account: _programs.Account | None, deadline: float) -> None:
    for unfinished in home.cluster.parent.glob("postgres.new-*"):
        shutil.rmtree(unfinished, ignore_errors=True)
    (home.cluster / "postmaster.pid").unlink(missing_ok=True)
    _programs.give_ownership(home.cluster, account)
    folder = _presence.make_socket_folder(home.cluster, account)
    started = time.monotonic()
    before = _rotate(home.log)
    while not _starts(home, folder, account, deadline):
        log_text = _log_since(home.log, before)
        # Child processes of a killed server may still be ending; retry until they have.
        if _ORPHANS_MESSAGE not in log_text or time.monotonic() > deadline:
            raise ServerFailed(
                f"PostgreSQL did not start on {home.cluster}; {home.log} says:\n{log_text}"
            )
        time.sleep(0.1)
    _log.info("server.started", cluster=str(home.cluster), seconds=_since(started))


def _starts(home: _Home, folder: Path, account: _programs.Account | None, deadline: float) -> bool:
    left = max(1, math.ceil(deadline - time.monotonic()))
    quoted = '"' + str(folder).replace('"', '""') + '"'
    required = {
        "listen_addresses": "",
        "port": str(_presence.PORT),
        "unix_socket_directories": quoted,
        "unix_socket_permissions": "0700",  # root can connect regardless
        "logging_collector": "off",
        "wal_recycle": "off",  # kept for the next time, the log of an ingestion outweighs a small store
    }
    settings = [part for pair in required.items() for part in ("-c", "=".join(pair))]
    options = shlex.join(["-D", str(home.cluster), *settings])
    arguments = ["start", "--silent", "--wait", f"--timeout={left}", f"--options={options}"]
    done = _programs.run(["pg_ctl", *arguments], account, cluster=home.cluster, log=home.log)
    return done.returncode == 0 or _presence.is_running(home.cluster)


def _stop(home: _Home, timeout: float) -> None:
    if _presence.server_pid(home.cluster) is None:
        if _presence.is_running(home.cluster):
            _log.warning("server.left_running", directory=str(home.directory), reason="pid unknown")
        return
    account = _programs.server_account(home.cluster)
    started = time.monotonic()
    for mode in ("fast", "immediate"):
        arguments = ["stop", f"--mode={mode}", "--wait", f"--timeout={math.ceil(timeout)}"]
        done = _programs.run(["pg_ctl", *arguments], account, cluster=home.cluster)
        if done.returncode == 0:
            _log.info("server.stopped", mode=mode, seconds=_since(started))
            return
        _log.warning("server.not_stopped", mode=mode, reason=_programs.last_words(done.stdout))


def _rotate(log: Path) -> int:
    """Rotate a log that is too large; return the current size of the log in bytes."""
    size = log.stat().st_size if log.exists() else 0
    if size <= _LOG_BYTES:
        return size
    log.replace(log.with_name(f"{log.name}.1"))
    return 0


def _log_since(log: Path, offset: int) -> str:
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(offset, log.stat().st_size - _programs.TAIL_BYTES))
        return _programs.last_words(file.read())


def _size(cluster: Path) -> int:
    size = 0
    for folder, _, names in os.walk(cluster):
        for name in names:
            with suppress(FileNotFoundError):
                size += (Path(folder) / name).lstat().st_size
    return size


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)
