"""What a business system delivers: items, changes to them, and who may see them.

An item is one object of the system, such as an issue, a deal or a conversation. It becomes one document, or several
with different readers.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from lightwell.domain.access import Tags
from lightwell.domain.documents import NewDocument
from lightwell.domain.ids import GlobalRef


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedFile:
    """A file that an item carries, and that is downloaded only if it is not stored yet.

    `document` describes it: without its content, with a `file_version`, and with a `content_hash` that covers this version.
    `read` returns it with its content. Where the file cannot be read, it returns a document that only names it: with the
    same version and hash if that stays so, with an empty version and another hash if it is to be tried again.
    """

    document: NewDocument
    read: Callable[[], Awaitable[NewDocument]] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceItem:
    """One item with all its documents and files, each with `item_ref == ref`. A document that is no longer among them is deleted."""

    ref: GlobalRef
    documents: tuple[NewDocument, ...]
    files: tuple[AttachedFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableItem:
    """An item that the source could not deliver now; it is kept, reported and tried again. `reason` is a stable word."""

    ref: GlobalRef
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPage:
    """Part of what changed in a stream. `cursor` is where the stream goes on after this page; it is stored together with the page.

    `merged` leads from items that the system merged into others, and that are among the `removed`, to those others.
    """

    items: tuple[SourceItem, ...]
    cursor: str
    removed: tuple[GlobalRef, ...] = ()
    unreadable: tuple[UnreadableItem, ...] = ()
    merged: Mapping[GlobalRef, GlobalRef] = field(default_factory=dict[GlobalRef, GlobalRef])


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePerson:
    """Somebody with an account in the system. `email` is "" where it is unknown or not verified by the system."""

    external_id: str
    email: str
    name: str
    is_active: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceGroup:
    """A team, an inbox or a list: its members, by external id, have its tags. `name` is unique within the source."""

    name: str
    tags: Tags
    members: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDirectory:
    """Everybody in the system, and who belongs to what, as of one moment."""

    people: tuple[SourcePerson, ...]
    groups: tuple[SourceGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookHint:
    """What a genuine webhook says has changed. It is a hint to fetch these items; its content is never stored.

    `delivery` is the same for each repetition of one delivery. With `directory` the people or groups may have changed.
    """

    delivery: str
    refs: tuple[GlobalRef, ...] = ()
    directory: bool = False
