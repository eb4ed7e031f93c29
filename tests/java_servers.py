"""Real servers in Java for tests: fetched by Maven, started for a block, and ended with it."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

_BUILT = Path(__file__).parents[1] / "build"
_FETCH_SECONDS = 600
_START_SECONDS = 240


def need_java(program: str) -> None:
    """Skip the test where this machine has no Java to run a program, or no Maven to fetch it."""
    if not (shutil.which("java") and shutil.which("mvn")):
        pytest.skip(
            f"{program} needs java 17 and mvn: apt-get install openjdk-17-jre-headless maven"
        )


def fetch(program: str, goal: str, *options: str) -> None:
    """Run a goal of Maven's dependency plugin, such as `3.6.1:unpack`; skip the test where it fails."""
    plugin = f"org.apache.maven.plugins:maven-dependency-plugin:{goal}"
    _BUILT.mkdir(exist_ok=True)
    fetched = subprocess.run(
        ["mvn", "-q", "-B", "-ntp", "-C", plugin, *options],
        cwd=_BUILT,  # it leaves marks in the folder in which it runs
        capture_output=True,
        timeout=_FETCH_SECONDS,
        check=False,
    )
    if fetched.returncode:
        pytest.skip(f"Maven could not fetch {program}: {fetched.stdout.decode()[-500:]}")


@contextmanager
def run_java(
    command: Sequence[str],
    answers: Callable[[], bool],
    *,
    output: Path,
    environment: Mapping[str, str],
) -> Generator[None]:
    """Run a server during the block, which begins once it answers; what it writes is in `output`."""
    with output.open("wb") as out:
        process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not answers():
            assert process.poll() is None, output.read_text("utf-8")[-3000:]
            assert time.monotonic() < deadline, output.read_text("utf-8")[-3000:]
            time.sleep(0.2)
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
