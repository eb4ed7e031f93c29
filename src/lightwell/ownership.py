"""Who owns a file or folder, and who else may write to it."""

import os
import stat
import sys

_OTHERS_OWN = "belongs to another user"
_OTHERS_WRITE = "can be changed by other users"

if sys.platform == "win32":

    def reason_to_distrust(found: os.stat_result) -> str:
        """Return "": Windows has no owner in a stat result."""
        del found
        return ""

else:
    import grp
    import pwd

    def reason_to_distrust(found: os.stat_result) -> str:
        """Return, as in "belongs to another user", why others than this process's user may have changed it, "" where they cannot.

        A group that holds this user alone, which many systems make for each user, counts as the user.
        """
        if found.st_uid != os.geteuid():
            return _OTHERS_OWN
        if found.st_mode & stat.S_IWOTH:
            return _OTHERS_WRITE
        if found.st_mode & stat.S_IWGRP and not _is_private_group(found.st_gid):
            return _OTHERS_WRITE
        return ""

    def _is_private_group(group: int) -> bool:
        if group == 0:
            return os.geteuid() == 0
        try:
            user, entry = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
        except KeyError:
            return False
        return entry.gr_name == user and set(entry.gr_mem) <= {user}
