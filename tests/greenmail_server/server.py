"""GreenMail, a real IMAP server for tests: fetched by Maven, started for one test."""

import imaplib
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.java_servers import need_java, run_java

HERE = Path(__file__).parent
FOLDER = Path(__file__).parents[2] / "build" / "greenmail"
USER, PASSWORD = "ada@halden.example", "lightwell test"
_LIFETIME_SECONDS = "600"


@contextmanager
def use_greenmail() -> Generator[tuple[int, int]]:
    """Yield the ports of a server with an empty mailbox: by plain IMAP, and by TLS with a certificate that nobody has signed."""
    need_java("GreenMail")
    if not list(FOLDER.glob("*.jar")):
        copy = ["mvn", "-q", "-f", f"{HERE}/pom.xml", "dependency:copy-dependencies"]
        subprocess.run([*copy, f"-DoutputDirectory={FOLDER}"], check=True)
    with socket.socket() as probe, socket.socket() as other:
        probe.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        port, tls_port = probe.getsockname()[1], other.getsockname()[1]
    properties = {
        "imap.hostname": "127.0.0.1",
        "imap.port": port,
        "imaps.hostname": "127.0.0.1",
        "imaps.port": tls_port,
        "users": f"ada:{PASSWORD}@halden.example",
        "users.login": "email",
    }
    command = [
        "timeout",
        "-k",
        "5",
        _LIFETIME_SECONDS,
        "java",
        "-Xmx128m",
        "-XX:TieredStopAtLevel=1",
    ]
    command += [f"-Dgreenmail.{name}={value}" for name, value in properties.items()]
    command += ["-cp", f"{FOLDER}/*", "com.icegreen.greenmail.standalone.GreenMailStandaloneRunner"]
    with run_java(command, lambda: _answers(port), output=FOLDER / "out", environment={}):
        yield port, tls_port


@contextmanager
def mailbox(port: int) -> Generator[imaplib.IMAP4]:
    """Yield a connection by which a test puts messages there and deletes them."""
    imap = imaplib.IMAP4("127.0.0.1", port)
    try:
        imap.login(f'"{USER}"', PASSWORD)
        yield imap
    finally:
        imap.shutdown()


def _answers(port: int) -> bool:
    try:
        with mailbox(port):
            return True
    except (OSError, imaplib.IMAP4.error):  # it listens before it has its users
        return False
