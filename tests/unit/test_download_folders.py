"""What a killed server leaves of its exports is removed by the next one."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from lightwell.entrypoints.http.download_folders import open_download_folders

KILLED = """
import os, sys, tempfile
from lightwell.entrypoints.http.download_folders import open_download_folders
tempfile.tempdir = sys.argv[1]
with open_download_folders() as folders:
    made = folders.make()
    open(os.path.join(made.name, "a.csv"), "w").close()
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_left_is_removed_by_the_next_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    (left,) = tmp_path.iterdir()
    with open_download_folders() as new:
        assert left.is_dir()  # a process that starts now may not have locked it yet
        os.utime(left, (0, 0))
        os.utime(new.root, (0, 0))
        (tmp_path / "lightwell-downloads-link").symlink_to(left.parent)
        with open_download_folders():
            assert not left.exists()
            assert new.root.is_dir()
    assert [each.name for each in tmp_path.iterdir()] == ["lightwell-downloads-link"]
