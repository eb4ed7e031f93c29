"""Opens a workspace of Linear with the options of a source."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import httpx

from lightwell.connectors.api_client import ApiClient
from lightwell.connectors.linear.api import NAME, LinearApi, wait_asked
from lightwell.connectors.linear.source import LinearSource
from lightwell.domain.errors import Invalid

BASE_URL = "https://api.linear.app"
_OPTIONS = frozenset(("base_url",))
_OAUTH_PREFIX = "lin_oauth_"
_TIMEOUT_SECONDS = 60.0


@asynccontextmanager
async def open_linear(
    options: Mapping[str, str],
    token: str,
    webhook_secret: str,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncGenerator[LinearSource]:
    """Open the workspace of an API key or an OAuth token; raise `Invalid` for an option that is not known or wrong.

    `webhook_secret` is "" where no webhooks are taken. `transport` stands for the network. A redirect is not followed,
    so the token goes to Linear alone.
    """
    if unknown := sorted(options.keys() - _OPTIONS):
        raise Invalid(f"A source of Linear has no option {unknown[0]!r}; there is: base_url")
    async with httpx.AsyncClient(
        base_url=_parse_base_url(options.get("base_url", BASE_URL)),
        headers={"authorization": _authorize(token), "user-agent": "Lightwell"},
        timeout=_TIMEOUT_SECONDS,
        transport=transport,
    ) as client:
        api = LinearApi(api=ApiClient(name=NAME, client=client, wait_asked=wait_asked))
        yield LinearSource(api=api, webhook_secret=webhook_secret)


def _authorize(token: str) -> str:
    """Return the header of the token: Linear takes API keys as they are, and OAuth tokens as bearer tokens."""
    if not token.isascii() or not token.isprintable():
        raise Invalid("The token of Linear has characters that no token has; copy it again")
    return f"Bearer {token}" if token.startswith(_OAUTH_PREFIX) else token


def _parse_base_url(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise Invalid(f"base_url is not valid: {error}") from None
    if url.scheme not in ("http", "https") or not url.host or url.userinfo:
        raise Invalid("base_url is a URL without a password, such as https://api.linear.app")
    return url
