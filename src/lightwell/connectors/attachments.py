"""Files that a business system's items carry, downloaded within limits, and without the system's token."""

from dataclasses import dataclass, field
from ipaddress import ip_network

import httpx

from lightwell.connectors.web import AddressPolicy, Resolve, SystemResolver, WebFetcher
from lightwell.domain.errors import Invalid, SourceFailed, TooLarge, Unreadable

_SECONDS = 60.0
_ATTEMPTS = 2
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentReader:
    """Downloads files of up to `max_bytes` from the system's own server, and by HTTPS from public ones that it names."""

    base_url: str
    max_bytes: int
    resolve: Resolve = field(default_factory=SystemResolver)

    async def read(self, url: str) -> bytes:
        """Return the file; raise `Unreadable` where it is too large, not to be fetched from there, or not there."""
        base = httpx.URL(self.base_url)
        addresses = await self.resolve(base.host, _port(base))

        def accepts(target: httpx.URL) -> bool:
            """Other ports of the system's own host are not for files."""
            if target.host != base.host:
                return target.scheme == "https"
            return (target.scheme, _port(target)) == (base.scheme, _port(base))

        fetcher = WebFetcher(
            max_bytes=self.max_bytes,
            seconds=_SECONDS,
            policy=AddressPolicy(
                allowed=tuple(ip_network(address) for address in addresses),
                server=(base.raw_host.decode(), _port(base)),
            ),
            resolve=self.resolve,
            accepts=accepts,
        )
        problem = ""
        for _ in range(_ATTEMPTS):
            try:
                return (await fetcher.fetch(url)).content
            except TooLarge:
                raise
            except Invalid as error:
                raise Unreadable("forbidden", str(error)) from error
            except SourceFailed as error:
                problem = str(error)
        raise Unreadable("unreachable", problem)


def _port(url: httpx.URL) -> int:
    return url.port or _PORTS[url.scheme]
