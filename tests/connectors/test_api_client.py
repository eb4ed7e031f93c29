"""Calls of a vendor's API over real HTTP: what a server may send, and what ends a call."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
import pytest
import stamina

from lightwell.connectors.api_client import ApiClient, ResponseTooLarge, retry_after
from lightwell.connectors.opening import Api, open_api
from lightwell.domain.errors import SourceFailed

MAX_BYTES = 100_000
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED, PACKED = b"transfer-encoding: chunked\r\n", b"content-encoding: gzip\r\n"
DATE = "Wed, 21 Oct 2026 07:28:00 GMT"


@pytest.fixture(autouse=True)
def _no_waiting() -> Generator[None]:
    stamina.set_testing(True, attempts=3)
    yield
    stamina.set_testing(False)


@dataclass
class Vendor:
    """A server that answers each connection with the next of its parts, and then hangs up; the last for ever if `is_endless`."""

    answers: list[Sequence[bytes]] = field(default_factory=list[Sequence[bytes]])
    is_endless: bool = False
    requests: list[bytes] = field(default_factory=list[bytes])
    sent: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append(await reader.readuntil(b"\r\n\r\n"))
        parts = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        try:
            for part in parts:
                await self._send(writer, part)
            while self.is_endless:
                await self._send(writer, parts[-1])
        except ConnectionError:
            return  # the client has enough
        finally:
            writer.close()

    async def _send(self, writer: asyncio.StreamWriter, part: bytes) -> None:
        writer.write(part)
        await writer.drain()
        self.sent += len(part)
        await asyncio.sleep(0)


@asynccontextmanager
async def calling(vendor: Vendor, *, max_seconds: float = 60) -> AsyncGenerator[ApiClient]:
    server = await asyncio.start_server(vendor.serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    api = Api(
        name="Vendor",
        base_url=f"http://{host}:{port}",
        headers={},
        rate_limit_wait=lambda response: None,
    )
    async with server, open_api(api, None) as client:
        yield ApiClient(
            name=client.name,
            client=client.client,
            rate_limit_wait=client.rate_limit_wait,
            max_bytes=MAX_BYTES,
            max_seconds=max_seconds,
        )


async def call(client: ApiClient) -> httpx.Response:
    return await client.send(client.client.build_request("GET", "/rows"))


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def whole(body: bytes, *headers: bytes) -> list[bytes]:
    length = b"content-length: %d\r\n" % len(body)
    return [OK + b"".join(headers) + length + b"\r\n" + body]


BODY = b'{"rows": []}' * 100


@pytest.mark.parametrize("answer", [whole(BODY), whole(gzip.compress(BODY), PACKED)])
async def test_an_answer_arrives_whole_packed_or_not(answer: Sequence[bytes]) -> None:
    vendor = Vendor([answer])
    async with calling(vendor) as client:
        response = await call(client)
    assert (response.status_code, response.content) == (200, BODY)
    assert b"accept-encoding: gzip\r\n" in vendor.requests[0].lower()


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed_so_no_credential_goes_to_another_host(
    status: int,
) -> None:
    elsewhere = Vendor([whole(BODY)])
    async with calling(elsewhere) as other:
        line = f"HTTP/1.1 {status} Moved\r\nlocation: {other.client.base_url.join('/rows')}\r\n".encode()
        vendor = Vendor([[line + b"content-length: 0\r\n\r\n"]])
        async with calling(vendor) as client:
            client.client.headers["authorization"] = "Bearer secret"
            response = await call(client)
    assert (response.status_code, len(vendor.requests), elsewhere.requests) == (status, 1, [])


async def test_an_endless_answer_ends_the_call() -> None:
    vendor = Vendor([[OK + CHUNKED + b"\r\n", chunk(b"x" * 8_000)]], is_endless=True)
    async with calling(vendor) as client:
        with pytest.raises(ResponseTooLarge, match=r"Vendor sent more than 0 MB in one answer"):
            await call(client)
    assert len(vendor.requests) == 1, "what is too large is not asked for again"


async def test_a_small_answer_that_unpacks_to_a_large_one_ends_the_call_before_it_is_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    bomb = b"".join(packer.compress(bytes(10**6)) for _ in range(60)) + packer.flush()
    assert len(bomb) < MAX_BYTES
    async with calling(Vendor([whole(bomb, PACKED)])) as client:
        with pytest.raises(ResponseTooLarge):
            await call(client)


@pytest.mark.parametrize("packing", ["gzip, gzip", "br", "zstd", "deflate"])
async def test_a_packing_that_was_not_asked_for_is_refused(packing: str) -> None:
    answer = whole(gzip.compress(b"{}"), f"content-encoding: {packing}\r\n".encode())
    async with calling(Vendor([answer])) as client:
        with pytest.raises(SourceFailed, match="was not asked for"):
            await call(client)


async def test_an_answer_that_drips_ends_the_call() -> None:
    """Each byte comes soon after the last one, so no single wait is too long."""
    vendor = Vendor([[OK + CHUNKED + b"\r\n", b"1;"]], is_endless=True)
    async with calling(vendor, max_seconds=0.05) as client:
        with pytest.raises(SourceFailed, match=r"took longer than 0\.05 seconds for one answer"):
            await call(client)


CUT = [
    [OK + b"content-length: 100\r\n\r\n{"],
    [OK + CHUNKED + b"\r\n", chunk(b"{")],
    whole(gzip.compress(b"{}" * 9_000)[:-9], PACKED),
    whole(b"no gzip", PACKED),
    [b"HTTP/1.1 200"],
    [b"hello\r\n\r\n"],
]


@pytest.mark.parametrize("cut", CUT)
async def test_an_answer_that_is_cut_is_asked_for_again(cut: Sequence[bytes]) -> None:
    vendor = Vendor([cut, cut, whole(b"{}")])
    async with calling(vendor) as client:
        assert (await call(client)).content == b"{}"
    assert len(vendor.requests) == 3


ODD = [
    ("", None),
    ("-5", None),
    ("1.5", None),
    ("soon", None),
    ("0", 0.0),
    ("7", 7.0),
    ("9" * 400, float("inf")),
    ("Wed, 21 Oct 2026 07:28:09 GMT", 9.0),
    ("Wed, 21 Oct 2026 07:27:00 GMT", 0.0),
    ("Wed, 31 Feb 2026 07:27:00 GMT", None),
    ("Wed, 21 Oct 2026 07:28:00 +" + "9" * 20, None),
    ("9" * 30 + " Oct 2026 07:28:00 GMT", None),
]


@pytest.mark.parametrize(("text", "seconds"), ODD)
def test_the_time_to_wait_is_read_or_unknown_whatever_the_header_says(
    text: str, seconds: float | None
) -> None:
    assert retry_after(httpx.Response(429, headers={"retry-after": text, "date": DATE})) == seconds
    assert retry_after(httpx.Response(429, headers={"date": text})) is None


@pytest.mark.parametrize("asked", ["-5", "0", "soon", DATE, None])
async def test_a_limit_with_any_time_to_wait_is_waited_for(asked: str | None) -> None:
    header = f"retry-after: {asked}\r\ndate: {DATE}\r\n" if asked else ""
    busy = [f"HTTP/1.1 429 Busy\r\n{header}content-length: 0\r\n\r\n".encode()]
    async with calling(Vendor([busy, busy, whole(b"{}")])) as client:
        limited = ApiClient(name="Vendor", client=client.client, rate_limit_wait=retry_after)
        assert (await call(limited)).status_code == 200


async def test_a_limit_that_asks_for_too_long_a_wait_ends_the_call() -> None:
    busy = [b"HTTP/1.1 429 Busy\r\nretry-after: 99999\r\ncontent-length: 0\r\n\r\n"]
    async with calling(Vendor([busy])) as client:
        limited = ApiClient(name="Vendor", client=client.client, rate_limit_wait=retry_after)
        with pytest.raises(SourceFailed, match="asks to wait 99,999 seconds"):
            await call(limited)
