"""What root makes in a folder of another user, and what only its owner may read."""

import os
import sys
from pathlib import Path

import pytest

from lightwell.ownership import open_for_owner, reason_to_distrust, replace_for_owner

NOBODY = 65534
APPEND = os.O_WRONLY | os.O_APPEND


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A folder `data` with a folder `logs`, both of another user where this process can make such."""
    folder = tmp_path / "data"
    (folder / "logs").mkdir(parents=True)
    if os.geteuid() == 0:
        for each in (folder, folder / "logs"):
            os.chown(each, NOBODY, NOBODY)
    return folder


def test_a_new_file_belongs_to_the_owner_of_its_folder(theirs: Path) -> None:
    for name in ("users.lock", "logs/postgres.log"):
        os.close(open_for_owner(theirs / name, APPEND))
        made, folder = (theirs / name).stat(), (theirs / name).parent.stat()
        assert (made.st_uid, made.st_gid) == (folder.st_uid, folder.st_gid)
        assert made.st_mode & 0o777 == 0o600


def test_a_file_is_made_also_where_its_owner_cannot_be_set(
    theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "fchown", refuse)
    os.close(open_for_owner(theirs / "users.lock", APPEND))
    assert (theirs / "users.lock").stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_there_is_opened_as_it_is(theirs: Path) -> None:
    (theirs / "users.lock").write_text("one ")
    before = (theirs / "users.lock").stat()
    file = open_for_owner(theirs / "users.lock", APPEND)
    os.write(file, b"two")
    os.close(file)
    assert (theirs / "users.lock").read_text() == "one two"
    assert (theirs / "users.lock").stat().st_uid == before.st_uid


@pytest.mark.parametrize("exists", [True, False])
def test_no_link_leads_to_a_file_elsewhere(theirs: Path, tmp_path: Path, *, exists: bool) -> None:
    target = tmp_path / "target"
    if exists:
        target.write_text("as it was")
    (theirs / "users.lock").symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        open_for_owner(theirs / "users.lock", APPEND)
    assert target.exists() == exists


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
def test_another_user_cannot_lead_root_to_another_folder(theirs: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (theirs / "logs").rmdir()
    (theirs / "logs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="Not a directory"):
        open_for_owner(theirs / "logs" / "postgres.log", APPEND)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_folder_of_ones_own_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "logs").symlink_to(tmp_path / "elsewhere")
    os.close(open_for_owner(tmp_path / "logs" / "postgres.log", APPEND))
    assert (tmp_path / "elsewhere" / "postgres.log").exists()


def test_a_file_is_replaced_whole_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    file = tmp_path / "settings"
    file.write_text("old")
    file.chmod(0o644)
    with pytest.raises(UnicodeEncodeError):
        replace_for_owner(file, "half \ud800")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("settings", "old")]
    replace_for_owner(file, "new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("settings", "new")]
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="files have no owner there")
def test_what_root_has_installed_may_be_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    status = os.stat_result((0o40755, 0, 0, 1, 0, 0, 0, 0, 0, 0))
    assert reason_to_distrust(status) == "belongs to another user"
    assert reason_to_distrust(status, trusts_root=True) == ""
