"""Webhooks of Linear: whether they are genuine, and what they say has changed."""

import hmac
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lightwell.connectors.linear.entities import ref
from lightwell.domain.errors import Invalid, Refused
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


class _Changed(BaseModel):
    """The object that has changed; Linear names no more than ids here that matter."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    id: str = ""
    issueId: str = ""  # noqa: N815 - Linear's name
    originalIssueId: str | None = None  # noqa: N815
    relatedIssueId: str | None = None  # noqa: N815


class _Payload(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    type: str
    data: _Changed = _Changed()
    webhookTimestamp: float = Field(allow_inf_nan=False)  # noqa: N815


def sign(body: bytes, secret: str) -> str:
    """Return the signature of a webhook's body, as Linear writes it."""
    return hmac.new(secret.encode(), body, sha256).hexdigest()


def read_webhook(
    secret: str, headers: Mapping[str, str], body: bytes, received_at: datetime
) -> WebhookHint:
    """Return what the webhook says has changed.

    Raises `Refused` for a wrong signature, and for a time that is more than a minute off: only the time inside the signed
    body counts. Raises `Invalid` for a body that is none of Linear's.
    """
    given = headers.get("linear-signature", "").strip().lower()
    if not secret or not hmac.compare_digest(sign(body, secret).encode(), given.encode()):
        raise Refused("The signature of the webhook is wrong")
    try:
        payload = _Payload.model_validate_json(body)
    except ValidationError:
        raise Invalid("This is not a webhook of Linear") from None
    if abs(received_at.timestamp() - payload.webhookTimestamp / 1000) > _MAX_SECONDS:
        raise Refused("The time of the webhook is more than a minute off")
    return WebhookHint(
        delivery=_delivery(headers, body),
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
        return [ref("issue", each) for each in ids if is_id(each)]
    return []


def _delivery(headers: Mapping[str, str], body: bytes) -> str:
    """Return Linear's id of the delivery, which its repetitions share; else what tells this body from others."""
    given = headers.get("linear-delivery", "").strip()
    return given if is_id(given) else sha256(body).hexdigest()
