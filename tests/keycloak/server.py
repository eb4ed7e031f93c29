"""A real Keycloak for tests: fetched by Maven, with one realm that `realm.json` describes."""

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

VERSION = "26.0.7"
REALM = "halden"
CLIENT, SECRET = "lightwell-web", "secret-of-the-test"
PASSWORD = "correct horse"  # noqa: S105 - of people who exist in the test's realm only
HERE = Path(__file__).parent
FOLDER = Path(__file__).parents[2] / "build" / "keycloak"
_FETCH = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:unpack"
_JVM = "-Xms128m -Xmx640m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_START_SECONDS = 240


@contextmanager
def keycloak() -> Generator[str]:
    """Run a server whose store is in memory; yield the URL of the issuer."""
    if not (shutil.which("java") and shutil.which("mvn")):
        pytest.skip("Keycloak's test needs java 17 and mvn: apt-get install openjdk-17-jre-headless maven")  # fmt: skip
    home = _fetch()
    imported = home / "data" / "import"
    imported.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "realm.json", imported / "realm.json")
    port = _free_port()
    command = [str(home / "bin" / "kc.sh"), "start-dev", "--http-host=127.0.0.1", f"--http-port={port}", "--db=dev-mem", "--import-realm"]  # fmt: skip
    url = f"http://127.0.0.1:{port}/realms/{REALM}"
    with (home / "out").open("wb") as out:
        process = subprocess.Popen(
            command,
            env={**os.environ, "JAVA_OPTS": _JVM},
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not _answers(url):
            assert process.poll() is None, (home / "out").read_text("utf-8")[-3000:]
            assert time.monotonic() < deadline, (home / "out").read_text("utf-8")[-3000:]
            time.sleep(0.2)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/.well-known/openid-configuration", timeout=30).is_success
    except httpx.HTTPError:
        return False


def _fetch() -> Path:
    home = FOLDER / f"keycloak-{VERSION}"
    if not (home / "bin" / "kc.sh").is_file():
        artifact = f"-Dartifact=org.keycloak:keycloak-quarkus-dist:{VERSION}:zip"
        fetched = subprocess.run(
            ["mvn", "-q", "-B", "-ntp", "-C", _FETCH, artifact, f"-DoutputDirectory={FOLDER}"],
            cwd=HERE,
            capture_output=True,
            timeout=600,
            check=False,
        )
        if fetched.returncode:
            pytest.skip(f"Maven could not fetch Keycloak: {fetched.stdout.decode()[-500:]}")
    return home


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
