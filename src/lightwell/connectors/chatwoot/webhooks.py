"""Chatwoot's webhooks. Servers before 4.12 do not sign them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from lightwell.connectors.chatwoot.account import SYSTEM
from lightwell.connectors.chatwoot.models import Wire
from lightwell.connectors.chatwoot.records import contact_ref
from lightwell.connectors.webhooks import digest, parse_body, require_signature
from lightwell.domain.errors import Invalid, Refused
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.source_items import WebhookHint

_MAX_AGE_SECONDS = 300


class _Numbered(Wire):
    id: int


class _Body(Wire):
    """`id` is that of the conversation, message, contact or inbox that the event is about."""

    event: str
    id: int | None = None
    account: _Numbered | None = None
    conversation: _Numbered | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookCheck:
    """How to tell whether a webhook is genuine; `takes_unsigned` where the server is too old to sign."""

    secret: str
    takes_unsigned: bool
    account: int


def read_webhook(
    check: WebhookCheck, headers: Mapping[str, str], body: bytes, received_at: datetime
) -> WebhookHint:
    """Return what a webhook says has changed; raise `Refused` or `Invalid`."""
    _require_genuine(check, headers, body, received_at)
    read = parse_body("Chatwoot", _Body, body)
    if read.account is not None and read.account.id != check.account:
        raise Invalid("This webhook is about another account of Chatwoot")
    ref = _ref(read, check.account)
    return WebhookHint(
        delivery=headers.get("x-chatwoot-delivery") or digest(body),
        refs=(ref,) if ref else (),
        directory=read.event.startswith("inbox_"),
    )


def _require_genuine(
    check: WebhookCheck, headers: Mapping[str, str], body: bytes, received_at: datetime
) -> None:
    signature = headers.get("x-chatwoot-signature", "")
    if not signature and check.takes_unsigned:
        return
    if not signature:
        raise Refused(
            "The webhook is not signed. Chatwoot signs from version 4.12 on; for an older server set the source's option"
            " unsigned_webhooks to true"
        )
    timestamp = headers.get("x-chatwoot-timestamp", "")
    require_signature(signature, f"{timestamp}.".encode() + body, check.secret, "sha256=")
    if not timestamp.isascii() or not timestamp.isdecimal():
        raise Refused("The webhook does not say when it was sent")
    if abs(received_at.timestamp() - int(timestamp)) > _MAX_AGE_SECONDS:
        raise Refused("The webhook is too old, or the clocks of the two servers differ")


def _ref(read: _Body, account: int) -> GlobalRef | None:
    """Return the item that an event is about, None for events about no item."""
    if read.event.startswith("message_") and read.conversation:
        return _conversation(account, read.conversation.id)
    if read.event.startswith("conversation_typing"):
        return None
    if read.event.startswith("conversation_") and read.id is not None:
        return _conversation(account, read.id)
    if read.event.startswith("contact_") and read.id is not None:
        return contact_ref(read.id)
    return None


def _conversation(account: int, display_id: int) -> GlobalRef:
    return global_ref(SYSTEM, "conversation", f"{account}-{display_id}")
