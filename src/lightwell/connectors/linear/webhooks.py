"""Webhooks of Linear: whether they are genuine, and what they say has changed."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from pydantic import Field

from lightwell.connectors.linear.entities import ref
from lightwell.connectors.rows import Wire
from lightwell.connectors.webhooks import digest, parse_body, require_signature
from lightwell.domain.errors import Refused
from lightwell.domain.ids import GlobalRef
from lightwell.domain.source_items import WebhookHint

_MAX_SECONDS = 60.0
_KINDS = {
    "Issue": "issue",
    "Comment": "comment",
    "Document": "document",
    "Project": "project",
    "ProjectUpdate": "project_update",
    "Initiative": "initiative",
    "InitiativeUpdate": "initiative_update",
    "Customer": "customer",
    "CustomerNeed": "customer_need",
}
"""The kinds of items that a webhook's object is, by Linear's name for the object."""

_PARTS_OF_ISSUES = frozenset(("Attachment", "IssueRelation"))
_DIRECTORY = frozenset(("PermissionChange", "User", "Team", "TeamMembership"))


class _Changed(Wire):
    """The object that has changed; Linear names no more than ids here that matter."""

    id: str = ""
    issueId: str = ""  # noqa: N815 - Linear's name
    originalIssueId: str | None = None  # noqa: N815
    relatedIssueId: str | None = None  # noqa: N815


class _Payload(Wire):
    type: str
    data: _Changed = _Changed()
    webhookTimestamp: float = Field(allow_inf_nan=False)  # noqa: N815


def read_webhook(
    secret: str, headers: Mapping[str, str], body: bytes, received_at: datetime
) -> WebhookHint:
    """Return what the webhook says has changed.

    Raises `Refused` for a wrong signature, and for a time that is more than a minute off: only the time inside the signed
    body counts. Raises `Invalid` for a body that is none of Linear's.
    """
    signature = headers.get("linear-signature", "").strip().lower()
    require_signature(signature, body, secret)
    payload = parse_body("Linear", _Payload, body)
    if abs(received_at.timestamp() - payload.webhookTimestamp / 1000) > _MAX_SECONDS:
        raise Refused("The time of the webhook is more than a minute off")
    delivery = headers.get("linear-delivery", "").strip()
    return WebhookHint(
        # Repetitions share Linear's id of the delivery.
        delivery=delivery if is_id(delivery) else digest(body),
        refs=tuple(dict.fromkeys(_name_refs(payload))),
        directory=payload.type in _DIRECTORY,
    )


def is_id(text: str) -> bool:
    """Return whether this is an id as Linear writes it; its API fails for a list with any other."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def _name_refs(payload: _Payload) -> list[GlobalRef]:
    changed = payload.data
    if kind := _KINDS.get(payload.type):
        return [ref(kind, changed.id)] if is_id(changed.id) else []
    if payload.type in _PARTS_OF_ISSUES | _DIRECTORY:
        ids = (changed.issueId, changed.originalIssueId or "", changed.relatedIssueId or "")
        return [ref("issue", id) for id in ids if is_id(id)]
    return []
