"""A real Keycloak for tests: fetched by Maven, with one realm that `realm.json` describes."""

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.java_servers import fetch, need_java, run_java
from tests.ports import free_port

VERSION = "26.0.7"
REALM = "halden"
CLIENT, SECRET = "lightwell-web", "secret-of-the-test"
PASSWORD = "correct horse"  # noqa: S105 - of people who exist in the test's realm only
HERE = Path(__file__).parent
FOLDER = Path(__file__).parents[2] / "build" / "keycloak"
_JVM = "-Xms128m -Xmx640m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"


@contextmanager
def keycloak() -> Generator[str]:
    """Run a server whose store is in memory; yield the URL of the issuer."""
    need_java("Keycloak")
    home = _fetch()
    imported = home / "data" / "import"
    imported.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "realm.json", imported / "realm.json")
    port = free_port()
    command = [str(home / "bin" / "kc.sh"), "start-dev", "--http-host=127.0.0.1", f"--http-port={port}", "--db=dev-mem", "--import-realm"]  # fmt: skip
    url = f"http://127.0.0.1:{port}/realms/{REALM}"
    environment = {"JAVA_OPTS": _JVM}
    with run_java(command, lambda: _answers(url), output=home / "out", environment=environment):
        yield url


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/.well-known/openid-configuration", timeout=30).is_success
    except httpx.HTTPError:
        return False


def _fetch() -> Path:
    home = FOLDER / f"keycloak-{VERSION}"
    if not (home / "bin" / "kc.sh").is_file():
        artifact = f"-Dartifact=org.keycloak:keycloak-quarkus-dist:{VERSION}:zip"
        fetch("Keycloak", "3.6.1:unpack", artifact, f"-DoutputDirectory={FOLDER}")
    return home
