"""What Attio's REST API sends, as far as it is read; unknown fields are ignored."""

from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import AliasPath, Field

from lightwell.connectors.rows import Wire


class Actor(Wire):
    id: str | None = None
    type: str | None = None


class Titled(Wire):
    title: str = ""


class Value(Wire):
    """One value of an attribute; which fields it has depends on `attribute_type`."""

    attribute_type: str
    active_from: str = ""
    active_until: str | None = None
    value: bool | int | float | str | None = None
    full_name: str | None = None
    email_address: str | None = None
    domain: str | None = None
    target_object: str | None = None
    target_record_id: str | None = None
    referenced_actor_type: str | None = None
    referenced_actor_id: str | None = None
    status: Titled | None = None
    option: Titled | None = None
    currency_value: float | None = None
    currency_code: str | None = None
    phone_number: str | None = None
    line_1: str | None = None
    line_2: str | None = None
    locality: str | None = None
    region: str | None = None
    postcode: str | None = None
    country_code: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordKey:
    """A record; `object` is the id or the slug of its object."""

    object: str
    record_id: str


class RecordId(Wire):
    object_id: str
    record_id: str

    @property
    def record(self) -> RecordKey:
        return RecordKey(object=self.object_id, record_id=self.record_id)


class Record(Wire):
    key: str = Field(validation_alias=AliasPath("id", "record_id"))
    created_at: str
    web_url: str
    values: dict[str, list[Value]]


class Entry(Wire):
    key: str = Field(validation_alias=AliasPath("id", "entry_id"))
    parent_record_id: str
    parent_object: str
    created_at: str
    entry_values: dict[str, list[Value]]

    @property
    def parent(self) -> RecordKey:
        return RecordKey(object=self.parent_object, record_id=self.parent_record_id)


class Note(Wire):
    key: str = Field(validation_alias=AliasPath("id", "note_id"))
    parent_object: str
    parent_record_id: str
    title: str
    content_plaintext: str = ""
    content_markdown: str = ""
    created_by_actor: Actor = Actor()
    created_at: str

    @property
    def parent(self) -> RecordKey:
        return RecordKey(object=self.parent_object, record_id=self.parent_record_id)


class LinkedRecord(Wire):
    """`target_object_id` is a slug or an id."""

    target_object_id: str
    target_record_id: str

    @property
    def record(self) -> RecordKey:
        return RecordKey(object=self.target_object_id, record_id=self.target_record_id)


class Assignee(Wire):
    referenced_actor_type: str
    referenced_actor_id: str


class Task(Wire):
    key: str = Field(validation_alias=AliasPath("id", "task_id"))
    content_plaintext: str
    deadline_at: str | None = None
    is_completed: bool
    linked_records: tuple[LinkedRecord, ...] = ()
    assignees: tuple[Assignee, ...] = ()
    created_by_actor: Actor = Actor()
    created_at: str


class CommentEntry(Wire):
    entry_id: str
    list_id: str


class Comment(Wire):
    key: str = Field(validation_alias=AliasPath("id", "comment_id"))
    thread_id: str
    content_plaintext: str
    entry: CommentEntry | None = None
    record: RecordId
    resolved_at: str | None = None
    created_at: str
    author: Actor = Actor()


class MeetingTime(Wire):
    datetime: str | None = None
    date: str | None = None


class Participant(Wire):
    email_address: str | None = None
    name: str | None = None
    is_organizer: bool = False


class Meeting(Wire):
    key: str = Field(validation_alias=AliasPath("id", "meeting_id"))
    title: str
    description: str = ""
    start: MeetingTime
    end: MeetingTime
    participants: tuple[Participant, ...] = ()
    linked_records: tuple[RecordId, ...] = ()
    created_at: str
    created_by_actor: Actor = Actor()


class Call(Wire):
    key: str = Field(validation_alias=AliasPath("id", "call_recording_id"))
    meeting_id: str = Field(validation_alias=AliasPath("id", "meeting_id"))
    status: str
    web_url: str
    created_by_actor: Actor = Actor()
    created_at: str


class Speaker(Wire):
    name: str = ""


class Segment(Wire):
    speech: str
    start_time: float
    speaker: Speaker = Speaker()


class Transcript(Wire):
    transcript: tuple[Segment, ...] = ()
    raw_transcript: str = ""


class TranscriptAnswer(Wire):
    data: Transcript


class Pagination(Wire):
    next_cursor: str | None = None


class CursorAnswer(Wire):
    """An answer of which there may be more; without `pagination` it is not one."""

    pagination: Pagination


class Member(Wire):
    key: str = Field(validation_alias=AliasPath("id", "workspace_member_id"))
    first_name: str = ""
    last_name: str = ""
    email_address: str = ""
    access_level: str

    @property
    def name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip() or self.email_address

    @property
    def is_active(self) -> bool:
        return self.access_level != "suspended"


class AttioObject(Wire):
    key: str = Field(validation_alias=AliasPath("id", "object_id"))
    api_slug: str | None = None
    singular_noun: str | None = None


class ListAccess(Wire):
    workspace_member_id: str


class AttioList(Wire):
    key: str = Field(validation_alias=AliasPath("id", "list_id"))
    api_slug: str
    name: str
    workspace_access: str | None = None
    workspace_member_access: tuple[ListAccess, ...] = ()


class Attribute(Wire):
    title: str
    api_slug: str
    type: str
    is_system_attribute: bool = False
    is_writable: bool = True
    is_archived: bool = False


class Token(Wire):
    active: bool
    workspace_slug: str = ""


def parse_time(text: str | None) -> datetime | None:
    """Return a point in time of Attio's, which may have nine decimals; None where there is none that can be read."""
    try:
        read = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return read.replace(tzinfo=read.tzinfo or UTC)
