"""Slack's Web API: its errors as ours, and the bot's token for its own hosts alone."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import cast

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse
from yarl import URL

from lightwell.domain.errors import ChannelFailed, ChannelGone
from lightwell.text.regex import regex

SLACK_API = "https://slack.com/api/"

_CALL_SECONDS = 90.0
"""How long a call may take with the pauses that Slack asks for."""

_REQUEST_SECONDS = 20.0
_GONE = frozenset(
    "cannot_dm_bot channel_not_found is_archived messages_tab_disabled not_in_channel "
    "restricted_action_read_only_channel user_disabled user_not_found user_not_in_channel "
    "user_not_visible".split()
)
OTHER_FORM = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""What Slack's libraries raise where what came has another form, or is nested too deep."""

_NO_ANSWERS = (aiohttp.ClientError, SlackClientError, OSError, *OTHER_FORM)
_ERROR = regex(r"[a-z][a-z0-9_]{1,60}")

SILENT = logging.Logger("slack", logging.CRITICAL + 1)
"""The log of Slack's libraries, of no hierarchy so that nobody turns it on: they quote messages, addresses with tickets, and requests."""


class SlackRefused(ChannelFailed):
    """Slack's refusal of a call, by its own word: `msg_too_long`."""

    def __init__(self, word: str) -> None:
        super().__init__(f"Slack refused: {word}")
        self.word = word


def slack_client(token: str, api: str, session: aiohttp.ClientSession) -> AsyncWebClient:
    """Return Slack's client with a token, which waits where Slack asks it to, and repeats nothing that may have been taken."""
    client = AsyncWebClient(
        token=token,
        base_url=api,
        timeout=int(_REQUEST_SECONDS),
        session=session,
        logger=SILENT,
        retry_handlers=[AsyncRateLimitErrorRetryHandler(max_retry_count=3)],
    )
    client.proxy = None  # the session reads the environment, and NO_PROXY, too
    return client


@asynccontextmanager
async def slack_session() -> AsyncGenerator[aiohttp.ClientSession]:
    """Open connections that follow no redirect, so that neither a token nor a message goes where it was not sent."""
    tracing = aiohttp.TraceConfig()
    tracing.on_request_redirect.append(_refuse_redirect)
    timeout = aiohttp.ClientTimeout(total=_REQUEST_SECONDS)
    async with aiohttp.ClientSession(
        trace_configs=[tracing], timeout=timeout, trust_env=True
    ) as session:
        yield session


async def answer(call: Awaitable[AsyncSlackResponse]) -> AsyncSlackResponse:
    """Return what Slack answers.

    Raises `SlackRefused` with Slack's own word, `ChannelGone` where the chat takes no messages, `ChannelFailed` where Slack does not answer.
    """
    try:
        async with asyncio.timeout(_CALL_SECONDS):
            return await call
    except SlackApiError as error:
        raise _refusal(error) from None
    except _NO_ANSWERS as error:
        raise ChannelFailed(f"Slack did not answer ({type(error).__name__})") from None


def is_of(address: str, api: str, name: str) -> bool:
    """Return whether an address is of the API's host, or of the host with this name in its domain, such as files.slack.com."""
    try:
        origin, api_origin = URL(address).origin(), URL(api).origin()
    except ValueError:
        return False
    return origin in (api_origin, api_origin.with_host(f"{name}.{api_origin.host}"))


def _refusal(error: SlackApiError) -> ChannelFailed:
    response = cast("object", error.response)
    data = cast("object", response.data) if isinstance(response, AsyncSlackResponse) else response
    word = str(cast("Mapping[str, object]", data).get("error")) if isinstance(data, dict) else ""
    word = word if _ERROR.fullmatch(word) else "unknown"
    if word in _GONE:
        return ChannelGone(f"Slack: {word}")
    return SlackRefused(word)


async def _refuse_redirect(
    session: aiohttp.ClientSession, context: SimpleNamespace, parameters: object
) -> None:
    raise ChannelFailed("Slack redirected a request, which is not followed")
