"""What Chatwoot's API sends, as far as it is read; unknown fields are ignored. The server's code is the contract, and not
its OpenAPI document, which differs in places.
"""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field

from lightwell.connectors import rows


def _empty_if_null(value: object) -> object:
    return {} if value is None else value


def _text_if_null(value: object) -> object:
    return "" if value is None else value


def _list_if_null(value: object) -> object:
    return [] if value is None else value


Attributes = Annotated[dict[str, object], BeforeValidator(_empty_if_null)]
Text = Annotated[str, BeforeValidator(_text_if_null)]
Labels = Annotated[tuple[str, ...], BeforeValidator(_list_if_null)]


class Wire(rows.Wire):
    model_config = ConfigDict(coerce_numbers_to_str=True)


class Sender(Wire):
    id: int | None = None
    name: Text = ""
    available_name: Text = ""
    email: Text = ""
    type: Text = ""

    @property
    def shown_name(self) -> str:
        return self.available_name or self.name or self.email


class Attachment(Wire):
    id: int
    file_type: Text = ""
    data_url: Text = ""
    file_size: int | None = None
    transcribed_text: Text = ""
    fallback_title: Text = ""


class Message(Wire):
    id: int
    content: Text = ""
    message_type: int
    content_type: Text = ""
    content_attributes: Attributes = Field(default_factory=dict[str, object])
    created_at: int
    private: bool = False
    sender: Sender | None = None
    attachments: Annotated[tuple[Attachment, ...], BeforeValidator(_list_if_null)] = ()

    @property
    def replies_to(self) -> int | None:
        """The id of the message that this one replies to, None if it replies to none."""
        number = self.content_attributes.get("in_reply_to")
        return int(number) if isinstance(number, int | str) and str(number).isdecimal() else None

    @property
    def is_deleted(self) -> bool:
        return self.content_attributes.get("deleted") is True


class Team(Wire):
    name: Text = ""


class ConversationMeta(Wire):
    sender: Sender | None = None
    assignee: Sender | None = None
    team: Team | None = None


class Conversation(Wire):
    """`id` is the number that people see, unique in an account."""

    id: int
    inbox_id: int
    status: Text = ""
    priority: Text = ""
    labels: Labels = ()
    additional_attributes: Attributes = Field(default_factory=dict[str, object])
    custom_attributes: Attributes = Field(default_factory=dict[str, object])
    created_at: float
    meta: ConversationMeta = ConversationMeta()


class ContactCompany(Wire):
    id: int
    name: Text = ""


class Contact(Wire):
    id: int
    name: Text = ""
    email: Text = ""
    phone_number: Text = ""
    identifier: Text = ""
    additional_attributes: Attributes = Field(default_factory=dict[str, object])
    custom_attributes: Attributes = Field(default_factory=dict[str, object])
    company: ContactCompany | None = None
    last_activity_at: int | None = None
    created_at: int | None = None

    @property
    def shown_name(self) -> str:
        return self.name or self.email or self.phone_number or f"Contact {self.id}"


class ContactNote(Wire):
    id: int
    content: Text = ""
    user: Sender | None = None
    created_at: float | None = None


class Company(Wire):
    id: int
    name: Text = ""
    domain: Text = ""
    description: Text = ""


class Inbox(Wire):
    id: int
    name: Text = ""
    channel_type: Text = ""


class Agent(Wire):
    id: int
    name: Text = ""
    email: Text = ""
    role: Text = ""
    confirmed: bool = True
    custom_role_id: int | None = None


class Portal(Wire):
    slug: str
    name: Text = ""
    archived: bool | None = False


class Category(Wire):
    name: Text = ""


class Article(Wire):
    """`status` is a word or, by the OpenAPI document, a number."""

    id: int
    title: Text = ""
    description: Text = ""
    content: Text = ""
    slug: Text = ""
    status: str
    updated_at: float | None = None
    author: Sender | None = None
    category: Category | None = None

    @property
    def is_published(self) -> bool:
        return self.status in ("published", "1")


def read_time(seconds: float | None) -> datetime | None:
    """Return a point in time of Chatwoot's, which counts seconds since 1970; None for one that no calendar has."""
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds else None
    except (OverflowError, ValueError, OSError):
        return None


def time_text(seconds: float | None) -> str:
    time = read_time(seconds)
    return f"{time:%Y-%m-%d %H:%M} UTC" if time else ""
