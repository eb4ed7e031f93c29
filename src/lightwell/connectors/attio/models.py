"""What Attio's REST API sends, as far as it is read; unknown fields are ignored."""

from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict

Json = dict[str, object]


class Wire(BaseModel):
    """Part of a response."""

    model_config = ConfigDict(frozen=True, extra="ignore")


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


class RecordId(Wire):
    object_id: str
    record_id: str


class Record(Wire):
    id: RecordId
    created_at: str
    web_url: str
    values: dict[str, list[Value]]

    @property
    def key(self) -> str:
        return self.id.record_id


class EntryId(Wire):
    list_id: str
    entry_id: str


class Entry(Wire):
    id: EntryId
    parent_record_id: str
    parent_object: str
    created_at: str
    entry_values: dict[str, list[Value]]

    @property
    def key(self) -> str:
        return self.id.entry_id


class NoteId(Wire):
    note_id: str


class Note(Wire):
    id: NoteId
    parent_object: str
    parent_record_id: str
    title: str
    content_plaintext: str = ""
    content_markdown: str = ""
    created_by_actor: Actor = Actor()
    created_at: str

    @property
    def key(self) -> str:
        return self.id.note_id


class LinkedRecord(Wire):
    """`target_object_id` is a slug or an id."""

    target_object_id: str
    target_record_id: str


class Assignee(Wire):
    referenced_actor_type: str
    referenced_actor_id: str


class TaskId(Wire):
    task_id: str


class Task(Wire):
    id: TaskId
    content_plaintext: str
    deadline_at: str | None = None
    is_completed: bool
    linked_records: list[LinkedRecord] = []
    assignees: list[Assignee] = []
    created_by_actor: Actor = Actor()
    created_at: str

    @property
    def key(self) -> str:
        return self.id.task_id


class CommentId(Wire):
    comment_id: str


class CommentEntry(Wire):
    entry_id: str
    list_id: str


class Comment(Wire):
    id: CommentId
    thread_id: str
    content_plaintext: str
    entry: CommentEntry | None = None
    record: RecordId
    resolved_at: str | None = None
    created_at: str
    author: Actor = Actor()

    @property
    def key(self) -> str:
        return self.id.comment_id


class MeetingTime(Wire):
    datetime: str | None = None
    date: str | None = None


class Participant(Wire):
    email_address: str | None = None
    name: str | None = None
    is_organizer: bool = False


class MeetingRecord(Wire):
    object_id: str
    record_id: str


class MeetingId(Wire):
    meeting_id: str


class Meeting(Wire):
    id: MeetingId
    title: str
    description: str = ""
    start: MeetingTime
    end: MeetingTime
    participants: list[Participant] = []
    linked_records: list[MeetingRecord] = []
    created_at: str
    created_by_actor: Actor = Actor()

    @property
    def key(self) -> str:
        return self.id.meeting_id


class CallId(Wire):
    meeting_id: str
    call_recording_id: str


class Call(Wire):
    id: CallId
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
    transcript: list[Segment] = []
    raw_transcript: str = ""


class TranscriptAnswer(Wire):
    data: Transcript


class Pagination(Wire):
    next_cursor: str | None = None


class CursorAnswer(Wire):
    """An answer of which there may be more; without `pagination` it is not one."""

    pagination: Pagination


class MemberId(Wire):
    workspace_member_id: str


class Member(Wire):
    id: MemberId
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


class ObjectId(Wire):
    object_id: str


class AttioObject(Wire):
    id: ObjectId
    api_slug: str | None = None
    singular_noun: str | None = None


class ListId(Wire):
    list_id: str


class ListAccess(Wire):
    workspace_member_id: str


class AttioList(Wire):
    id: ListId
    api_slug: str
    name: str
    workspace_access: str | None = None
    workspace_member_access: list[ListAccess] = []


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
