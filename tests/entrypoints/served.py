"""`lightwell serve` in a process of its own."""

import os
import re
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

PROGRAM = (sys.executable, "-c", "from lightwell.entrypoints.cli import main; main()")


@contextmanager
def serving(
    home: Path, url: str, *arguments: str, program: Sequence[str | Path] = PROGRAM
) -> Generator[tuple["subprocess.Popen[str]", str]]:
    """Run `lightwell serve` and yield it with its URL; without a database's URL it has its own in `home`/data."""
    store = {"LIGHTWELL_DATABASE_URL": url} if url else {"LIGHTWELL_DATA": str(home / "data")}
    with subprocess.Popen(
        [*program, "serve", "--port", "0", *arguments],
        cwd=home,
        env={"PATH": os.environ["PATH"], **store},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            yield process, _listening_url(process.stderr)
        finally:
            process.kill()


def _listening_url(said: IO[str]) -> str:
    """Return the URL of the line that names it; fail with what was said where none does."""
    before = list[str]()
    for line in iter(lambda: _read_line(said), ""):
        if match := re.search(r"Listening on (http://\S+:\d+)", line):
            return match[1]
        before.append(line)
    raise AssertionError("".join(before))


def _read_line(said: IO[str]) -> str:
    """Read one line and nothing after it: what `readline` reads ahead is lost to `communicate`."""
    line = bytearray()
    while not line.endswith(b"\n") and (byte := os.read(said.fileno(), 1)):
        line += byte
    return line.decode()
