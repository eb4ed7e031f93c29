"""Whether the server of a cluster runs, and the socket that it listens on."""

import hashlib
import os
import socket
import stat
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from lightwell.domain.errors import ServerFailed
from lightwell.stores.embedded import _programs
from lightwell.text.regex import regex

PORT = 5432
SOCKET = f".s.PGSQL.{PORT}"
_PID = regex("[0-9]{1,10}")
_SOCKET_BYTES = 103  # macOS; Linux would take 107. libpq splits a host at its commas, too


def _pid_lines(cluster: Path) -> list[str]:
    try:
        return os.fsdecode((cluster / "postmaster.pid").read_bytes()).splitlines()
    except FileNotFoundError:
        return []


def server_pid(cluster: Path) -> int | None:
    """Return the pid of the cluster's server, None if it does not run or the pid belongs to another program now."""
    lines = _pid_lines(cluster)
    if not lines or not _PID.fullmatch(lines[0].strip()):
        return None
    pid = int(lines[0])
    return pid if f"/postgres -D {cluster} -c " in _command_line(pid) else None


def _command_line(pid: int) -> str:
    if not Path("/proc/self").exists():
        process = subprocess.run(  # noqa: S603  a number and constants
            ["/bin/ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, check=False
        )
        return os.fsdecode(process.stdout)
    try:
        return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" "))
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_running(cluster: Path) -> bool:
    """Return whether the server runs, also where its pid is meaningless: in another container.

    Raises `ServerFailed` if another user owns the socket's folder and so could listen in the server's place.
    """
    if server_pid(cluster) is not None:
        return True
    folder = socket_folder(cluster)
    if folder != cluster and os.path.lexists(folder):
        # This process's user, and for root the server's, may own the folder.
        allowed = {os.geteuid()}
        if os.geteuid() == 0 and cluster.exists():
            allowed.add(server_user(cluster))
        _refuse_foreign(folder, allowed)
    return _accepts_connections(folder / SOCKET)


def server_user(cluster: Path) -> int:
    """Return the id of the user that the server runs as: the cluster's owner, because PostgreSQL requires that."""
    return cluster.stat().st_uid


def _refuse_foreign(folder: Path, allowed: set[int]) -> None:
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in allowed or status.st_mode & 0o022:
        raise ServerFailed(
            f"{folder}, the folder for the server's socket, belongs to another user: remove it"
        )


def _accepts_connections(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, suppress(OSError):
        probe.settimeout(5)
        probe.connect(os.fspath(path))
        return True
    return False


def socket_folder(cluster: Path) -> Path:
    """Return the folder that a running server names, else the one that it would use."""
    lines = _pid_lines(cluster)
    if len(lines) > 4 and lines[4].startswith("/"):
        return Path(lines[4])
    name = "lightwell-" + hashlib.sha256(os.fsencode(cluster)).hexdigest()[:16]
    for folder in (cluster, Path(tempfile.gettempdir()).resolve() / name):
        if len(os.fsencode(folder / SOCKET)) <= _SOCKET_BYTES and "," not in str(folder):
            return folder
    return Path("/tmp") / name  # noqa: S108  its owner is checked where it is made


def make_socket_folder(cluster: Path, account: _programs.Account | None) -> Path:
    """Return the folder for a new server's socket, without the files of a server that died."""
    folder = socket_folder(cluster)
    if folder != cluster:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        _refuse_foreign(folder, {os.geteuid(), account.user} if account else {os.geteuid()})
        folder.chmod(0o700)
        if account:
            os.chown(folder, account.user, account.group)
            _programs.check_traversal(folder, account)
    for left in (folder / SOCKET, folder / f"{SOCKET}.lock"):
        left.unlink(missing_ok=True)
    return folder
