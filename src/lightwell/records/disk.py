"""Detection of a full disk under the embedded database."""

import shutil
from pathlib import Path

_MIN_FREE = 32_000_000
"""Bytes: two files of PostgreSQL's write-ahead log, without which it stops."""
_NO_SPACE = b"No space left on device"
_MAX_READ = 100_000


def log_size(directory: Path) -> int:
    """Return the size in bytes of the server's log in this data directory."""
    log = _log(directory)
    return log.stat().st_size if log.exists() else 0


def full_disk_message(directory: Path, logged: int) -> str:
    """Return a message if the disk of this data directory is full, else "".

    The disk counts as full when hardly any space is free, or when the server's log reports it after its first
    `logged` bytes: a server that stopped may have freed space again.
    """
    folder = (directory.expanduser() / "postgres").resolve()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free >= _MIN_FREE and _NO_SPACE not in _logged_since(directory, logged):
        return ""
    return (
        f"The disk is full: {free / 1e6:,.0f} MB are free for {folder}. Free some space, or move the data directory"
        " and set LIGHTWELL_DATA to its new path; then run the command again. Finished work is kept"
    )


def _log(directory: Path) -> Path:
    return directory.expanduser().resolve() / "logs" / "postgres.log"


def _logged_since(directory: Path, logged: int) -> bytes:
    end = log_size(directory)
    if not end:
        return b""
    start = logged if logged <= end else 0  # a shorter log has been rotated
    with _log(directory).open("rb") as file:
        file.seek(max(start, end - _MAX_READ))
        return file.read()
