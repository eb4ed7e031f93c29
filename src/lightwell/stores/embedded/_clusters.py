"""Makes the cluster of an embedded server, with the defaults that Lightwell needs."""

import sys
import tempfile
import time
from pathlib import Path

from lightwell.domain.errors import ServerFailed
from lightwell.logs import logger
from lightwell.stores.embedded import _places, _presence, _programs

# PostgreSQL's text functions take letters from LC_CTYPE; under plain C, dashes and curly quotes count as letters.
_CTYPES = ("C.UTF-8", "en_US.UTF-8", "UTF-8")
_INITDB = (
    "--username=lightwell",
    "--auth=trust",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--locale=C",
    "--no-instructions",
)
# Written into postgresql.conf once, so that an administrator can change them there.
_DEFAULTS = {
    "shared_buffers": "128MB",
    "max_connections": "100",
    "max_wal_size": "1GB",
    "wal_compression": "pglz",  # the wheel is built without lz4
    "synchronous_commit": "on",
    "jit": "off",
    "random_page_cost": "1.1",
    "log_min_messages": "warning",
    "log_line_prefix": "%m [%p] %q%u@%d ",
}

_log = logger(__name__)


def provide_cluster(directory: Path) -> Path:
    """Return the data directory's cluster, made or moved to where the server's account may go; raise `ServerFailed`.

    The caller holds the data directory's lock.
    """
    _places.claim_cluster(directory)
    cluster = _places.find_cluster(directory)
    account = _programs.server_account(cluster)
    if not _is_cluster(cluster):
        _initialise(directory, account)
    elif not _presence.is_running(cluster):
        _places.move_cluster(directory, account)
    return _places.find_cluster(directory)


def _is_cluster(cluster: Path) -> bool:
    if not cluster.exists() or not any(cluster.iterdir()):
        return False
    marker = cluster / "PG_VERSION"
    if not marker.exists():
        raise ServerFailed(
            f"{cluster} is not a PostgreSQL data directory and not empty: "
            f"move it away, or set LIGHTWELL_DATA to another directory"
        )
    stored, ours = marker.read_text().strip(), _programs.version().partition(".")[0]
    if stored != ours:
        raise ServerFailed(
            f"{cluster} was written by PostgreSQL {stored}, and this Lightwell contains {ours}. Either run "
            f"a PostgreSQL {stored} on it and set LIGHTWELL_DATABASE_URL to it; or dump it with "
            f"PostgreSQL {stored}, move the directory away and restore the dump into a new one; "
            f"or remove the directory and ingest again"
        )
    return True


def _initialise(directory: Path, account: _programs.Account | None) -> None:
    folder = _places.make_folder(directory, account)
    # A new temporary folder each time: the initdb of a killed process may still be writing to the previous one.
    fresh = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=folder))
    _programs.give_ownership(fresh, account)
    started = time.monotonic()
    _initdb(fresh, account)
    cluster = fresh.rename(folder / "postgres")
    _places.link_cluster(directory, folder)
    _log.info(
        "server.initialised", cluster=str(cluster), seconds=round(time.monotonic() - started, 3)
    )


def _initdb(fresh: Path, account: _programs.Account | None) -> None:
    # One syncfs instead of a thousand fsyncs is as safe and takes a third of the time.
    sync = ["--sync-method=syncfs"] if sys.platform == "linux" else []
    defaults = [f"--set={name}={value}" for name, value in _DEFAULTS.items()]
    fixed = ["initdb", f"--pgdata={fresh}", *_INITDB, *sync, *defaults]
    for ctype in _CTYPES:
        done = _programs.run([*fixed, f"--lc-ctype={ctype}"], account)
        if b"invalid locale name" not in done.stdout:
            break
    else:
        _log.warning("server.no_utf8_locale", effect="full-text search treats dashes as letters")
        done = _programs.run([*fixed, "--lc-ctype=C"], account)
    if done.returncode:
        raise ServerFailed(
            f"PostgreSQL's initdb failed in {fresh}:\n{_programs.last_words(done.stdout)}"
        )
