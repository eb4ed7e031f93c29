"""Takes what Slack sends by slack-bolt: an update is stored before Slack is told that it came."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from pydantic import ValidationError
from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncBoltContext, AsyncBoltRequest
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.error import BoltUnhandledRequestError
from slack_bolt.response import BoltResponse
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient

from lightwell.domain.channels import Account, Chat
from lightwell.entrypoints.channels.platform import Receive
from lightwell.entrypoints.slack.api import OTHER_FORM, SILENT, answer
from lightwell.entrypoints.slack.payloads import Actions, Command, EventBody
from lightwell.logs import logger, raise_location
from lightwell.text.regex import LatePattern, regex

_log = logger(__name__)
_ALL = LatePattern("", 0)
_MOMENT = regex(r"[0-9]{1,12}")
_REPLY_SECONDS = 2.5
"""Slack waits for 3 seconds, and then says that the app does not answer."""

ELSEWHERE = "I answer in our own chat."

Body = Mapping[str, object]
OwnChat = Callable[[Account], Awaitable[Chat]]


def make_app(client: AsyncWebClient, receive: Receive, own_chat: OwnChat) -> AsyncApp:
    """Return an app of slack-bolt that stores what comes; what it cannot store, it does not acknowledge, and what is nothing for the bot, it does."""
    app = AsyncApp(
        name="slack_app",  # whose logger of this name takes the level of SILENT
        client=client,
        logger=SILENT,
        authorize=_identity(client),
        process_before_response=True,
        request_verification_enabled=False,  # `is_signed` does so before anything is parsed
        ssl_check_enabled=False,
        attaching_function_token_enabled=False,
        attaching_conversation_kwargs_enabled=False,
        raise_error_for_unhandled_request=True,
    )

    async def on_event(body: Body, context: AsyncBoltContext) -> None:
        event = EventBody.model_validate(body)
        for update in event.updates(context.bot_user_id or "", context.actor_team_id):
            await receive(update)

    async def on_command(body: Body, ack: AsyncAck) -> None:
        command = Command.model_validate(body)
        chat = command.channel()
        if command.is_direct:
            chat = await own_chat(command.account)
        await receive(command.update(chat))
        await ack(ELSEWHERE if command.is_direct and chat.id != command.channel_id else "")

    async def on_press(body: Body, ack: AsyncAck) -> None:
        for update in Actions.model_validate(body).updates():
            await receive(update)
        await ack()

    app.event(_ALL.compiled)(on_event)
    app.command(_ALL.compiled)(on_command)
    app.block_action(_ALL.compiled)(on_press)
    app.error(_reply_to_error)
    return app


async def _reply_to_error(error: Exception) -> BoltResponse:
    if isinstance(error, BoltUnhandledRequestError | ValidationError):
        return BoltResponse(status=200)
    _log.warning(
        "what Slack sent is not stored", error=type(error).__name__, at=raise_location(error)
    )
    return BoltResponse(status=503)


def _identity(client: AsyncWebClient) -> Callable[[], Awaitable[AuthorizeResult]]:
    """Return what tells slack-bolt which user the bot is; Slack is asked once."""
    results: list[AuthorizeResult] = []

    async def authorize() -> AuthorizeResult:
        if not results:
            response = await answer(client.auth_test())
            results.append(
                AuthorizeResult.from_auth_test_response(
                    auth_test_response=response, bot_token=client.token
                )
            )
        return results[0]

    return authorize


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What Slack is told."""

    status: int
    body: str = ""
    content_type: str = "text/plain"


def is_signed(secret: str, body: bytes, headers: Mapping[str, str]) -> bool:
    """Return whether Slack signed a request with this secret, at most five minutes ago. Names of headers are in lower case."""
    moment = headers.get("x-slack-request-timestamp", "")
    signature = headers.get("x-slack-signature", "")
    if not secret or not _MOMENT.fullmatch(moment) or not signature.isascii():
        return False
    try:
        return SignatureVerifier(secret).is_valid(body, moment, signature)
    except UnicodeDecodeError:
        return False


async def reply_to(app: AsyncApp, body: bytes, content_type: str) -> Reply:
    """Have the app take a request that Slack signed; 503 where that takes so long that Slack does not wait for it."""
    try:
        request = AsyncBoltRequest(body=body.decode(), headers={"content-type": content_type})
        async with asyncio.timeout(_REPLY_SECONDS):
            response = await app.async_dispatch(request)
    except TimeoutError:
        return Reply(status=503)
    except OTHER_FORM:
        return Reply(status=400)
    types = response.headers.get("content-type", ["text/plain"])
    return Reply(status=response.status, body=response.body, content_type=types[0])
