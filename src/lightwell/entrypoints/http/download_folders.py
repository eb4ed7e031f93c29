"""Temporary folders of downloads: below one folder of this process, which another process removes if this one was killed."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

_PREFIX = "lightwell-downloads-"
_LOCKED_AFTER_SECONDS = 60
"""A folder that is newer may belong to a process that has not locked it yet."""


@dataclass(frozen=True, slots=True)
class DownloadFolders:
    """Makes the folders; only this account can read them."""

    root: Path

    def make(self) -> TemporaryDirectory[str]:
        """Return a new folder, which its user removes."""
        return TemporaryDirectory(dir=self.root)


@contextmanager
def open_download_folders() -> Generator[DownloadFolders]:
    """Yield this process's folders and remove them at the end; remove first those that killed processes have left.

    A process holds a lock on its folder, which ends with the process however that ends.
    """
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        _remove_if_left(left)
    with (
        TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as root,
        _locked(Path(root)),
    ):
        yield DownloadFolders(Path(root))


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    """Hold the folder's lock; raise `OSError` where another process has it, or where it is no folder of ours."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(opened).st_uid != os.geteuid():
            raise PermissionError(f"{folder} belongs to somebody else")
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(opened)


def _remove_if_left(folder: Path) -> None:
    with suppress(OSError):  # of another account, in use, or gone meanwhile
        if time.time() - folder.lstat().st_mtime > _LOCKED_AFTER_SECONDS:
            with _locked(folder):
                shutil.rmtree(folder)
