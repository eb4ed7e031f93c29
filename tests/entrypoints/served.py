"""`lightwell serve` in a process of its own."""

import os
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def serving(
    home: Path, url: str, *arguments: str
) -> Generator[tuple["subprocess.Popen[str]", str]]:
    """Run `lightwell serve` and yield it with its URL."""
    program = [sys.executable, "-c", "from lightwell.entrypoints.cli import main; main()"]
    with subprocess.Popen(
        [*program, "serve", "--port", "0", *arguments],
        cwd=home,
        env={"LIGHTWELL_DATABASE_URL": url, "PATH": os.environ["PATH"]},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            match = re.search(r"http://\S+:\d+", process.stderr.readline())
            assert match
            yield process, match[0]
        finally:
            process.kill()
