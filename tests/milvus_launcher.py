"""Runs the real Milvus of PyPI `milvus` while somebody uses it: python milvus_launcher.py FOLDER PORT.

It runs in an environment of its own, which has that package. FOLDER/users holds one file per process that uses the server, named
by its process id; without a living user the server ends. A server that is killed is started again, as a supervisor would.
A server whose launcher was killed still has the ports: the next launcher ends it.
"""

# The package is in another environment than the types of this project.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

_PATIENCE_SECONDS = 20.0


def has_users(folder: Path) -> bool:
    """Return whether a living process uses the server; forget the dead ones."""
    for user in folder.iterdir():
        if Path(f"/proc/{user.name}").exists():
            return True
        user.unlink(missing_ok=True)
    return False


def bind(port: int) -> socket.socket | None:
    """Return a socket that listens on a port which no process has, else None."""
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
        found.listen()
    except OSError:
        return None
    return found


def end_orphan(folder: Path) -> None:
    """Kill the server of a launcher that was killed itself, and wait until it is gone."""
    try:
        server = int((folder / "server.pid").read_text())
        while b"milvus\0run\0standalone" in Path(f"/proc/{server}/cmdline").read_bytes():
            os.kill(server, signal.SIGKILL)
            time.sleep(0.1)
    except (OSError, ValueError):  # there was none, or it is gone
        return


def supervise(folder: Path, port: int) -> None:
    """Start the server again and again, each time in a fresh process, until nobody has used it for a while."""
    (folder / "launcher.pid").write_text(str(os.getpid()))
    ended = False
    while not ended:
        ended = (
            subprocess.run([sys.executable, __file__, str(folder), str(port), "once"]).returncode
            == 0
        )
        (folder / "ready").unlink(missing_ok=True)
        time.sleep(0.3)


def run_once(folder: Path, port: int) -> int:
    """Run the server until it ends (1) or nobody uses it any more (0)."""
    from milvus import default_server  # noqa: PLC0415 - only the process that runs it

    end_orphan(folder)
    default_server.set_base_dir(str(folder / "data"))
    default_server.config.update(
        proxy_port=port
    )  # `set` would only begin the search for a port there
    # The package's own test of a port fails after a kill, while old connections still fade; it would take another one.
    default_server.config.try_bind_port = bind
    default_server.start()
    (folder / "server.pid").write_text(str(default_server.server_proc.pid))
    (folder / "ready").touch()
    used_at = time.monotonic()
    while default_server.server_proc.poll() is None:
        if has_users(folder / "users"):
            used_at = time.monotonic()
        elif time.monotonic() - used_at >= _PATIENCE_SECONDS:
            default_server.stop()
            return 0
        time.sleep(0.3)
    return 1


if __name__ == "__main__":
    if sys.argv[3:]:
        sys.exit(run_once(Path(sys.argv[1]), int(sys.argv[2])))
    supervise(Path(sys.argv[1]), int(sys.argv[2]))
