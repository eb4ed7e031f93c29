"""Is the server of a cluster there, and through which socket is it reached?"""

import hashlib
import os
import re
import socket
import stat
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from lightwell.domain.errors import ServerFailed
from lightwell.stores.embedded import _programs

PORT = 5432
SOCKET = f".s.PGSQL.{PORT}"
_PID = re.compile("[0-9]{1,10}")
_SOCKET_BYTES = 103  # macOS; Linux would take 107. libpq splits a host at its commas, too


def _pid_lines(cluster: Path) -> list[str]:
    try:
        return os.fsdecode((cluster / "postmaster.pid").read_bytes()).splitlines()
    except FileNotFoundError:
        return []


def postmaster(cluster: Path) -> int | None:
    """Return the pid of the cluster's server; a pid that went to another program does not count."""
    lines = _pid_lines(cluster)
    if not lines or not _PID.fullmatch(lines[0].strip()):
        return None
    pid = int(lines[0])
    return pid if f"/postgres -D {cluster} -c " in _command_line(pid) else None


def _command_line(pid: int) -> str:
    if not Path("/proc/self").exists():
        shown = subprocess.run(  # noqa: S603  a number and constants
            ["/bin/ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, check=False
        )
        return os.fsdecode(shown.stdout)
    try:
        return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" "))
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_up(cluster: Path) -> bool:
    """Tell whether its server runs, also where the pid means nothing: in another container.

    Raises `ServerFailed` where somebody else could be listening in its place: the folder of the socket is theirs.
    """
    if postmaster(cluster) is not None:
        return True
    folder = socket_folder(cluster)
    if folder != cluster and os.path.lexists(folder):
        _refuse_foreign(folder, _servers(cluster))
    return _answers(folder / SOCKET)


def server_user(cluster: Path) -> int:
    """Return the user id that the cluster's server runs as: its owner's, as PostgreSQL itself demands."""
    return cluster.stat().st_uid


def _servers(cluster: Path) -> set[int]:
    """Return the user ids that may have made the folder of the socket: this process's, and for root the server's."""
    ours = {os.geteuid()}
    if os.geteuid() == 0 and cluster.exists():
        ours.add(server_user(cluster))
    return ours


def _refuse_foreign(folder: Path, ours: set[int]) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in ours or found.st_mode & 0o022:
        raise ServerFailed(
            f"{folder}, meant for the server's socket, belongs to someone else: remove it"
        )


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, suppress(OSError):
        probe.settimeout(5)
        probe.connect(os.fspath(path))
        return True
    return False


def socket_folder(cluster: Path) -> Path:
    """Return the folder that a running server names, else the one it would get."""
    lines = _pid_lines(cluster)
    if len(lines) > 4 and lines[4].startswith("/"):
        return Path(lines[4])
    name = "lightwell-" + hashlib.sha256(os.fsencode(cluster)).hexdigest()[:16]
    for folder in (cluster, Path(tempfile.gettempdir()).resolve() / name):
        if len(os.fsencode(folder / SOCKET)) <= _SOCKET_BYTES and "," not in str(folder):
            return folder
    return Path("/tmp") / name  # noqa: S108  its owner is checked where it is made


def make_socket_folder(cluster: Path, account: _programs.Account | None) -> Path:
    """Return the folder for the socket of a server that is to start, clear of what a dead one left."""
    folder = socket_folder(cluster)
    if folder != cluster:
        _make_private(folder, account)
    for left in (folder / SOCKET, folder / f"{SOCKET}.lock"):
        left.unlink(missing_ok=True)
    return folder


def _make_private(folder: Path, account: _programs.Account | None) -> None:
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    _refuse_foreign(folder, {os.geteuid(), account.user} if account else {os.geteuid()})
    folder.chmod(0o700)
    if account:
        os.chown(folder, account.user, account.group)
        _programs.check_passage(folder, account)
