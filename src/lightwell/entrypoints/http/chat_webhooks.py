"""What chat platforms send to a server that they reach. It needs no API key: the adapter checks that the platform signed it."""

import math
from typing import TYPE_CHECKING, Annotated, cast

from fastapi import APIRouter, Depends, Request, Response

from lightwell.domain.channels import Platform
from lightwell.domain.errors import Refused
from lightwell.entrypoints.channels.bots import Receptions
from lightwell.entrypoints.http.authentication import credentials_of
from lightwell.entrypoints.http.credentials import Credentials
from lightwell.entrypoints.http.problems import CONTENT_TYPE, TooManyRequests

if TYPE_CHECKING:  # it needs the extra `slack`
    from lightwell.entrypoints.slack.channel import SlackChannel

_RESPONSES: dict[int | str, dict[str, object]] = {
    200: {"description": "It is stored, or is nothing for the bot"},
    401: {
        "description": "The platform did not sign it, or there is no bot",
        "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    },
    503: {"description": "It could not be stored: the platform sends it again"},
}
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


@router.post("/slack", response_class=Response, responses=_RESPONSES, openapi_extra=_BODY)
async def receive_from_slack(
    request: Request,
    receptions: Annotated[Receptions, Depends(_receptions)],
    accepted: Annotated[Credentials, Depends(credentials_of)],
) -> Response:
    """Take events, commands and presses of Slack; the same event again has no effect."""
    address = request.client.host if request.client else ""
    if wait := accepted.failed_logins.wait_seconds(address, "webhook slack"):
        raise TooManyRequests(
            "Too many webhooks of this address were not genuine", retry_seconds=math.ceil(wait)
        )
    reception = receptions.get(Platform.SLACK)
    reply = None
    if reception is not None:
        slack = cast("SlackChannel", reception.channel)
        body = await request.body()
        reply = await slack.take_request(body, request.headers, reception.receive)
    if reply is None:
        accepted.failed_logins.note_failure(address, "webhook slack")
        raise Refused("This is not from Slack")
    return Response(reply.body, reply.status, media_type=reply.content_type)
