"""`lightwell setup`: finds a model, tries it, and writes `.env`; with real servers on the loopback interface."""

import asyncio
import json
import os
import pty
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from lightwell.domain.errors import Invalid, ModelFailed
from lightwell.entrypoints.cli.settings_file import write_settings
from lightwell.models import local_endpoints
from lightwell.models.local_endpoints import Place
from lightwell.testing.endpoint import NORMAL, Behaviour, FakeEndpoint
from lightwell.wiring.chat_trial import PASSAGE
from tests.entrypoints.program import run

QUOTE = PASSAGE.split(". ")[0]
RIGHT = json.dumps(
    {"answerable": True, "sentences": [{"quotes": [QUOTE], "text": "It is open until 17:30."}]}
)
KEY = "sk-very-secret-1234"


def invented(text: str = "It is open until 18:30.") -> str:
    sentence = {"quotes": ["open until 18:30"], "text": text}
    return json.dumps({"answerable": True, "sentences": [sentence]})


@contextmanager
def serving(reply: str, *models: str, behaviour: Behaviour = NORMAL) -> Generator[FakeEndpoint]:
    fake = FakeEndpoint(lambda body: reply, behaviour=behaviour)
    fake.models = models
    with fake.running():
        yield fake


@contextmanager
def listing_for(key: str) -> Generator[str]:
    """Serve a list of models to this key alone, and refuse it to others; yield the base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_right = self.headers.get("Authorization") == f"Bearer {key}"
            body = json.dumps({"data": [{"id": "owl"}]}).encode()
            self.send_response(200 if is_right else 401)
            self.send_header("Content-Length", str(len(body) if is_right else 0))
            self.end_headers()
            if is_right:
                self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            message = {"role": "assistant", "content": RIGHT}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            reply = {"id": "1", "object": "chat.completion", "model": "owl", "choices": [choice]}
            body = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


pytestmark = pytest.mark.usefixtures("no_key")


def test_a_model_that_answers_is_written_and_the_rest_of_the_file_stays(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(
        "# mine\nLIGHTWELL_TENANT=acme\nexport LIGHTWELL_CHAT_MODEL=old\nLIGHTWELL_CHAT_API_KEY=old\n"
        "LIGHTWELL_CHAT_URL=http://other.example/v1\n"
    )
    file.chmod(0o644)
    with serving(RIGHT, "owl") as fake:
        ended = run(tmp_path, "setup", "--url", f"{fake.base_url}/", "--yes")
    assert ended.returncode == 0, ended.stderr
    assert "quoted the passage word for word: It is open until 17:30." in ended.stdout
    assert file.read_text() == (
        f"# mine\nLIGHTWELL_TENANT=acme\nLIGHTWELL_CHAT_MODEL=owl\nLIGHTWELL_CHAT_URL={fake.base_url}\n"
    )
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.glob(".env*")] == [".env"]
    (request,) = fake.requests
    assert PASSAGE in json.dumps(request.body)
    assert "old" not in str(request.headers)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (invented(), "did not quote from the passage word for word"),
        ("It is open until 17:30.", "did not quote"),
        ('{"answerable": false, "sentences": []}', "it does"),
        (invented().replace("open until 18:30", "Visitors register at gate 4").replace("It is open until 18:30.", "Visitors register at gate 4."), "not what was asked"),
    ],
)  # fmt: skip
def test_a_model_that_does_not_answer_is_not_written(tmp_path: Path, reply: str, told: str) -> None:
    with serving(reply, "owl") as fake:
        ended = run(tmp_path, "setup", "--url", fake.base_url, "--yes")
    assert ended.returncode == 1
    assert told in ended.stdout
    assert "Nothing was written." in ended.stdout
    assert not (tmp_path / ".env").exists()


def test_a_server_that_fails_is_told_and_nothing_is_written(tmp_path: Path) -> None:
    with serving(RIGHT, "owl", behaviour=Behaviour(status=404)) as fake:
        ended = run(tmp_path, "setup", "--url", fake.base_url, "--model", "owl")
    assert ended.returncode == 4
    ended = run(tmp_path, "setup", "--url", fake.base_url)  # nobody listens any more
    assert ended.returncode == 4
    assert "lists no models" in ended.stderr
    assert not (tmp_path / ".env").exists()


def test_servers_of_this_machine_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(RIGHT, "bge-m3", "owl", "hawk") as fake:
        places = (
            Place(server="LM Studio", url="http://127.0.0.1:9/v1"),
            Place(server="Ollama", url=fake.base_url),
        )
        monkeypatch.setattr(local_endpoints, "PLACES", places)
        several = run(tmp_path, "setup")
        assert (several.returncode, "--model (owl, hawk)" in several.stderr) == (2, True)
        ended = run(tmp_path, "setup", "--yes", "--json")
    document = json.loads(ended.stdout)
    assert (document["model"], document["right"], document["url"]) == ("owl", True, fake.base_url)
    assert document["file"] == str(tmp_path / ".env")


def test_without_any_model_it_says_what_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_endpoints, "PLACES", ())
    ended = run(tmp_path, "setup")
    assert ended.returncode == 1
    assert "quotes from your documents" in ended.stdout


def test_a_key_goes_to_its_own_endpoint_alone_and_is_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listing_for(KEY) as url, serving(RIGHT, "owl") as other:
        refused = run(tmp_path, "setup", "--url", url)
        assert (refused.returncode, "refuses the key" in refused.stderr) == (4, True)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        assert run(tmp_path, "setup", "--url", url).returncode == 4
        assert run(tmp_path, "setup", "--url", other.base_url).returncode == 0
        assert KEY not in str([request.headers for request in other.requests])
        assert KEY not in (tmp_path / ".env").read_text()
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        ended = run(tmp_path, "setup", "--url", url, "--verbose")
        assert f"LIGHTWELL_CHAT_API_KEY={KEY}\n" in (tmp_path / ".env").read_text()
        monkeypatch.delenv("OPENAI_API_KEY")
        assert run(tmp_path, "setup", "--url", url, LIGHTWELL_CHAT_API_KEY=KEY).returncode == 0
        named = {"LIGHTWELL_CHAT_API_KEY": KEY, "LIGHTWELL_CHAT_URL": url}
        over = run(tmp_path, "setup", "--url", other.base_url, **named)
    assert "takes precedence" in over.stdout
    assert KEY not in str([request.headers for request in other.requests])
    assert ended.returncode == 0, ended.stderr
    assert KEY not in ended.stdout + ended.stderr
    assert KEY not in (tmp_path / ".env").read_text()  # the last endpoint has none


def test_what_no_line_can_hold_is_refused(tmp_path: Path) -> None:
    with serving(RIGHT, "owl") as fake:
        name = "owl\nLIGHTWELL_TENANT=other"
        ended = run(tmp_path, "setup", "--url", fake.base_url, "--model", name)
        assert ended.returncode == 2
        spaced = run(tmp_path, "setup", "--url", fake.base_url, "--model", "a b # c")
    assert spaced.returncode == 0
    assert "LIGHTWELL_CHAT_MODEL='a b # c'\n" in (tmp_path / ".env").read_text()


@pytest.mark.parametrize(
    "name", ["owl\\", "owl\u2028LIGHTWELL_TENANT=other", "owl\x85", "o\u202ewl"]
)
def test_a_name_that_ends_a_line_for_whoever_reads_it_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Invalid):
        write_settings({"LIGHTWELL_CHAT_MODEL": name}, tmp_path)
    assert not (tmp_path / ".env").exists()


async def test_a_server_that_never_ends_its_list_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[bytes] = []
    has_ended = asyncio.Event()

    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not writer.is_closing() and len(sent) < 500:
            writer.write(b" ")
            sent.append(b" ")
            await asyncio.sleep(0.02)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        has_ended.set()

    monkeypatch.setattr(local_endpoints, "_LIST_SECONDS", 0.2)
    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ModelFailed, match="ReadTimeout"):
            await local_endpoints.list_models(f"http://127.0.0.1:{port}/v1")
        await has_ended.wait()
    assert len(sent) < 500


def test_a_comment_stays_one_whatever_signs_it_has(tmp_path: Path) -> None:
    comment = "# a\u2028LIGHTWELL_TENANT=b\x0cLIGHTWELL_TENANT=c"
    (tmp_path / ".env").write_text(f"{comment}\n", encoding="utf-8")
    (tmp_path / ".env").chmod(0o600)
    write_settings({"LIGHTWELL_CHAT_MODEL": "owl"}, tmp_path)
    text = (tmp_path / ".env").read_text(encoding="utf-8")
    assert text == f"{comment}\nLIGHTWELL_CHAT_MODEL=owl\n"


def test_names_that_would_be_shown_as_something_else_are_no_models(tmp_path: Path) -> None:
    with serving(RIGHT, "owl\n1  other", "\x1b[2Jowl", "owl\u202e") as fake:
        ended = run(tmp_path, "setup", "--url", fake.base_url)
    assert ended.returncode == 2
    assert "lists no model" in ended.stderr


@pytest.mark.parametrize(
    "url", ["owl", "ftp://a.example/v1", "http://u:p@a.example/v1", "http://a.example/v1?key=1"]
)
def test_an_address_is_one(tmp_path: Path, url: str) -> None:
    assert run(tmp_path, "setup", "--url", url).returncode == 2


def test_a_file_that_others_may_change_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("LIGHTWELL_TENANT=acme\n")
    file.chmod(0o666)
    with serving(RIGHT, "owl") as fake:
        assert run(tmp_path, "setup", "--url", fake.base_url).returncode == 2
    assert file.read_text() == "LIGHTWELL_TENANT=acme\n"


def test_at_a_terminal_a_person_chooses(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    with serving(invented(), "owl", "hawk") as fake:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("LIGHTWELL_")
        }
        command = [str(Path(sys.executable).parent / "lightwell"), "setup", "--url", fake.base_url]
        os.write(master, b"7\n2\ny\n")
        ended = subprocess.run(
            command, stdin=slave, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=120, check=False
        )  # fmt: skip
    os.close(master)
    os.close(slave)
    assert ended.returncode == 0, ended.stderr
    assert "2  hawk" in ended.stdout
    assert "LIGHTWELL_CHAT_MODEL=hawk\n" in (tmp_path / ".env").read_text()
