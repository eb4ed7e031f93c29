"""Webhooks of business systems. They need no API key: the connector of the source checks their signature."""

import math
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from lightwell.domain.business_systems import SourceId
from lightwell.domain.errors import Refused
from lightwell.entrypoints.http.authentication import address_of, credentials_of
from lightwell.entrypoints.http.credentials import Credentials
from lightwell.entrypoints.http.problems import CONTENT_TYPE, TooManyRequests
from lightwell.ingest.webhooks import Webhook, take_webhook
from lightwell.wiring import Resources
from lightwell.wiring.connectors import connector_opener

_RESPONSES: dict[int | str, dict[str, object]] = {
    202: {"description": "It is taken, or was taken before"},
    **{
        status: {
            "description": description,
            "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status, description in (
            (401, "The source is unknown, or the webhook is not genuine"),
            (413, "The body is too large"),
        )
    },
}
_BODY = {"requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}}

router = APIRouter(prefix="/v1/webhooks", tags=["sources"])


def _resources(request: Request) -> Resources:
    return request.app.state.readiness.resources


@router.post(
    "/{source_id}",
    status_code=202,
    response_class=Response,
    responses=_RESPONSES,
    openapi_extra=_BODY,
)
async def receive_webhook(
    source_id: UUID,
    request: Request,
    resources: Annotated[Resources, Depends(_resources)],
    accepted: Annotated[Credentials, Depends(credentials_of)],
) -> Response:
    """Take a webhook of a source as a hint what to fetch; the same delivery again has no effect.

    An unknown source and a wrong signature give the same 401.
    """
    credential = f"webhook {source_id}"
    require_few_failures(accepted, request, credential)
    webhook = Webhook(
        headers={name.lower(): value for name, value in request.headers.items()},
        body=await request.body(),
        received_at=datetime.now(UTC),
    )
    try:
        open_connector = connector_opener(resources.settings, resources.database)
        await take_webhook(resources.database, open_connector, SourceId(source_id), webhook)
    except Refused:
        accepted.failed_logins.note_failure(address_of(request), credential)
        raise
    return Response(status_code=202)


def require_few_failures(accepted: Credentials, request: Request, credential: str) -> None:
    """Raise `TooManyRequests` where too many webhooks of the request's address were not genuine."""
    if wait := accepted.failed_logins.wait_seconds(address_of(request), credential):
        raise TooManyRequests(
            "Too many webhooks of this address were not genuine", retry_seconds=math.ceil(wait)
        )
