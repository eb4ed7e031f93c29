"""What chat platforms send to a server that they reach. It needs no API key: the adapter checks that the platform signed it."""

from typing import TYPE_CHECKING, Annotated, cast

from fastapi import APIRouter, Depends, Request, Response

from lightwell.domain.channels import Platform
from lightwell.domain.errors import ChannelFailed, Refused, StoreFailed
from lightwell.entrypoints.channels.bots import Receptions
from lightwell.entrypoints.http.authentication import address_of, credentials_of
from lightwell.entrypoints.http.credentials import Credentials
from lightwell.entrypoints.http.problems import CONTENT_TYPE
from lightwell.entrypoints.http.webhooks import require_few_failures

if TYPE_CHECKING:  # they need the extras `slack` and `telegram`
    from lightwell.entrypoints.slack.channel import SlackChannel
    from lightwell.entrypoints.telegram.channel import TelegramChannel

_RESPONSES: dict[int | str, dict[str, object]] = {
    200: {"description": "It is stored, or is nothing for the bot"},
    401: {
        "description": "The platform did not sign it, or there is no bot",
        "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    },
    503: {"description": "It could not be stored: the platform sends it again"},
}
_JSON = {"requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}}
_BODY = {
    "requestBody": {
        "content": {
            "application/json": {"schema": {"type": "object"}},
            "application/x-www-form-urlencoded": {"schema": {"type": "object"}},
        }
    }
}

router = APIRouter(prefix="/v1/webhooks", tags=["channels"])


def _receptions(request: Request) -> Receptions:
    return request.app.state.channels


_Receptions = Annotated[Receptions, Depends(_receptions)]
_Accepted = Annotated[Credentials, Depends(credentials_of)]


@router.post("/slack", response_class=Response, responses=_RESPONSES, openapi_extra=_BODY)
async def receive_from_slack(
    request: Request, receptions: _Receptions, accepted: _Accepted
) -> Response:
    """Take events, commands and presses of Slack; the same event again has no effect."""
    require_few_failures(accepted, request, _credential(Platform.SLACK))
    reception = receptions.get(Platform.SLACK)
    reply = None
    if reception is not None:
        slack = cast("SlackChannel", reception.channel)
        body = await request.body()
        reply = await slack.take_request(body, request.headers, reception.receive)
    if reply is None:
        raise _refusal(accepted, request, Platform.SLACK)
    return Response(reply.body, reply.status, media_type=reply.content_type)


@router.post("/telegram", response_class=Response, responses=_RESPONSES, openapi_extra=_JSON)
async def receive_from_telegram(
    request: Request, receptions: _Receptions, accepted: _Accepted
) -> Response:
    """Take messages and presses of Telegram; the same update again has no effect."""
    require_few_failures(accepted, request, _credential(Platform.TELEGRAM))
    reception = receptions.get(Platform.TELEGRAM)
    secret = request.headers.get("x-telegram-bot-api-secret-token", "")
    telegram = cast("TelegramChannel", reception.channel) if reception is not None else None
    if reception is None or telegram is None or not telegram.sends_webhooks(secret):
        raise _refusal(accepted, request, Platform.TELEGRAM)
    try:
        update = await telegram.read_webhook(await request.body())
        if update is not None:
            await reception.receive(update)
    except (ChannelFailed, StoreFailed):
        return Response(status_code=503)
    return Response(status_code=200)


def _refusal(accepted: Credentials, request: Request, platform: Platform) -> Refused:
    accepted.failed_logins.note_failure(address_of(request), _credential(platform))
    return Refused(f"This is not from {platform.capitalize()}")


def _credential(platform: Platform) -> str:
    return f"webhook {platform}"
