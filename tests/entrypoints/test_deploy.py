"""What deploy/ and compose.yaml give administrators is read by the real systemd, nginx, Caddy and Compose; the proxies are put in front of a real server."""

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import yaml

from lightwell.testing.server import temporary_folder
from tests.entrypoints.served import serving
from tests.patience import PATIENCE, until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
HOST = "knowledge.example.com"
CLIENT = "127.0.0.7"
COMPOSE = "github.com/compose-spec/compose-go/v2/cmd@v2.9.0"
"""The parser of `docker compose`, with a command that prints what it read."""


def program(name: str) -> str:
    """Return the path of a program; skip the test where the machine lacks it."""
    path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    return path or pytest.skip(f"{name} is not installed")


def run(*arguments: str | Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        arguments,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    analyze = program("systemd-analyze")
    unit = (DEPLOY / "lightwell.service").read_text("utf-8")
    installed = tmp_path / "lightwell.service"
    installed.write_text(unit.replace("/opt/lightwell/bin/lightwell", "/bin/true"))
    ended = run(analyze, "verify", "--man=no", installed)
    assert (ended.returncode, str(installed) in ended.stderr) == (0, False), ended.stderr


def test_the_parser_of_docker_compose_takes_the_compose_file(tmp_path: Path) -> None:
    go = program("go")
    shutil.copy(ROOT / "compose.yaml", tmp_path)
    arguments = ("-no-interpolation", "compose.yaml")
    ended = run(go, "run", "-C", tmp_path, COMPOSE, *arguments, GOFLAGS="-mod=mod")
    if ended.returncode and "dial tcp" in ended.stderr and not os.environ.get("CI"):
        pytest.skip("the parser of docker compose cannot be fetched")
    assert ended.returncode == 0, ended.stderr
    server = yaml.safe_load(ended.stdout)["services"]["server"]
    (settings,) = server["env_file"]
    assert settings["required"] is False
    assert server["environment"]["LIGHTWELL_DATA"] == "/data"
    assert server["depends_on"]["database"]["condition"] == "service_healthy"


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with temporary_folder() as folder:
        (folder / ".env").write_text(
            f"LIGHTWELL_HTTP_HOSTS={HOST}\nLIGHTWELL_HTTP_PROXIES=127.0.0.1\nLIGHTWELL_AUDIT_LOG={folder / 'audit.jsonl'}\n"
        )
        (folder / ".env").chmod(0o600)
        yield folder


@pytest.fixture(scope="module")
def upstream(home: Path) -> Iterator[str]:
    with serving(home, "") as (_, url):
        yield url.removeprefix("http://")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate of the host and its key."""
    folder = tmp_path_factory.mktemp("certificate")
    made = run(
        *(program("openssl"), "req", "-x509", "-nodes", "-newkey", "ec"),
        *("-pkeyopt", "ec_paramgen_curve:P-256", "-subj", f"/CN={HOST}"),
        *("-addext", f"subjectAltName=DNS:{HOST}", "-days", "2"),
        *("-keyout", folder / "privkey.pem", "-out", folder / "fullchain.pem"),
    )
    assert made.returncode == 0, made.stderr
    return folder


def nginx(folder: Path, port: int, upstream: str, certificate: Path) -> Sequence[str | Path]:
    site = (DEPLOY / "nginx.conf").read_text("utf-8")
    site = site.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
    site = site.replace("127.0.0.1:8000", upstream).replace("/etc/ssl/lightwell", str(certificate))
    configuration = folder / "nginx.conf"
    paths = "".join(
        f"{kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    configuration.write_text(
        f"pid {folder}/pid; daemon off; error_log stderr; events {{}} http {{ access_log off; {paths} {site} }}"
    )
    return program("nginx"), "-c", configuration


def caddy(folder: Path, port: int, upstream: str, certificate: Path) -> Sequence[str | Path]:
    site = (DEPLOY / "Caddyfile").read_text("utf-8").replace("127.0.0.1:8000", upstream)
    files = f"{certificate}/fullchain.pem {certificate}/privkey.pem"
    site = site.replace(f"{HOST} {{", f"https://{HOST}:{port} {{\n\ttls {files}")
    configuration = folder / "Caddyfile"
    configuration.write_text(f"{{\n\tadmin off\n\tauto_https disable_redirects\n}}\n{site}")
    return program("caddy"), "run", "--adapter", "caddyfile", "--config", configuration


Proxy = Callable[[Path, int, str, Path], Sequence[str | Path]]


@contextmanager
def proxied(
    proxy: Proxy, folder: Path, upstream: str, certificate: Path
) -> Generator[httpx.Client]:
    """Run the proxy in front of the server, and yield a client of it with an address of its own."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    arguments = proxy(folder, port, upstream, certificate)
    environment = {**os.environ, "HOME": str(folder)}
    with subprocess.Popen(arguments, cwd=folder, env=environment, stderr=subprocess.PIPE) as ran:
        transport = httpx.HTTPTransport(
            verify=False,  # the certificate is this test's
            local_address=CLIENT,
            retries=20,  # pauses between them: until the proxy listens
        )
        headers = {"Host": HOST, "X-Forwarded-For": "203.0.113.9"}
        try:
            with httpx.Client(
                base_url=f"https://127.0.0.1:{port}",
                headers=headers,
                transport=transport,
                timeout=PATIENCE,
            ) as client:
                yield client
        finally:
            ran.terminate()
            ran.communicate()


@pytest.mark.parametrize("proxy", [nginx, caddy])
async def test_a_proxy_passes_large_files_the_host_and_the_clients_own_address(
    proxy: Proxy, tmp_path: Path, home: Path, upstream: str, certificate: Path
) -> None:
    log = home / "audit.jsonl"
    before = log.read_text("utf-8") if log.exists() else ""
    with proxied(proxy, tmp_path, upstream, certificate) as client:
        health = client.get("/health/ready", extensions={"sni_hostname": HOST})
        assert health.status_code == 200, health.text
        refused = client.post(
            "/v1/documents",
            headers={"Authorization": "Bearer lw_wrong"},
            files={"files": ("large.txt", b"a" * 3_000_000)},
            extensions={"sni_hostname": HOST},
        )
    assert refused.status_code == 401, refused.text
    await until(
        lambda: log.exists() and log.read_text("utf-8") != before
    )  # once the reply has left
    assert json.loads(log.read_text("utf-8").splitlines()[-1])["address"] == CLIENT
