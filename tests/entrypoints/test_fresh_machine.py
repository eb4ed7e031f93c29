"""`make demo` of a fresh clone on a machine that grants little."""

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lightwell.testing.server import temporary_folder
from tests.entrypoints.test_wheel import NO_NETWORK
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]


@pytest.fixture
def clone() -> Iterator[Path]:
    """A clone below a path with spaces, in a folder that only its owner may enter."""
    with temporary_folder() as folder:
        folder.chmod(0o700)
        place = folder / "a clone"
        subprocess.run(["git", "clone", "--quiet", ROOT, place], check=True)
        yield place
        for link in place.glob(".lightwell/*/postgres"):
            if link.is_symlink():
                shutil.rmtree(link.resolve().parent)


@pytest.mark.slow
def test_the_demo_runs_without_a_home_with_a_strict_umask_in_a_private_folder(clone: Path) -> None:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in ("UV_CACHE_DIR", "XDG_CACHE_HOME", "VIRTUAL_ENV", "LIGHTWELL_DATA")
    }
    ended = subprocess.run(
        ["make", "demo"],
        cwd=clone,
        env=inherited | {"HOME": "/proc/none", "PYTHONDONTWRITEBYTECODE": "1"},
        umask=0o077,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if any(each in ended.stderr for each in NO_NETWORK) and not os.environ.get("CI"):
        pytest.skip("make demo needs a package index, and there is no network")
    assert ended.returncode == 0, ended.stderr
    assert "64 pairs" in ended.stdout
    assert stat.S_IMODE(clone.parent.stat().st_mode) == 0o700
    if os.geteuid() == 0:
        assert (clone / ".lightwell/demo/postgres").is_symlink()
        assert "server.data_elsewhere" in ended.stderr + ended.stdout
