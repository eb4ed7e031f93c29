"""Attio's webhooks: several events in each, which name what has changed by ids only."""

import hashlib
import hmac
from collections.abc import Mapping

from pydantic import ValidationError

from lightwell.connectors.attio.documents import entry_ref
from lightwell.connectors.attio.models import Wire
from lightwell.connectors.attio.workspace import SYSTEM
from lightwell.domain.errors import Invalid, Refused
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.source_items import WebhookHint

RECORD_HINT, MERGE_HINT = "record", "merge"
"""Kinds of references that only webhooks name: events have the id of a record's object, and not its slug."""


class _Event(Wire):
    event_type: str
    id: dict[str, str | None]
    duplicate_record_id: str | None = None


class _Body(Wire):
    events: list[_Event]


def read_webhook(secret: str, headers: Mapping[str, str], body: bytes) -> WebhookHint:
    """Return what a delivery says has changed; raise `Refused` or `Invalid`. Attio signs the body and no time."""
    given = headers.get("attio-signature") or headers.get("x-attio-signature") or ""
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    if not secret or not hmac.compare_digest(given.strip().lower().encode(), expected.encode()):
        raise Refused("The signature of the webhook is wrong")
    try:
        events = _Body.model_validate_json(body).events
    except ValidationError:
        raise Invalid("This is not a webhook of Attio") from None
    refs = dict.fromkeys(ref for event in events if (ref := _ref(event)))
    return WebhookHint(
        delivery=headers.get("idempotency-key") or hashlib.sha256(body).hexdigest(),
        refs=tuple(refs),
        directory=any(_concerns_directory(event.event_type) for event in events),
    )


def _concerns_directory(event_type: str) -> bool:
    return event_type.startswith(("list.", "workspace-member."))


def _ref(event: _Event) -> GlobalRef | None:
    """Return the item that an event is about, None for events about no item."""
    ids = {name: value for name, value in event.id.items() if value}
    match event.event_type.partition(".")[0]:
        case "record" if "object_id" in ids and "record_id" in ids:
            record = f"{ids['object_id']}.{ids['record_id']}"
            if event.event_type == "record.merged" and event.duplicate_record_id:
                return global_ref(SYSTEM, MERGE_HINT, f"{record}.{event.duplicate_record_id}")
            return global_ref(SYSTEM, RECORD_HINT, record)
        case "list-entry" if "list_id" in ids and "entry_id" in ids:
            return entry_ref(ids["list_id"], ids["entry_id"])
        case "note" | "note-content" if "note_id" in ids:
            return global_ref(SYSTEM, "note", ids["note_id"])
        case "task" if "task_id" in ids:
            return global_ref(SYSTEM, "task", ids["task_id"])
        case "comment" if "comment_id" in ids:
            return global_ref(SYSTEM, "comment", ids["comment_id"])
        case "call-recording" if "meeting_id" in ids:
            return global_ref(SYSTEM, "meeting", ids["meeting_id"])
        case _:
            return None
