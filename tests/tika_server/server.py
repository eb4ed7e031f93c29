"""A real Apache Tika server for tests: fetched by Maven."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

VERSION = "3.3.2"
FOLDER = Path(__file__).parents[2] / "build" / "tika"
_FETCH = "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy"
_JVM = "-Xms64m -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_START_SECONDS = 240


@contextmanager
def tika() -> Generator[str]:
    """Run a server; yield the address to which files are put."""
    if not (shutil.which("java") and shutil.which("mvn")):
        pytest.skip("Tika's test needs java 17 and mvn: apt-get install openjdk-17-jre-headless maven")  # fmt: skip
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = ["java", "-jar", str(_fetch()), "--host", "127.0.0.1", "--port", str(port)]
    url, output = f"http://127.0.0.1:{port}/tika", FOLDER / "out"
    with output.open("wb") as out:
        process = subprocess.Popen(
            command,
            env={**os.environ, "JAVA_TOOL_OPTIONS": _JVM},
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not _answers(url):
            assert process.poll() is None, output.read_text("utf-8")[-3000:]
            assert time.monotonic() < deadline, output.read_text("utf-8")[-3000:]
            time.sleep(0.2)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=30).is_success
    except httpx.HTTPError:
        return False


def _fetch() -> Path:
    jar = FOLDER / f"tika-server-standard-{VERSION}.jar"
    if not jar.is_file():
        artifact = f"-Dartifact=org.apache.tika:tika-server-standard:{VERSION}"
        fetched = subprocess.run(
            ["mvn", "-q", "-B", "-ntp", "-C", _FETCH, artifact, f"-DoutputDirectory={FOLDER}"],
            cwd=Path(__file__).parent,
            capture_output=True,
            timeout=600,
            check=False,
        )
        if fetched.returncode:
            pytest.skip(f"Maven could not fetch Tika: {fetched.stdout.decode()[-500:]}")
    return jar
