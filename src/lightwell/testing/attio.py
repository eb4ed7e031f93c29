"""The state of a stand-in for Attio, and its signed webhooks; `attio_server.py` serves it over HTTP."""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import cast
from uuid import UUID

from lightwell.testing.attio_values import OBJECTS, make_attribute, make_values

Row = dict[str, object]
TOKEN, SECRET = "attio-token", "attio-secret"
WORKSPACE_SLUG = "halden"
_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_UNITED = frozenset(("domains", "email_addresses"))
_SINGULAR = {"companies": "company", "people": "person", "deals": "deal"}


@dataclass(slots=True, kw_only=True)
class FakeAttio:
    """A workspace. `before` is called with each request's method and path, and may change rows.

    `refusals` are the answers to the next requests: a status, 429 with the date of the next second, as Attio sends it.
    """

    webhook_secret: str = SECRET
    before: Callable[[str], None] = lambda call: None
    refusals: list[int] = field(default_factory=list[int])
    calls: list[str] = field(default_factory=list[str])
    objects: dict[str, Row] = field(default_factory=dict[str, Row])
    attributes: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])
    records: dict[str, Row] = field(default_factory=dict[str, Row])
    lists: dict[str, Row] = field(default_factory=dict[str, Row])
    entries: dict[str, Row] = field(default_factory=dict[str, Row])
    members: dict[str, Row] = field(default_factory=dict[str, Row])
    notes: dict[str, Row] = field(default_factory=dict[str, Row])
    tasks: dict[str, Row] = field(default_factory=dict[str, Row])
    comments: dict[str, Row] = field(default_factory=dict[str, Row])
    meetings: dict[str, Row] = field(default_factory=dict[str, Row])
    recordings: dict[str, Row] = field(default_factory=dict[str, Row])
    transcripts: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])
    _ids: int = 0
    _clock: int = 0

    def __post_init__(self) -> None:
        for slug, attributes in OBJECTS.items():
            self.add_object(slug, _SINGULAR[slug].capitalize(), attributes)

    @property
    def workspace_id(self) -> str:
        return str(UUID(int=0xA7710, version=4))

    def new_id(self) -> str:
        self._ids += 1
        return str(UUID(bytes=hashlib.md5(str(self._ids).encode()).digest(), version=4))  # noqa: S324 - not for security

    def tick(self) -> str:
        """Let a second pass, and return the time as Attio writes it."""
        self._clock += 1
        return f"{_START + timedelta(seconds=self._clock):%Y-%m-%dT%H:%M:%S}.000000000Z"

    def add_object(self, slug: str, noun: str, attributes: Mapping[str, str]) -> str:
        """Add an object with attributes `slug: type`; return its id."""
        object_id = self.new_id()
        self.objects[slug] = {
            "id": {"workspace_id": self.workspace_id, "object_id": object_id},
            "api_slug": slug,
            "singular_noun": noun,
            "plural_noun": f"{noun}s",
            "created_at": self.tick(),
        }
        self.attributes[slug] = [
            self._attribute(object_id, *attribute) for attribute in attributes.items()
        ]
        return object_id

    def add_member(self, name: str, email: str, *, access: str = "member") -> str:
        first, _, last = name.partition(" ")
        member_id = self.new_id()
        self.members[member_id] = {
            "id": {"workspace_id": self.workspace_id, "workspace_member_id": member_id},
            "first_name": first,
            "last_name": last,
            "avatar_url": None,
            "email_address": email,
            "access_level": access,
            "created_at": self.tick(),
        }
        return member_id

    def add_record(self, slug: str, values: Mapping[str, object], record_id: str = "") -> str:
        """Add a record with plain values by slug: a text, a number, the id of a record or a member, or a list of such."""
        record_id = record_id or self.new_id()
        created_at = self.tick()
        kind = _SINGULAR.get(slug, slug)
        self.records[record_id] = {
            "id": {**self._ids_of(slug), "record_id": record_id},
            "created_at": created_at,
            "web_url": f"https://app.attio.com/{WORKSPACE_SLUG}/{kind}/{record_id}",
            "values": self._values(slug, values, created_at),
        }
        return record_id

    def change_record(self, record_id: str, values: Mapping[str, object]) -> None:
        record = self.records[record_id]
        changed = self._values(self.slug_of(record), values, self.tick())
        record["values"] = {**cast("Row", record["values"]), **changed}

    def merge_records(self, kept: str, former: str) -> tuple[dict[str, str], bytes]:
        """Merge a record into another, as a person does in Attio, with what the other lacks; what refers to it refers to the other.

        Returns the webhook that tells it.
        """
        merged = self.records.pop(former)
        values = cast("dict[str, list[Row]]", self.records[kept]["values"])
        for slug, added in cast("dict[str, list[Row]]", merged["values"]).items():
            if slug in _UNITED or not values.get(slug):
                values[slug] = [*values.get(slug, []), *added]
        for record in self.records.values():
            for stored in cast("dict[str, list[Row]]", record["values"]).values():
                for value in stored:
                    if value.get("target_record_id") == former:
                        value["target_record_id"] = kept
        return self.webhook(
            self.event("record.merged", self.records[kept])
            | {"duplicate_object_id": self._ids_of(self.slug_of(merged))["object_id"]}
            | {"duplicate_record_id": former}
        )

    def add_list(
        self,
        name: str,
        slug: str,
        parent: str,
        attributes: Mapping[str, str],
        members: Iterable[str] | None = None,
    ) -> str:
        """Add a list; with `members`, only they may open it."""
        list_id = self.new_id()
        self.lists[list_id] = {
            "id": {"workspace_id": self.workspace_id, "list_id": list_id},
            "api_slug": slug,
            "name": name,
            "parent_object": [parent],
            "workspace_access": "full-access" if members is None else None,
            "workspace_member_access": _member_access(members or ()),
            "created_by_actor": {"type": "system", "id": None},
            "created_at": self.tick(),
        }
        self.attributes[list_id] = [
            self._attribute(list_id, *attribute) for attribute in attributes.items()
        ]
        return list_id

    def make_list_private(self, list_id: str, members: Iterable[str]) -> None:
        access = {"workspace_access": None, "workspace_member_access": _member_access(members)}
        self.lists[list_id] |= access

    def add_entry(self, list_id: str, record_id: str, values: Mapping[str, object]) -> str:
        entry_id, created_at = self.new_id(), self.tick()
        self.entries[entry_id] = {
            "id": {"workspace_id": self.workspace_id, "list_id": list_id, "entry_id": entry_id},
            "parent_record_id": record_id,
            "parent_object": self.slug_of(self.records[record_id]),
            "created_at": created_at,
            "entry_values": self._values(list_id, values, created_at),
        }
        return entry_id

    def add_note(self, record_id: str, title: str, text: str, author: str) -> str:
        note_id = self.new_id()
        self.notes[note_id] = {
            "id": {"workspace_id": self.workspace_id, "note_id": note_id},
            "parent_object": self.slug_of(self.records[record_id]),
            "parent_record_id": record_id,
            "title": title,
            "meeting_id": None,
            "content_plaintext": text,
            "content_markdown": text,
            "tags": [],
            "created_by_actor": {"type": "workspace-member", "id": author},
            "created_at": self.tick(),
        }
        return note_id

    def add_task(self, record_id: str, text: str, author: str, assignee: str) -> str:
        task_id = self.new_id()
        linked = {"target_object_id": self.slug_of(self.records[record_id])}
        person = {"referenced_actor_type": "workspace-member", "referenced_actor_id": assignee}
        self.tasks[task_id] = {
            "id": {"workspace_id": self.workspace_id, "task_id": task_id},
            "content_plaintext": text,
            "deadline_at": "2026-06-30T00:00:00.000000000Z",
            "is_completed": False,
            "completed_at": None,
            "linked_records": [{**linked, "target_record_id": record_id}],
            "assignees": [person],
            "created_by_actor": {"type": "workspace-member", "id": author},
            "created_at": self.tick(),
        }
        return task_id

    def add_comment(self, record_id: str, text: str, author: str, entry_id: str = "") -> str:
        """Add a comment, in a thread of its own, on a record or on its entry of a list."""
        comment_id = self.new_id()
        entry = None
        if entry_id:
            ids = cast("dict[str, str]", self.entries[entry_id]["id"])
            entry = {"entry_id": entry_id, "list_id": ids["list_id"]}
        ids = cast("dict[str, str]", self.records[record_id]["id"])
        self.comments[comment_id] = {
            "id": {"workspace_id": self.workspace_id, "comment_id": comment_id},
            "thread_id": comment_id,
            "content_plaintext": text,
            "entry": entry,
            "record": {"record_id": record_id, "object_id": ids["object_id"]},
            "resolved_at": None,
            "resolved_by": {"type": None, "id": None},
            "created_at": self.tick(),
            "author": {"type": "workspace-member", "id": author},
        }
        return comment_id

    def add_meeting(
        self,
        title: str,
        record_id: str,
        participants: Iterable[str],
        speeches: Iterable[tuple[str, str]],
    ) -> str:
        """Add a meeting with a recorded call; `speeches` are speaker and words."""
        meeting_id, call_id, created_at = self.new_id(), self.new_id(), self.tick()
        ids = cast("dict[str, str]", self.records[record_id]["id"])
        self.meetings[meeting_id] = {
            "id": {"workspace_id": self.workspace_id, "meeting_id": meeting_id},
            "title": title,
            "description": "",
            "is_all_day": False,
            "start": {"datetime": created_at, "timezone": "UTC"},
            "end": {"datetime": created_at, "timezone": "UTC"},
            "participants": [
                {
                    "status": "accepted",
                    "is_organizer": False,
                    "email_address": participant,
                    "name": None,
                }
                for participant in participants
            ],
            "linked_records": [
                {"object_slug": self.slug_of(self.records[record_id]), "record_id": record_id}
                | {"object_id": ids["object_id"]}
            ],
            "created_at": created_at,
            "created_by_actor": {"type": "system", "id": None},
        }
        url = f"https://app.attio.com/{WORKSPACE_SLUG}/calls/{meeting_id}/{call_id}"
        call_ids = {"workspace_id": self.workspace_id, "meeting_id": meeting_id}
        self.recordings[call_id] = {
            "id": {**call_ids, "call_recording_id": call_id},
            "status": "completed",
            "web_url": url,
            "created_by_actor": {"type": "system", "id": None},
            "created_at": created_at,
        }
        self.transcripts[call_id] = [_segment(*speech) for speech in enumerate(speeches)]
        return meeting_id

    def event(self, event_type: str, row: Row) -> Row:
        """Return one event of a webhook, about a row."""
        return {
            "event_type": event_type,
            "id": row["id"],
            "actor": {"type": "workspace-member", "id": self.new_id()},
        }

    def webhook(self, *events: Row) -> tuple[dict[str, str], bytes]:
        """Return headers (with names in lower case) and body of a genuine delivery with these events."""
        body = json.dumps({"webhook_id": self.new_id(), "events": list(events)}).encode()
        signature = hmac.new(self.webhook_secret.encode(), body, hashlib.sha256).hexdigest()
        return {"attio-signature": signature, "idempotency-key": self.new_id()}, body

    def slug_of(self, record: Row) -> str:
        object_id = cast("Row", record["id"])["object_id"]
        return next(
            slug
            for slug, record_object in self.objects.items()
            if cast("Row", record_object["id"])["object_id"] == object_id
        )

    def _ids_of(self, slug: str) -> dict[str, object]:
        return dict(cast("Row", self.objects[slug]["id"]))

    def _attribute(self, owner_id: str, slug: str, type_: str) -> Row:
        ids = {"workspace_id": self.workspace_id, "object_id": owner_id}
        return make_attribute({**ids, "attribute_id": self.new_id()}, slug, type_)

    def _values(self, owner: str, values: Mapping[str, object], moment: str) -> Row:
        types = {
            str(attribute["api_slug"]): str(attribute["type"])
            for attribute in self.attributes[owner]
        }
        return {
            slug: make_values(types[slug], value, moment, self.records, self.slug_of)
            for slug, value in values.items()
        }


def _segment(place: int, speech: tuple[str, str]) -> Row:
    times: Row = {"start_time": 9.0 * place, "end_time": 9.0 * place + 8}
    return {"speech": speech[1], "speaker": {"name": speech[0]}} | times


def _member_access(members: Iterable[str]) -> list[Row]:
    return [{"workspace_member_id": member, "level": "full-access"} for member in members]
