"""A real Apache Tika server for tests: fetched by Maven."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.java_servers import fetch, need_java, run_java
from tests.ports import free_port

VERSION = "3.3.2"
FOLDER = Path(__file__).parents[2] / "build" / "tika"
_JVM = "-Xms64m -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"


@contextmanager
def tika() -> Generator[str]:
    """Run a server; yield the address to which files are put."""
    need_java("Tika")
    jar, port = _fetch(), free_port()
    command = ["java", "-jar", str(jar), "--host", "127.0.0.1", "--port", str(port)]
    url = f"http://127.0.0.1:{port}/tika"
    environment = {"JAVA_TOOL_OPTIONS": _JVM}
    with run_java(command, lambda: _answers(url), output=FOLDER / "out", environment=environment):
        yield url


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=30).is_success
    except httpx.HTTPError:
        return False


def _fetch() -> Path:
    jar = FOLDER / f"tika-server-standard-{VERSION}.jar"
    if not jar.is_file():
        artifact = f"-Dartifact=org.apache.tika:tika-server-standard:{VERSION}"
        fetch("Tika", "2.8:copy", artifact, f"-DoutputDirectory={FOLDER}")
    return jar
