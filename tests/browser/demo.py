"""`lightwell serve --demo` in a process of its own: what a person has after `make serve`."""

import fcntl
import os
import re
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from lightwell.testing.server import temporary_folder
from lightwell.world import PEOPLE
from tests.patience import PATIENCE

_PROGRAM = [sys.executable, "-c", "from lightwell.entrypoints.cli import main; main()"]


@dataclass(frozen=True, kw_only=True)
class Demo:
    """A running server with the example company. `keys` has a key for each of its people, by the short names of `PEOPLE`."""

    home: Path
    url: str
    keys: Mapping[str, str]
    printed: str
    process: "subprocess.Popen[bytes]"


@contextmanager
def serving_demo(
    home: Path,
    settings: Mapping[str, str] = MappingProxyType({}),
    *,
    options: Sequence[str] = ("--demo",),
) -> Generator[Demo]:
    """Serve the example company on a free port, on the store below `home`, until the block ends; without options an empty store."""
    log = home / "serve.log"
    environment = {"PATH": os.environ["PATH"], "LIGHTWELL_DATA": str(home / "data"), **settings}
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*_PROGRAM, "serve", *options, "--port", "0"],
            cwd=home,
            env=environment,
            stdout=output,
            stderr=output,
        ) as process,
    ):
        try:
            printed = _announcement(log, process)
            (url,) = re.findall(r"Listening on (http://\S+:\d+)", printed)
            keys = {
                who: line.split()[-1]
                for who, person in PEOPLE.items()
                for line in printed.splitlines()
                if line.strip().startswith(f"{person.name}, ")
            }
            yield Demo(home=home, url=url, keys=keys, printed=printed, process=process)
        finally:
            process.terminate()


def prepared_store(shared: Path) -> Path:
    """Return a folder with a store that has the example company, made by whoever comes first: a quarter of the work to start on."""
    folder = shared / "example-company"
    with (shared / "example-company.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with temporary_folder() as home:
                with serving_demo(home):
                    pass
                copy_store(home, folder)
    return folder


def copy_store(source: Path, target: Path) -> None:
    """Copy a store that nobody uses, with the owners of its files: root's server runs as another user."""
    target.mkdir(exist_ok=True)
    subprocess.run(["cp", "-a", source / "data", target / "data"], check=True)


def _announcement(log: Path, process: "subprocess.Popen[bytes]") -> str:
    """Return what the server prints until it listens; fail where it ends before."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        printed = log.read_text("utf-8")
        if "Listening on" in printed and printed.endswith("\n"):
            return printed
        assert process.poll() is None, printed
        time.sleep(0.05)
    raise AssertionError(log.read_text("utf-8"))
