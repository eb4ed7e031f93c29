"""Who owns a file or folder, and who else may write to it."""

import os
import stat
import sys

_OWNED_BY_OTHERS = "belongs to another user"
_WRITABLE_BY_OTHERS = "can be changed by other users"

if sys.platform == "win32":

    def reason_to_distrust(status: os.stat_result) -> str:
        """Return "": a stat result on Windows has no owner."""
        del status
        return ""

else:
    import grp
    import pwd

    def reason_to_distrust(status: os.stat_result) -> str:
        """Return why another user may have changed the file, such as "belongs to another user", or "".

        A group whose only member is this user, which many systems create for each user, counts as the user.
        """
        if status.st_uid != os.geteuid():
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
