"""Opens the HTTP API of a business system, as all connectors do."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from lightwell.connectors.api_client import ACCEPT_ENCODING, ApiClient, RateLimitWait
from lightwell.connectors.source_options import parse_base_url
from lightwell.domain.errors import Invalid

_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """Where a system's API is, and how it is called. `name` is for messages; `headers` hold the credentials."""

    name: str
    base_url: str
    headers: Mapping[str, str]
    rate_limit_wait: RateLimitWait


@asynccontextmanager
async def open_api(
    api: Api, transport: httpx.AsyncBaseTransport | None
) -> AsyncGenerator[ApiClient]:
    """Open the API; raise `Invalid` for an address or credentials that are none. `transport` stands for the network.

    Redirects are not followed, so the credentials go to this address alone.
    """
    for value in api.headers.values():
        if not value.isascii() or not value.isprintable():
            raise Invalid(
                f"The token of {api.name} has characters that no token has; copy it again"
            )
    async with httpx.AsyncClient(
        base_url=parse_base_url(api.base_url),
        headers={**api.headers, "user-agent": "Lightwell", "accept-encoding": ACCEPT_ENCODING},
        timeout=_TIMEOUT_SECONDS,
        transport=transport,
    ) as client:
        yield ApiClient(name=api.name, client=client, rate_limit_wait=api.rate_limit_wait)
