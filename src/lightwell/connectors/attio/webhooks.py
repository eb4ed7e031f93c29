"""Attio's webhooks: several events in each, which name what has changed by ids only."""

from collections.abc import Mapping

from lightwell.connectors.attio.documents import entry_ref
from lightwell.connectors.attio.models import Wire
from lightwell.connectors.attio.workspace import SYSTEM
from lightwell.connectors.webhooks import digest, parse_body, require_signature
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
    signature = headers.get("attio-signature") or headers.get("x-attio-signature") or ""
    require_signature(signature.strip().lower(), body, secret)
    events = parse_body("Attio", _Body, body).events
    refs = dict.fromkeys(ref for event in events if (ref := _ref(event)))
    return WebhookHint(
        delivery=headers.get("idempotency-key") or digest(body),
        refs=tuple(refs),
        directory=any(
            event.event_type.startswith(("list.", "workspace-member.")) for event in events
        ),
    )


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
