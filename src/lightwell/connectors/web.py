"""Documents on the web. Their URLs come from clients, who must not reach through this server what only it can reach.

A name is resolved once for each connection, and the connection goes to the address that was checked: what the name means
a moment later has no effect. Redirects are followed here, so that each target is checked like the first URL.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import cast

import httpcore
import httpx

from lightwell.domain.errors import Invalid, SourceFailed, TooLarge
from lightwell.domain.texts import require_text, split_at_commas

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""From a host's name and a port to the host's addresses, without repetition; () for an unknown name."""

_MAX_REDIRECTS = 5
_RESOLVER_THREADS = 4
_MAX_URL_LENGTH = 2000
_MAX_PORT = 65_535
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_TRANSLATED = IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NEVER = (
    ip_network(
        "168.63.129.16/32"
    ),  # a public address that is a cloud's own service on its machines
    ip_network(
        "192.0.0.0/24"
    ),  # for protocols and clouds' own services; older Pythons call parts of it public
    ip_network("64:ff9b:1::/48"),  # translates to IPv4 addresses of a local network
)
_HEADERS = (
    (b"user-agent", b"Lightwell"),
    (b"accept", b"*/*"),
    (b"accept-encoding", b"identity"),  # so that the limit of bytes holds for what is unpacked, too
)
_EXTENSIONS = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "application/pdf": ".pdf",
    "text/markdown": ".md",
    "text/plain": ".txt",
    "text/csv": ".csv",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/epub+zip": ".epub",
    "application/x-ipynb+json": ".ipynb",
    "application/json": ".json",
    "application/x-ndjson": ".jsonl",
    "application/yaml": ".yaml",
    "application/toml": ".toml",
    "text/x-python": ".py",
    "text/javascript": ".js",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.oasis.opendocument.presentation": ".odp",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressPolicy:
    """Which addresses documents may be fetched from: public ones, and those in the `allowed` networks.

    With a `server`, a host's name and a port, the networks are allowed for connections to it alone: another name that
    leads to the same address reaches nothing there.
    """

    allowed: tuple[Network, ...] = ()
    server: tuple[str, int] | None = None

    def for_server(self, host: str, port: int) -> "AddressPolicy":
        """Return the policy for connections to this host and port."""
        is_meant = self.server is None or self.server == (host, port)
        return self if is_meant else AddressPolicy()

    def names(self, text: str) -> bool:
        """Return whether the address is in one of the `allowed` networks."""
        return _is_in(ip_address(text), self.allowed)

    def permits(self, text: str) -> bool:
        if self.names(text):
            return True
        address = ip_address(text)
        carried = _carried_address(address)
        if carried is not None:
            return self.permits(str(carried))
        if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
            return False  # nothing else is assigned to the public, whatever Python calls it
        return address.is_global and not address.is_multicast and not _is_in(address, _NEVER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a URL delivered. `name` is a file name with the extension that the content type stands for; `modified` and `etag` are the server's word.

    `retry_after` is how long it asks to be left alone. Without the `status` 200 there is no content.
    """

    url: str
    final_url: str
    content_type: str
    content: bytes
    modified: str = ""
    status: int = HTTPStatus.OK
    etag: str = ""
    retry_after: str = ""

    @property
    def name(self) -> str:
        name = httpx.URL(self.final_url).path.rsplit("/", 1)[-1] or "page"
        return name + _EXTENSIONS.get(self.content_type, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebFetcher:
    """Fetches documents by HTTP and HTTPS, within limits of bytes and of seconds for one document.

    `accepts` says of each URL, also of those that it redirects to, whether it may be fetched.
    """

    max_bytes: int
    seconds: float
    policy: AddressPolicy
    resolve: Resolve
    accepts: Callable[[httpx.URL], bool] = lambda url: True

    async def fetch(self, url: str) -> Page:
        """Return what the URL delivers; raise `Invalid` for a URL that is not fetched, `TooLarge`, or `SourceFailed`."""
        page = await self.ask(url)
        if page.status != HTTPStatus.OK:
            host = httpx.URL(page.final_url).host
            raise SourceFailed(f"{host} answered with status {page.status}")
        return page

    async def ask(self, url: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> Page:
        """Return what the URL delivers, whatever its status, when asked with these headers, too; raise as `fetch` does."""
        first = _parse(url)
        pool = httpcore.AsyncConnectionPool(
            network_backend=_CheckedNetwork(self.policy, self.resolve), max_keepalive_connections=0
        )
        try:
            async with asyncio.timeout(self.seconds), pool:
                return await self._follow(pool, first, (*_HEADERS, *headers))
        except TimeoutError as error:
            raise SourceFailed(
                f"{first.host} took longer than {self.seconds:g} seconds, the most for one document"
            ) from error
        except (
            httpcore.NetworkError,
            httpcore.ProtocolError,
            httpcore.TimeoutException,
            OSError,
        ) as error:
            raise SourceFailed(f"{first.host} could not be read: {type(error).__name__}") from error

    async def _follow(
        self,
        pool: httpcore.AsyncConnectionPool,
        first: httpx.URL,
        asked_with: Sequence[tuple[bytes, bytes]],
    ) -> Page:
        url = first
        for _ in range(_MAX_REDIRECTS + 1):
            if not self.accepts(url):
                raise Invalid(f"Documents are not fetched from {url.scheme}://{url.host}")
            target = httpcore.URL(
                scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
            )
            async with pool.stream("GET", target, headers=asked_with) as response:
                headers = {
                    name.decode("ascii", "replace").lower(): value.decode("latin-1")
                    for name, value in response.headers
                }
                if response.status not in _REDIRECTS:
                    return await self._read(response, headers, (first, url))
            url = _parse(headers.get("location", ""), base=url)
        raise SourceFailed(f"{first.host} redirects more than {_MAX_REDIRECTS} times")

    async def _read(
        self,
        response: httpcore.Response,
        headers: dict[str, str],
        urls: tuple[httpx.URL, httpx.URL],
    ) -> Page:
        first, last = urls
        page = Page(
            url=str(first),
            final_url=str(last),
            content_type=headers.get("content-type", "").partition(";")[0].strip().lower(),
            content=b"",
            modified=headers.get("last-modified", ""),
            status=response.status,
            etag=headers.get("etag", ""),
            retry_after=headers.get("retry-after", ""),
        )
        if response.status != HTTPStatus.OK:
            return page
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise SourceFailed(
                f"{last.host} sent a compressed document, although it was asked not to"
            )
        content = bytearray()
        async for part in response.aiter_stream():
            content += part
            if len(content) > self.max_bytes:
                limit = f"{self.max_bytes / 1000**2:,.1f} MB"
                raise TooLarge(f"It is larger than {limit}, the most for one document")
        return replace(page, content=bytes(content))


class _CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to addresses that the policy permits, and to no other."""

    def __init__(self, policy: AddressPolicy, resolve: Resolve) -> None:
        self._policy = policy
        self._resolve = resolve
        self._network = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's interface
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = await self._resolve(host, port)
        policy = self._policy.for_server(host, port)
        # This machine's own public address only if the policy names it.
        if not addresses or not all(
            policy.permits(address) and (policy.names(address) or not is_own(address))
            for address in addresses
        ):
            # One message for both: nobody learns which names the internal network knows.
            raise Invalid(f"{host} has no public address, and documents are fetched from such only")
        for address in addresses[:-1]:
            try:
                return await self._network.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._network.connect_tcp(
            addresses[-1], port, timeout, local_address, socket_options
        )

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


class SystemResolver:
    """Resolves names by the system's resolver, in threads of its own.

    A name whose server does not answer holds a thread for half a minute. In the threads that the process shares, a few such
    names would stop the embedding of questions.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_RESOLVER_THREADS, thread_name_prefix="lightwell-names")

    async def __call__(self, host: str, port: int) -> list[str]:
        """Return the host's addresses in the system's order; none for an unknown name."""
        look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        try:
            answers = await asyncio.get_running_loop().run_in_executor(self._threads, look_up)
        except (OSError, UnicodeError):
            return []
        return list(dict.fromkeys(str(answer[4][0]) for answer in answers))


def is_own(text: str) -> bool:
    """Return whether the address is one of this machine's: what is sent there comes from there."""
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((text, 9))  # chooses a route, and sends nothing
            return probe.getsockname()[0] == text
        except OSError:
            return False


def parse_networks(text: str) -> tuple[Network, ...]:
    """Return the networks of a list with commas, such as `10.1.0.0/16, 192.168.7.5`; raise `Invalid`."""
    try:
        return tuple(ip_network(word) for word in split_at_commas(text))
    except ValueError as error:
        raise Invalid(f"{error}; write networks like 10.1.0.0/16, separated by commas") from None


def modified_at(page: Page) -> str:
    """Return the page's date in ISO form, "" where its server gives none that can be read."""
    try:
        return parsedate_to_datetime(page.modified).isoformat()
    except ValueError:
        return ""


def _parse(text: str, *, base: httpx.URL | None = None) -> httpx.URL:
    """Return the URL, which may be relative to `base`, without its fragment; raise `Invalid` unless documents are fetched from such URLs."""
    require_text(text, "The URL")
    try:
        url = httpx.URL(text.strip()) if base is None else base.join(text.strip())
        url = url.copy_with(fragment=None)
        host = url.host  # decoded only now, from the form that DNS uses
        has_port = url.port is None or 1 <= url.port <= _MAX_PORT
    except (httpx.InvalidURL, UnicodeError, ValueError) as error:
        raise Invalid(f"The URL is not valid: {error}") from None
    if not has_port:
        raise Invalid(f"A port is a number from 1 to {_MAX_PORT}")
    if url.scheme not in ("http", "https") or not host:
        raise Invalid("Only http and https URLs are fetched")
    if url.userinfo:
        raise Invalid(
            "A URL with a user name or a password is not fetched: they would be stored with it"
        )
    if len(str(url)) > _MAX_URL_LENGTH:
        raise Invalid(f"A URL has at most {_MAX_URL_LENGTH:,} characters")
    return url


def _carried_address(address: Address) -> Address | None:
    """Return the IPv4 address that packets to this IPv6 address reach, None for an address of its own."""
    if isinstance(address, IPv4Address):
        return None
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo and teredo[1])


def _is_in(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks if network.version == address.version)
