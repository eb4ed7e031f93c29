"""Opens a workspace of Linear with the options of a source."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import httpx

from lightwell.connectors.linear.api import NAME, LinearApi, rate_limit_wait
from lightwell.connectors.linear.source import LinearSource
from lightwell.connectors.opening import Api, open_api
from lightwell.connectors.source_options import check_options

BASE_URL = "https://api.linear.app"
_OPTIONS = ("base_url",)
_OAUTH_PREFIX = "lin_oauth_"


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
    api = Api(
        name=NAME,
        base_url=options.get("base_url", BASE_URL),
        headers={"authorization": _authorize(token)},
        rate_limit_wait=rate_limit_wait,
    )
    async with open_api(api, transport) as client:
        yield LinearSource(api=LinearApi(api=client), webhook_secret=webhook_secret)


def _authorize(token: str) -> str:
    """Return the header of the token: Linear takes API keys as they are, and OAuth tokens as bearer tokens."""
    return f"Bearer {token}" if token.startswith(_OAUTH_PREFIX) else token
