"""Fetching from the web: what only this machine reaches is not reached through it."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from lightwell.connectors import web
from lightwell.connectors.intake import find_below
from lightwell.connectors.single_document import upload_origin
from lightwell.connectors.web import (
    AddressPolicy,
    Page,
    SystemResolver,
    WebFetcher,
    is_own,
    parse_networks,
)
from lightwell.domain.errors import Invalid, NotFound, SourceFailed, TooLarge
from tests.patience import PATIENCE

PUBLIC = (
    "93.184.215.14",
    "2606:2800:21f:cb07:6820:80da:af6b:8b2c",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
)
PRIVATE = """
127.0.0.1 127.8.8.8 0.0.0.0 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 100.100.100.200 168.63.129.16
192.0.0.192 198.18.0.1 192.0.2.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 ::1 :: fe80::1 fe80::1%eth0 fc00::1
fd00:ec2::254 ff02::1 ff0e::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe
64:ff9b:1::7f00:1 2002:7f00:1:: fec0::1 ::127.0.0.1 ::ffff:0:7f00:1 5f00::1 4000::1 2002:a00:1:: 2001:0:808:808::80ff:fffe
""".split()


def test_public_addresses_are_permitted_and_no_others() -> None:
    policy = AddressPolicy()
    assert [each for each in PUBLIC if not policy.permits(each)] == []
    assert [each for each in PRIVATE if policy.permits(each)] == []


def test_networks_that_are_named_are_permitted() -> None:
    policy = AddressPolicy(allowed=parse_networks("10.1.0.0/16, ::1"))
    assert [policy.permits(each) for each in ("10.1.2.3", "::ffff:10.1.2.3", "::1")] == [True] * 3
    assert [policy.permits(each) for each in ("10.2.0.1", "127.0.0.1")] == [False] * 2
    with pytest.raises(Invalid, match=r"10\.1\.0\.0/16"):
        parse_networks("10.1.2.3/16")


@dataclass
class Names:
    """A resolver whose answers change: each name has a list of answers, the last of which stays."""

    answers: dict[str, list[list[str]]]
    asked: list[str] = field(default_factory=list[str])

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        known = self.answers.get(host, [[]])
        return known.pop(0) if len(known) > 1 else known[0]


@asynccontextmanager
async def site(answer: bytes) -> AsyncGenerator[tuple[int, list[str]], None]:
    """Serve one raw response to every request on loopback; yield the port and the first lines and hosts of requests."""
    seen: list[str] = []

    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        seen.append(next(line for line in head.split("\r\n") if line.startswith("host:")))
        writer.write(answer)
        try:
            await writer.drain()
        finally:
            writer.close()

    async with await asyncio.start_server(reply, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], seen


LOOPBACK = AddressPolicy(allowed=parse_networks("127.0.0.1"))


def fetcher(names: Names, policy: AddressPolicy = LOOPBACK) -> WebFetcher:
    return WebFetcher(max_bytes=1000, seconds=PATIENCE, policy=policy, resolve=names)


def http(body: bytes = b"", *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def test_the_connection_goes_to_the_address_that_was_checked() -> None:
    """A name that means loopback a moment later is not asked for again."""
    names = Names({"dam.example": [["127.0.0.1"], ["169.254.169.254"]]})
    async with site(http(b"The dam.", "Content-Type: text/markdown; charset=utf-8")) as (
        port,
        seen,
    ):
        page = await fetcher(names).fetch(f"http://dam.example:{port}/notes#part")
    assert page.content == b"The dam."
    assert (page.url, page.content_type) == (f"http://dam.example:{port}/notes", "text/markdown")
    assert page.name == "notes.md"
    assert (names.asked, seen) == (["dam.example"], [f"host: dam.example:{port}"])


@pytest.mark.parametrize("addresses", [["127.0.0.1"], [], ["8.8.8.8", "127.0.0.1"]])
async def test_a_name_with_any_private_address_is_not_connected_to(addresses: list[str]) -> None:
    """The message is that of an unknown name, so that nobody learns which names the internal network knows."""
    names = Names({"dam.example": [addresses]})
    async with site(http(b"secret")) as (port, seen):
        with pytest.raises(Invalid, match=r"dam\.example has no public address"):
            await fetcher(names, AddressPolicy()).fetch(f"http://dam.example:{port}/")
    assert seen == []


@pytest.mark.parametrize(
    "target",
    [
        "http://inside.example/",
        "//inside.example/",
        "http://169.254.169.254/latest",
        "file:///etc/passwd",
        "gopher://x/",
    ],
)
async def test_a_redirect_is_checked_like_the_first_url(target: str) -> None:
    names = Names(
        {
            "dam.example": [["127.0.0.1"]],
            "inside.example": [["10.0.0.1"]],
            "169.254.169.254": [["169.254.169.254"]],
        }
    )
    async with site(http(b"", f"Location: {target}", status="302 Found")) as (port, _):
        with pytest.raises(Invalid, match=r"no public address|Only http"):
            await fetcher(names).fetch(f"http://dam.example:{port}/")


@pytest.mark.parametrize(
    "target",
    [
        "http://e\x01/",
        "//\xe2\x80\xae",
        "/" + "x" * 60_000,
        "http://xn--a/",
        "http://127.0.0.1:99999/",
        "http://e:-1/",
    ],
)
async def test_a_redirect_to_what_is_no_url_is_an_error_of_the_source(target: str) -> None:
    policy = AddressPolicy(allowed=parse_networks("127.0.0.0/8"))
    names = Names({"dam.example": [["127.0.0.1"]], "127.0.0.1": [["127.0.0.1"]]})
    async with site(http(b"", f"Location: {target}", status="302 Found")) as (port, _):
        fetching = WebFetcher(max_bytes=1000, seconds=5, policy=policy, resolve=names)
        with pytest.raises((Invalid, SourceFailed)):
            await fetching.fetch(f"http://dam.example:{port}/")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:99999/", "http://xn--a/", "http://dam.example:0/"]
)
async def test_a_url_that_names_no_place_is_refused(url: str) -> None:
    with pytest.raises(Invalid):
        await fetcher(Names({})).fetch(url)


async def test_redirects_end() -> None:
    names = Names({"dam.example": [["127.0.0.1"]]})
    async with site(http(b"", "Location: /again", status="307 Temporary Redirect")) as (port, seen):
        with pytest.raises(SourceFailed, match="redirects more than 5 times"):
            await fetcher(names).fetch(f"http://dam.example:{port}/")
    assert len(seen) == 6


@pytest.mark.parametrize("headers", [["Content-Length: 5000"], []])
async def test_a_document_that_is_too_large_is_not_read_to_its_end(headers: list[str]) -> None:
    names = Names({"dam.example": [["127.0.0.1"]]})
    async with site(http(b"a" * 5000, *headers)) as (port, _):
        with pytest.raises(TooLarge):
            await fetcher(names).fetch(f"http://dam.example:{port}/")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (http(b"x", "Content-Encoding: gzip"), "compressed"),
        (http(b"x", status="404 Not Found"), "status 404"),
        (b"SSH-2.0-OpenSSH\r\n", "could not be read"),
        (http(b"a", "Content-Length: 10"), "could not be read"),
    ],
)
async def test_a_reply_that_is_no_document_is_a_failure_of_the_source(
    answer: bytes, said: str
) -> None:
    names = Names({"dam.example": [["127.0.0.1"]]})
    async with site(answer) as (port, _):
        with pytest.raises(SourceFailed, match=said):
            await fetcher(names).fetch(f"http://dam.example:{port}/")


async def test_a_server_that_never_answers_costs_limited_time() -> None:
    names = Names({"dam.example": [["127.0.0.1"]]})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://dam.example:{silent.getsockname()[1]}/"
        with pytest.raises(SourceFailed, match="longer than"):
            await replace(fetcher(names), seconds=0.05).fetch(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://2130706433/",
        "http://0x7f.1/",
        "http://127.1/",
        "http://[::ffff:127.0.0.1]/",
        "http://localhost/",
    ],
)
async def test_other_ways_to_write_loopback_are_seen_through(url: str) -> None:
    asking = WebFetcher(
        max_bytes=1000, seconds=PATIENCE, policy=AddressPolicy(), resolve=SystemResolver()
    )
    with pytest.raises(Invalid, match="no public address"):
        await asking.fetch(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "dam.example",
        "http://",
        "http://a:b@dam.example/",
        "http://dam.example:99999/",
        "http://\0/",
        "http://" + "a" * 3000,
    ],
)
async def test_a_url_that_is_not_fetched_is_refused(url: str) -> None:
    with pytest.raises(Invalid):
        await fetcher(Names({})).fetch(url)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\x\\a.md", "a.md"),
        ("\0\x1b", "document"),
        ("", "document"),
        ("a/", "document"),
    ],
)
def test_a_file_name_is_no_path(name: str, shown: str) -> None:
    origin = upload_origin(name)
    assert origin.name == shown
    assert origin.url == f"upload:///{origin.source_id}/{shown}"
    assert upload_origin(name).url != origin.url


def test_the_name_of_a_page_has_the_extension_of_its_type() -> None:
    page = Page(
        url="http://x/", final_url="http://x/a/", content_type="application/pdf", content=b""
    )
    assert page.name == "page.pdf"


def test_no_path_is_read_without_an_open_folder(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    with pytest.raises(Invalid, match="LIGHTWELL_INGEST_ROOTS"):
        find_below(str(tmp_path / "a.md"), ())
    assert find_below(str(tmp_path / "a.md"), (tmp_path,)) == (tmp_path / "a.md").resolve()
    for missing in ("b.md", "x" * 5000):
        with pytest.raises(NotFound):
            find_below(str(tmp_path / missing), (tmp_path,))


def test_addresses_of_this_machine_are_known() -> None:
    """A public one of them reaches what its firewall keeps from others."""
    assert is_own("127.0.0.1")
    assert not is_own("198.51.100.7")


async def test_this_machine_s_own_address_is_not_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(web, "is_own", "8.8.8.8".__eq__)
    with pytest.raises(Invalid, match="no public address"):
        await fetcher(Names({"self.example": [["8.8.8.8"]]})).fetch("http://self.example/")
