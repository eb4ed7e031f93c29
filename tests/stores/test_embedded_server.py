"""Real servers and real processes: who starts the embedded PostgreSQL, who stops it, what it survives."""

import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.queues import Queue
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo

from lightwell.domain.errors import ServerFailed
from lightwell.stores.embedded import _presence
from lightwell.stores.embedded.server import run_server, status
from lightwell.testing.server import temporary_folder
from tests.patience import PATIENCE

_USER = """
import sys
from pathlib import Path
from lightwell.stores.embedded.server import run_server

with run_server(Path(sys.argv[1])):
    print("here", file=sys.stderr, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def used() -> Generator[Path]:
    """A data directory that was started once, has a note in it, and rests between the tests."""
    with temporary_folder() as folder:
        directory = folder / "used"
        with run_server(directory) as uri, psycopg.connect(uri) as connection:
            connection.execute("CREATE TABLE notes AS SELECT 'kept' AS text")
        yield directory


@pytest.fixture
def place() -> Generator[Path]:
    """An empty folder; not pytest's, whose rights the next session of pytest takes back."""
    with temporary_folder() as folder:
        yield folder


@pytest.fixture
def data(used: Path, place: Path) -> Path:
    """A copy of `used`."""
    return Path(shutil.copytree(used, place / "data"))


@contextmanager
def user(directory: Path) -> Generator[subprocess.Popen[bytes]]:
    """Another process that uses the server from here on, until its standard input ends."""
    command = [sys.executable, "-c", _USER, str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line == b"here\n", line + process.stderr.read()
        try:
            yield process
        finally:
            process.kill()


WAL_FILE = 16 * 1024 * 1024
"""Bytes of one file of PostgreSQL's write-ahead log."""


def leave(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(PATIENCE) == 0


def pid_of(directory: Path) -> int:
    pid = status(directory).pid
    assert pid is not None
    return pid


def note(uri: str) -> str:
    with psycopg.connect(uri) as connection:
        found = connection.execute("SELECT text FROM notes").fetchone()
    assert found is not None
    return found[0]


def test_the_first_start_makes_the_cluster_and_the_second_finds_what_was_written(
    place: Path,
) -> None:
    directory = place / "new" / ".lightwell"
    assert status(directory).pid is None
    assert status(directory).cluster_version == ""
    with run_server(directory) as uri, psycopg.connect(uri) as connection:
        connection.execute("CREATE TABLE notes AS SELECT 'first' AS text")
        running = status(directory)
        assert running.pid is not None
        assert running.socket.is_socket()
        assert running.binaries_version.partition(".")[0] == running.cluster_version
        assert running.size > 10_000_000
    assert status(directory).pid is None
    with run_server(directory) as uri:
        assert note(uri) == "first"
    assert "ready to accept connections" in status(directory).log.read_text()


def test_a_stopped_server_keeps_no_more_of_its_log_than_it_needs(used: Path) -> None:
    with run_server(used) as uri, psycopg.connect(uri, autocommit=True) as connection:
        for _ in range(8):
            connection.execute(
                "SELECT pg_logical_emit_message(false, 'filler', repeat('x', 8000000))"
            )
            connection.execute("SELECT pg_switch_wal()")
        connection.execute("CHECKPOINT")
    kept = (status(used).cluster / "pg_wal").glob("0*")
    assert sum(file.stat().st_size for file in kept) <= 2 * WAL_FILE


def test_dashes_and_curly_quotes_are_no_letters_to_the_full_text_parser(used: Path) -> None:
    with run_server(used) as uri, psycopg.connect(uri) as connection:
        row = connection.execute("SELECT to_tsvector('simple', '“Über”—ÉCOLE。')::text").fetchone()
    assert row == ("'école':2 'über':1",)


def test_nobody_comes_in_over_the_network_or_as_another_user(used: Path) -> None:
    with run_server(used) as uri, psycopg.connect(uri) as connection:
        row = connection.execute("SELECT current_setting('listen_addresses')").fetchone()
        folder = status(used).socket.parent
        assert row == ("",)
        assert folder.stat().st_mode & 0o077 == 0


def test_uses_nest_and_run_side_by_side_within_a_process(used: Path) -> None:
    def reads(_: int) -> str:
        with run_server(used) as uri:
            return note(uri)

    with run_server(used) as outer:
        with run_server(used) as inner:
            assert inner == outer
        assert note(outer) == "kept"
        with ThreadPoolExecutor(4) as threads:
            assert set(threads.map(reads, range(8))) == {"kept"}
        assert note(outer) == "kept"
    assert status(used).pid is None


def test_an_error_of_the_user_passes_through_and_the_server_is_stopped(used: Path) -> None:
    with pytest.raises(FileNotFoundError, match="mine"), run_server(used):
        raise FileNotFoundError("mine")
    assert status(used).pid is None


def test_processes_share_one_server_and_the_last_one_out_stops_it(used: Path) -> None:
    with user(used) as first, user(used) as second:
        pid = pid_of(used)
        with run_server(used) as uri:
            assert note(uri) == "kept"
        leave(first)
        assert pid_of(used) == pid
        leave(second)
    assert status(used).pid is None


def test_a_killed_user_does_not_keep_the_server_running(used: Path) -> None:
    with run_server(used):
        with user(used) as other:
            other.kill()
            other.wait()
        pid_of(used)
    assert status(used).pid is None


def test_a_server_whose_every_user_was_killed_serves_and_ends_with_the_next(used: Path) -> None:
    with user(used) as only:
        only.kill()
        only.wait()
    pid = pid_of(used)
    with run_server(used) as uri:
        assert pid_of(used) == pid
        assert note(uri) == "kept"
    assert status(used).pid is None


def test_the_server_does_not_share_our_terminal(used: Path) -> None:
    with run_server(used):
        assert os.getsid(pid_of(used)) != os.getsid(0)


def test_a_killed_server_starts_again_with_all_that_was_committed(used: Path) -> None:
    with run_server(used) as uri:
        with psycopg.connect(uri) as connection:
            connection.execute("CREATE TABLE later AS SELECT 'committed'")
        killed = pid_of(used)
        os.kill(killed, signal.SIGKILL)
        with run_server(used) as again:
            assert again == uri
            assert pid_of(used) != killed
        with psycopg.connect(uri) as connection:
            assert connection.execute("TABLE later").fetchone() == ("committed",)
    assert status(used).pid is None


def test_a_start_waits_until_the_children_of_a_killed_server_are_gone(used: Path) -> None:
    with run_server(used) as uri, psycopg.connect(uri, autocommit=True) as connection:
        row = connection.execute("SELECT pg_backend_pid()").fetchone()
        assert row is not None
        os.kill(row[0], signal.SIGSTOP)
        os.kill(pid_of(used), signal.SIGKILL)
        with ThreadPoolExecutor(1) as threads:
            next_user = threads.submit(lambda: note_of(used))
            time.sleep(0.5)
            assert not next_user.done()
            os.kill(row[0], signal.SIGKILL)
            assert next_user.result(PATIENCE) == "kept"


def note_of(directory: Path) -> str:
    with run_server(directory) as uri:
        return note(uri)


@pytest.mark.parametrize(
    "left", ["", "{alive}\n", "{alive}\n/elsewhere\n17", "\0" * 80, "-5\n", "12ab"]
)
def test_what_a_crash_leaves_in_the_pid_file_does_not_hinder_a_start(used: Path, left: str) -> None:
    owner = (used / "postgres").stat().st_uid
    with subprocess.Popen(["sleep", "60"], user=owner) as bystander:
        for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):
            (used / "postgres" / name).write_text(left.format(alive=bystander.pid))
        assert status(used).pid is None
        with run_server(used) as uri:
            assert note(uri) == "kept"
        assert bystander.poll() is None
        bystander.kill()


def test_another_major_version_is_named_with_the_ways_out(place: Path) -> None:
    (place / "postgres").mkdir()
    (place / "postgres" / "PG_VERSION").write_text("14\n")
    ways_out = r"PostgreSQL 14, and .* contains 18.*LIGHTWELL_DATABASE_URL.*restore.*remove"
    with pytest.raises(ServerFailed, match=ways_out), run_server(place):
        pass
    assert status(place).cluster_version == "14"


def test_what_is_not_a_cluster_is_left_alone(place: Path) -> None:
    (place / "postgres").mkdir()
    (place / "postgres" / "thesis.txt").write_text("mine")
    with pytest.raises(ServerFailed, match="not a PostgreSQL data directory"), run_server(place):
        pass
    assert (place / "postgres" / "thesis.txt").read_text() == "mine"


def test_a_directory_that_cannot_be_made_is_named(place: Path) -> None:
    (place / "file").write_text("")
    with (
        pytest.raises(ServerFailed, match=r"file.*Not a directory.*may write"),
        run_server(place / "file" / "data"),
    ):
        pass


def test_a_server_that_refuses_to_start_is_quoted(data: Path) -> None:
    with (data / "postgres" / "postgresql.conf").open("a") as conf:
        conf.write("\nshared_buffers = 'plenty'\n")
    with pytest.raises(ServerFailed, match="plenty"), run_server(data):
        pass


@pytest.mark.parametrize("name", ["deep" * 30, 'it\'s "a" $HOME `id`, b'])
def test_a_long_or_odd_path_gets_a_short_private_socket(data: Path, name: str) -> None:
    directory = data.rename(data.with_name(name))
    with run_server(directory) as uri:
        assert note(uri) == "kept"
        folder = status(directory).socket.parent
        assert folder.parent != directory
        assert folder.stat().st_mode & 0o077 == 0
    folder.rmdir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
def test_a_socket_folder_of_another_user_is_not_trusted(place: Path) -> None:
    cluster = place / ("deep" * 30) / "postgres"
    cluster.mkdir(parents=True)
    (cluster / "PG_VERSION").write_text("18\n")
    folder = _presence.socket_folder(cluster)
    folder.mkdir()
    os.chown(folder, 12345, 12345)
    try:
        with (
            pytest.raises(ServerFailed, match="belongs to another user"),
            run_server(cluster.parent),
        ):
            pass
    finally:
        folder.rmdir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
def test_nothing_is_said_to_a_socket_in_another_users_folder(used: Path, place: Path) -> None:
    directory = place / ("deep" * 30)
    shutil.copytree(used, directory)
    folder = _presence.socket_folder(directory / "postgres")
    folder.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(folder / _presence.SOCKET))
        listening.listen()
        listening.settimeout(0)
        os.chown(folder, 65534, 65534)
        try:
            with (
                pytest.raises(ServerFailed, match="belongs to another user"),
                run_server(directory),
            ):
                pass
            with pytest.raises(BlockingIOError):
                listening.accept()
        finally:
            shutil.rmtree(folder)


def test_a_connection_is_made_to_the_servers_own_user_only(used: Path) -> None:
    with run_server(used) as uri:
        assert "requirepeer=" in uri
        other = conninfo.make_conninfo(uri, requirepeer="mallory")
        with pytest.raises(psycopg.OperationalError, match="mallory"):
            psycopg.connect(other)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands the server to another account")
def test_folders_that_root_makes_let_the_server_through_and_list_nothing(place: Path) -> None:
    before = os.umask(0o077)
    try:
        with run_server(place / "new" / "data"):
            pass
    finally:
        os.umask(before)
    assert [each.stat().st_mode & 0o777 for each in (place / "new", place / "new" / "data")] == [
        0o711
    ] * 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_data_directory_of_another_user_is_refused(used: Path) -> None:
    context = multiprocessing.get_context("fork")  # nobody may not be able to start Python here
    line: Queue[str] = context.Queue()

    def become_nobody() -> None:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        try:
            with run_server(used):
                line.put("served")
        except ServerFailed as error:
            line.put(str(error))

    process = context.Process(target=become_nobody)
    process.start()
    assert "belongs to another user" in line.get(timeout=PATIENCE)
    process.join(PATIENCE)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
@pytest.mark.parametrize("name", ["users.lock", "start.lock", "logs/postgres.log"])
def test_a_user_leads_root_to_no_file_elsewhere(place: Path, name: str) -> None:
    target = place / "target"
    (place / "data" / "logs").mkdir(parents=True)
    (place / "data" / name).symlink_to(target)
    for folder in (place / "data", place / "data" / "logs"):
        os.chown(folder, 65534, 65534)
    with pytest.raises(ServerFailed, match=name), run_server(place / "data"):
        pass
    assert not target.exists()


def test_an_initdb_that_was_killed_midway_does_not_block(place: Path) -> None:
    command = [sys.executable, "-c", _USER, str(place)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as process:
        wait_for(lambda: any(place.glob("postgres.new-*/PG_VERSION")))
        process.kill()
    assert not (place / "postgres").exists()
    with run_server(place) as uri, psycopg.connect(uri) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    with run_server(place):  # and the next start clears away what was left
        assert [it.name for it in place.glob("postgres*")] == ["postgres"]


def wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_log_is_kept_until_it_is_large(used: Path) -> None:
    log = status(used).log
    before = log.read_text()
    with run_server(used):
        assert log.read_text().startswith(before)
    log.write_bytes(b"x" * 10_000_001)
    with run_server(used):
        assert log.stat().st_size < 10_000
    assert log.with_name("postgres.log.1").stat().st_size > 10_000_000
