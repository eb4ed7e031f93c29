"""Where a store's cluster lies: in its data directory, or where the account of root's server may go.

PostgreSQL refuses to run as root, so root's server runs as another account. Where that may not enter the data directory,
the cluster lies in a folder of its own in `/var/lib/lightwell/stores`, and the data directory has a link to it. So the
store moves with its data directory, and ends with it: nothing but the link leads to the cluster.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from lightwell.domain.errors import ServerFailed
from lightwell.logs import logger
from lightwell.stores.embedded import _programs

_CLUSTER = "postgres"
_REPLACED = "postgres.moved"
_OWNER = "data-directory"

_log = logger(__name__)


def find_cluster(directory: Path) -> Path:
    """Return the path of the data directory's cluster, also where there is none yet; raise `ServerFailed` for a lost one."""
    link = directory / _CLUSTER
    if not link.is_symlink():
        return link
    cluster = link.resolve()
    if not cluster.exists():
        raise ServerFailed(
            f"{link} leads to {cluster}, the data of this store, which is not there: put it back (is its disk mounted?),"
            f" or remove {link} and begin a new store"
        )
    return cluster


def make_folder(directory: Path, account: _programs.Account | None) -> Path:
    """Return the folder that a new cluster of the data directory belongs in; the caller holds the directory's lock."""
    closed = account and _programs.find_closed_folder(directory / _CLUSTER, account)
    if account is None or closed is None:
        return directory
    stores = _programs.make_system_folder("stores")
    for unfinished in stores.iterdir():  # its process was killed
        if _read_owner(unfinished) == directory and not (unfinished / _CLUSTER).exists():
            return unfinished
    folder = Path(tempfile.mkdtemp(prefix="store-", dir=stores))
    folder.chmod(0o711)
    (folder / _OWNER).write_bytes(os.fsencode(directory))
    _log.warning(
        "server.data_elsewhere",
        data=str(folder),
        store=str(directory),
        why=f"PostgreSQL refuses root, and its account {account.name} may not enter {closed}",
    )
    return folder


def link_cluster(directory: Path, folder: Path) -> None:
    """Let the data directory lead to the finished cluster in `folder`."""
    if folder == directory:
        return
    link = directory / _CLUSTER
    with suppress(FileNotFoundError):
        link.rmdir()
    link.symlink_to(folder / _CLUSTER)


def claim_cluster(directory: Path) -> None:
    """Finish a move that was interrupted, and note a data directory that was moved.

    Raises `ServerFailed` for a copy of another data directory, since two servers must not run on one cluster.
    """
    link, replaced = directory / _CLUSTER, directory / _REPLACED
    if not os.path.lexists(link) and replaced.exists():
        replaced.rename(link)
    folder = find_cluster(directory).parent
    if link.is_symlink():  # the move was finished: no copy stays of what may be erased since
        shutil.rmtree(replaced, ignore_errors=True)
    owner = _read_owner(folder)
    if owner is None or owner == directory or not link.is_symlink():
        return
    if _leads_to(owner, folder) and not owner.samefile(directory):
        raise ServerFailed(
            f"{directory} is a copy of {owner}, whose data are in {folder}: both would write to them. Copy a store"
            f" with `lightwell backup` and `lightwell restore`, and remove {link}"
        )
    (folder / _OWNER).write_bytes(os.fsencode(directory))


def move_cluster(directory: Path, account: _programs.Account | None) -> None:
    """Move a cluster that does not run to where the account may go, if it is in a folder that the account may not enter.

    An interruption loses nothing: the next call begins again, or `claim_cluster` finishes.
    """
    link, replaced = directory / _CLUSTER, directory / _REPLACED
    if link.is_symlink() or (folder := make_folder(directory, account)) == directory:
        return
    unfinished = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=folder))
    copy: Path = shutil.copytree(link, unfinished, symlinks=True, dirs_exist_ok=True)
    copy.rename(folder / _CLUSTER)
    os.sync()
    link.rename(replaced)
    link_cluster(directory, folder)
    shutil.rmtree(replaced, ignore_errors=True)


def list_left_folders() -> Iterator[tuple[Path, Path]]:
    """Yield each folder of a cluster that no data directory leads to any more, and that directory's path."""
    stores = _programs.SYSTEM / "stores"
    for folder in sorted(stores.iterdir()) if os.access(stores, os.R_OK) else ():
        owner = _read_owner(folder)
        if owner is not None and not _leads_to(owner, folder):
            yield folder, owner


def _read_owner(folder: Path) -> Path | None:
    try:
        return Path(os.fsdecode((folder / _OWNER).read_bytes()))
    except (FileNotFoundError, NotADirectoryError):
        return None


def _leads_to(directory: Path, folder: Path) -> bool:
    link = directory / _CLUSTER
    return link.is_symlink() and link.resolve() == folder.resolve() / _CLUSTER
