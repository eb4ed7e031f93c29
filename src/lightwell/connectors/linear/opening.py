"""Opens a workspace of Linear with the options of a source."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import httpx

from lightwell.connectors.api_client import ApiClient
from lightwell.connectors.linear.api import NAME, LinearApi, wait_asked
from lightwell.connectors.linear.source import LinearSource
from lightwell.connectors.source_options import check_options, parse_base_url
from lightwell.domain.errors import Invalid

BASE_URL = "https://api.linear.app"
_OPTIONS = ("base_url",)
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
    check_options("linear", options, _OPTIONS)
    async with httpx.AsyncClient(
        base_url=parse_base_url(options.get("base_url", BASE_URL)),
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
