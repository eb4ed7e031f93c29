"""Child processes of tests; none outlives its block, so one failure cannot disturb the next test."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]


@contextmanager
def running(module: str, *arguments: str) -> Generator["subprocess.Popen[str]"]:
    """Start a module as a process and wait until it prints "ready"; kill it at the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        kill(process)
        if process.stdout is not None:
            process.stdout.close()


def kill(process: "subprocess.Popen[str]") -> None:
    """End the process at once, also a stopped one; do nothing if it has ended."""
    process.kill()
    process.wait()


def finish(process: "subprocess.Popen[str]") -> None:
    """Wait until the process ends by itself, and require that it succeeds."""
    assert process.wait(PATIENCE) == 0
