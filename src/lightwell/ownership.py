"""Who owns a file or folder, who else may write to it, how to open what others may have made, and how to write what nobody else may read."""

import errno
import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

_READ_ONLY = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
)
_OWNED_BY_OTHERS = "belongs to another user"
_WRITABLE_BY_OTHERS = "can be changed by other users"


def open_regular_file(path: Path) -> BinaryIO:
    """Open a regular file for reading; raise `OSError` for a link, folder, pipe or device, without blocking."""
    number = os.open(path, _READ_ONLY)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EISDIR, "it is not a regular file", str(path))
    return os.fdopen(number, "rb")


def replace_for_owner(path: Path, text: str) -> None:
    """Write a file that only its owner may read in place of one; whoever reads it sees the old or the new one."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")  # mode 600
    new = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


if sys.platform == "win32":

    def reason_to_distrust(status: os.stat_result, *, trusts_root: bool = False) -> str:
        """Return "": a stat result on Windows has no owner."""
        del status, trusts_root
        return ""

    def open_for_owner(path: Path, flags: int) -> int:
        """Open a file, or make it for this user alone."""
        return os.open(path, flags | os.O_CREAT, 0o600)

else:
    import grp
    import pwd

    def reason_to_distrust(status: os.stat_result, *, trusts_root: bool = False) -> str:
        """Return why another user may have changed the file, such as "belongs to another user", or "".

        With `trusts_root` root is no other user: who installs programs for all. A group whose only member is this user, which many systems create for each user, counts as the user.
        """
        if status.st_uid != os.geteuid() and not (trusts_root and status.st_uid == 0):
            return _OWNED_BY_OTHERS
        if status.st_mode & stat.S_IWOTH:
            return _WRITABLE_BY_OTHERS
        if status.st_mode & stat.S_IWGRP and not _is_private_group(status.st_gid):
            return _WRITABLE_BY_OTHERS
        return ""

    def _is_private_group(group: int) -> bool:
        if group == 0:
            return os.geteuid() == 0
        try:
            user, entry = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
        except KeyError:
            return False
        return entry.gr_name == user and set(entry.gr_mem) <= {user}

    def open_for_owner(path: Path, flags: int) -> int:
        """Open a file without following links, or make it with mode 0600 for the owner of its folder; raise `OSError`.

        So what root makes in a user's folder stays of use to that user, who on the other side cannot point root at a file elsewhere:
        the folder itself may be a link only where root, or this user, owns the folder that has it.
        """
        flags |= os.O_NOFOLLOW | os.O_CLOEXEC
        may_lead_elsewhere = path.parent.parent.stat().st_uid in (0, os.geteuid())
        folder = os.open(
            path.parent, os.O_RDONLY | os.O_DIRECTORY | (0 if may_lead_elsewhere else os.O_NOFOLLOW)
        )
        try:
            with suppress(FileExistsError):
                file = os.open(path.name, flags | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
                owner = os.fstat(folder)
                if os.geteuid() == 0 and owner.st_uid != 0:
                    with suppress(OSError):  # the root of a container may know no such user
                        os.fchown(file, owner.st_uid, owner.st_gid)
                return file
            return os.open(path.name, flags, dir_fd=folder)
        except OSError as error:
            error.filename = str(path)
            raise
        finally:
            os.close(folder)
