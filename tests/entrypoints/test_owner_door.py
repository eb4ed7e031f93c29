"""Commands beside a running server: what it answers, whom it answers, and what is no such server."""

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from lightwell.entrypoints.cli import asking, owner_door
from lightwell.entrypoints.operations.calls import Call
from lightwell.entrypoints.owner_door import (
    READER,
    SAME,
    describe,
    door_path,
    read_tags,
    write_tags,
)
from lightwell.settings import Settings
from lightwell.testing.server import temporary_folder
from tests.entrypoints.program import run
from tests.entrypoints.served import serving
from tests.patience import PATIENCE

DISCOUNT = "# Contract\n\nNordwind Energie receives a discount of 18 percent on all items.\n"
SALARY = "# Salary\n\nAda Wagner earns 80,000 euros a year.\n"
QUESTION = "What discount does Nordwind Energie receive?"
SALES, BOARD = ("--as", "team:sales"), ("--as", "team:board")
_OF_ONE_RUN = re.compile(r'"(?:queryId|latencyMs|ms|cachedAt)": [^\n]*')


@dataclass(frozen=True)
class Beside:
    """A store in `home`/data that a server has open, at `url`."""

    home: Path
    url: str

    @property
    def settings(self) -> Settings:
        return Settings(data=self.home / "data")

    @property
    def door(self) -> Path:
        path = door_path(self.settings)
        assert path is not None
        return path

    def ask_door(self, method: str, path: str, body: object = None, **head: str) -> tuple[int, str]:
        """Send a request as a program of the owner may; return the status and the body."""
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(self.door))
        fields = {
            "Content-Type": "application/json",
            SAME: describe(self.settings),
            READER: "",
            **head,
        }
        connection.request(method, path, json.dumps(body) if body else None, fields)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, text


@pytest.fixture(scope="module")
def beside() -> Iterator[Beside]:
    with temporary_folder() as home:
        for name, text, tag in (("a.md", DISCOUNT, "team:sales"), ("b.md", SALARY, "team:board")):
            (home / name).write_text(text)
            ended = run(home, "ingest", str(home / name), "--acl", tag)
            assert ended.returncode == 0, ended.stderr
        with serving(home, "") as (process, url):
            until_ready(url)
            yield Beside(home, url)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE)


def until_ready(url: str) -> None:
    transport = httpx.HTTPTransport(retries=5)
    with httpx.Client(transport=transport, timeout=PATIENCE) as client:
        assert client.get(f"{url}/health/ready").status_code == 200


@pytest.fixture
def closed_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that would open the store fails."""
    monkeypatch.setattr(asking, "open_as", opened)


def opened(*_: object) -> None:
    raise StoreOpened


class StoreOpened(Exception):
    pass


COMMANDS = (
    ("ask", QUESTION),
    ("ask", QUESTION, "--statements"),
    ("search", "discount", "--limit", "3"),
    ("documents", "list"),
    ("documents", "list", "--limit", "1"),
    ("graph", "list"),
    ("graph", "show", "Nordwind Energie"),
    ("graph", "neighbourhood", "Nordwind Energie"),
    ("links", "list"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_a_command_prints_what_it_would_have_found_in_the_store(
    beside: Beside, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], form: tuple[str, ...]
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(asking, "open_as", opened)
        asked = run(beside.home, *command, *form, *SALES)
    with monkeypatch.context() as patched:
        patched.setattr(asking, "ask_at_door", nobody)
        own = run(beside.home, *command, *form, *SALES)
    assert asked.returncode == own.returncode == 0, asked.stderr
    assert _OF_ONE_RUN.sub("", asked.stdout) == _OF_ONE_RUN.sub("", own.stdout)
    assert asked.stderr == own.stderr


async def nobody(*_: object) -> None:
    return None


@pytest.mark.usefixtures("closed_store")
def test_the_reader_is_the_one_that_the_command_names(beside: Beside) -> None:
    question = "How much does Ada Wagner earn?"
    sales, board = (run(beside.home, "ask", question, *who) for who in (SALES, BOARD))
    assert "80,000" in board.stdout
    assert "80,000" not in sales.stdout


@pytest.mark.parametrize(
    "more",
    [
        {"LIGHTWELL_PROJECT": "other"},
        {"LIGHTWELL_TENANT": "other"},
        {"LIGHTWELL_PUBLIC_URL": "https://knowledge.example"},
        {"LIGHTWELL_CONTEXT_MIN_RELEVANCE": "0.9"},
        {"LIGHTWELL_CHAT_URL": "http://127.0.0.1:1/v1"},
    ],
    ids=lambda more: next(iter(more)),
)
@pytest.mark.usefixtures("closed_store")
def test_a_command_with_other_settings_opens_the_store(
    beside: Beside, more: dict[str, str]
) -> None:
    with pytest.raises(StoreOpened):
        run(beside.home, "ask", QUESTION, *SALES, **more)


@pytest.mark.usefixtures("closed_store")
def test_settings_that_change_no_answer_do_not_matter(beside: Beside) -> None:
    more = {"LIGHTWELL_HTTP_PORT": "9", "LIGHTWELL_API_KEY": "lw_x", "LIGHTWELL_AS": "team:sales"}
    ended = run(beside.home, "ask", QUESTION, **more)
    assert "18 percent" in ended.stdout, ended.stderr


@pytest.mark.usefixtures("closed_store")
@pytest.mark.parametrize(
    "command",
    [("graph", "show", "Nobody"), ("documents", "list", "--as", "team:nobody")],
    ids=["not there", "nothing to see"],
)
def test_what_has_no_reply_is_left_to_the_store_and_its_words(
    beside: Beside, command: tuple[str, ...]
) -> None:
    who = () if "--as" in command else SALES
    with pytest.raises(StoreOpened):
        run(beside.home, *command, *who)


def test_the_door_only_reads(beside: Beside) -> None:
    entity = {"name": "Nordwind Energie", "kind": "organization", "aclTags": ["team:sales"]}
    head = {READER: "team:sales"}
    assert beside.ask_door("GET", "/v1/graph/entities", **head)[0] == 200
    for method, path in (
        ("POST", "/v1/graph/entities"),
        ("DELETE", "/v1/documents/a.md"),
        ("POST", "/v1/sources"),
        ("GET", "/v1/admin/keys"),
        ("POST", "/v1/chat"),
        ("POST", "/v1/feedback"),
        ("DELETE", f"/v1/conversations/{uuid4()}"),
        ("GET", "/metrics"),
        ("GET", "/openapi.json"),
    ):
        assert beside.ask_door(method, path, entity, **head)[0] in (404, 405), path


def test_the_door_answers_nobody_who_would_answer_otherwise(beside: Beside) -> None:
    body = {"query": QUESTION}
    assert beside.ask_door("POST", "/v1/query", body, **{READER: "team:sales"})[0] == 200
    status, text = beside.ask_door(
        "POST", "/v1/query", body, **{READER: "team:sales", SAME: "0" * 64}
    )
    assert (status, text) == (421, "")


def test_the_network_knows_no_reader_that_a_header_names(beside: Beside) -> None:
    head = {READER: "team:board", SAME: describe(beside.settings)}
    asked = httpx.post(f"{beside.url}/v1/query", json={"query": QUESTION}, headers=head)
    assert asked.status_code == 401


def test_only_the_owner_can_connect(beside: Beside) -> None:
    assert beside.door.lstat().st_mode & 0o777 == 0o600


CONNECT = """
import os, socket, sys
os.setgid(65534), os.setuid(65534)
asking = socket.socket(socket.AF_UNIX)
try:
    asking.connect(sys.argv[1])
    asking.sendall(b"GET /v1/documents HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
    print(asking.recv(100))
except OSError as error:
    print(type(error).__name__)
"""


@pytest.mark.skipif(os.geteuid() != 0 or sys.platform != "linux", reason="only root is two users")
def test_another_user_is_refused_also_where_the_file_is_open(beside: Beside) -> None:
    def connect() -> str:
        program = [sys.executable, "-c", CONNECT, str(beside.door)]
        return subprocess.run(program, capture_output=True, text=True, check=True).stdout.strip()

    assert connect() == "PermissionError"
    beside.door.chmod(0o666)
    try:
        assert connect() in ("b''", "ConnectionResetError", "BrokenPipeError")
    finally:
        beside.door.chmod(0o600)


@dataclass
class Impostor:
    """Listens on a socket and answers with `reply`; counts who connects."""

    reply: bytes
    asked: int = 0

    async def answer(self, reading: asyncio.StreamReader, writing: asyncio.StreamWriter) -> None:
        self.asked += 1
        await reading.readuntil(b"\r\n\r\n")
        writing.write(self.reply)
        writing.close()


def make_call() -> Call[bytes]:
    return Call(method="GET", path="/v1/documents", read=lambda reply: reply.content)


async def ask_impostor(
    folder: Path, reply: bytes, change: Callable[[Path], object] = lambda _: None
) -> tuple[tuple[bytes] | None, int]:
    """Return what a command takes from a program that listens where a server would, and how often it asked."""
    chosen = Settings(data=folder)
    path = door_path(chosen)
    assert path is not None
    impostor = Impostor(reply)
    async with await asyncio.start_unix_server(impostor.answer, path):
        path.chmod(0o600)
        change(path)
        made = await owner_door.ask_at_door(make_call, frozenset({"team:sales"}), chosen)
    return made, impostor.asked


def reply(status: str, text: str, length: int | None = None) -> bytes:
    said = len(text) if length is None else length
    return f"HTTP/1.1 {status}\r\nContent-Length: {said}\r\n\r\n{text}".encode()


@pytest.fixture
def folder() -> Iterator[Path]:
    with temporary_folder() as made:
        yield made


@pytest.mark.parametrize(
    ("sent", "taken"),
    [
        (reply("200 OK", "yes"), (b"yes",)),
        (reply("200 OK", "cut", 10), None),
        (reply("421 Misdirected", "no"), None),
        (reply("500 Failed", "no"), None),
        (b"220 mail.example ESMTP\r\n", None),
        (b"", None),
    ],
)
async def test_only_a_whole_reply_is_taken(
    folder: Path, sent: bytes, taken: tuple[bytes] | None
) -> None:
    assert await ask_impostor(folder, sent) == (taken, 1)


def open_to_all(path: Path) -> None:
    path.chmod(0o666)


def in_a_folder_of_all(path: Path) -> None:
    path.parent.chmod(0o777)


def behind_a_link(path: Path) -> None:
    path.rename(path.with_name("real"))
    path.symlink_to(path.with_name("real"))


def of_somebody_else(path: Path) -> None:
    os.chown(path, 65534, 65534)


@pytest.mark.parametrize(
    "change",
    [
        open_to_all,
        in_a_folder_of_all,
        behind_a_link,
        pytest.param(
            of_somebody_else,
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away"),
        ),
    ],
)
async def test_what_others_may_have_put_there_is_not_asked(
    folder: Path, change: Callable[[Path], object]
) -> None:
    assert await ask_impostor(folder, reply("200 OK", "yes"), change) == (None, 0)


async def test_a_socket_that_nobody_listens_on_and_a_file_are_no_server(folder: Path) -> None:
    chosen = Settings(data=folder)
    path = door_path(chosen)
    assert path is not None
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    path.chmod(0o600)
    assert await owner_door.ask_at_door(make_call, frozenset(), chosen) is None
    path.unlink()
    path.write_text("")
    assert await owner_door.ask_at_door(make_call, frozenset(), chosen) is None


def test_tags_come_through_a_header_as_they_are() -> None:
    tags = frozenset({"team:sales", "user:jürgen", "a%2Cb", "x;y=z"})
    header = write_tags(tags)
    assert header.isascii()
    assert read_tags(header) == tags
    assert read_tags("") == frozenset()


def test_a_store_with_endpoints_or_a_database_of_its_own_has_no_door(folder: Path) -> None:
    has_door = Settings(data=folder)
    assert door_path(has_door) == folder.resolve() / "owner.sock"
    for place, value in (
        ("database_url", "postgresql://localhost/x"),
        ("chat.url", "http://127.0.0.1:1/v1"),
        ("embedding.url", "http://127.0.0.1:1/v1"),
        ("reranker.url", "http://127.0.0.1:1/v1"),
        ("data", folder / ("long" * 40)),
    ):
        assert door_path(has_door.with_values({place: value})) is None, place


@pytest.mark.usefixtures("closed_store")
def test_after_a_crash_the_store_is_opened_and_the_next_server_has_the_door() -> None:
    with temporary_folder() as home:
        store = Beside(home, "")
        with serving(home, "") as (process, url):
            until_ready(url)
            assert store.door.exists()
            process.kill()
            process.wait(PATIENCE)
        assert store.door.exists()
        with pytest.raises(StoreOpened):
            run(home, "documents", "list", *SALES)
        with serving(home, "") as (process, url):
            until_ready(url)
            assert store.ask_door("GET", "/v1/documents", **{READER: "team:sales"})[0] == 409
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE)
        assert not store.door.exists()
