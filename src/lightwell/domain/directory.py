"""The directory: people, the names that other systems have for them, and groups that give them access tags."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NewType
from uuid import UUID

from lightwell.domain.access import Tags
from lightwell.domain.errors import Invalid
from lightwell.domain.scopes import Scope
from lightwell.domain.texts import require_text
from lightwell.text.regex import regex

PersonId = NewType("PersonId", UUID)
GroupId = NewType("GroupId", UUID)

EMAIL = "email"
"""The word that stands for the system of e-mail addresses where a person is named: `email:ada@halden.example`."""

OWNER = "lightwell:owner"
"""The name of the person whose own store it is."""

_USER = "user:"
_SYSTEM = regex(r"[a-z][a-z0-9_.-]{0,49}")
_ADDRESS = regex(r"[^\s@,:<>]{1,64}@[^\s@,:<>]{1,189}")
_MAX_NAME_LENGTH = 200
_MAX_EXTERNAL_ID_LENGTH = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person of a project. `acl_tags` are the person's own tags; `tags` are the current ones, with those of `groups`.

    `external_ids` has at most one id for each system. `scopes` are what the person may do when signed in by a browser. A person who is
    not active has no access.
    """

    id: PersonId
    email: str
    display_name: str
    external_ids: Mapping[str, str]
    acl_tags: Tags
    groups: tuple[str, ...]
    tags: Tags
    scopes: frozenset[Scope]
    active: bool
    created_at: datetime

    @property
    def user(self) -> str:
        """Whose sessions and conversations these are. It has a space, so no access tag names the same user."""
        return user_of_person(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonChange:
    """What to write of a person; None leaves a field as it is. `external_ids` replaces all of them."""

    email: str | None = None
    display_name: str | None = None
    external_ids: Mapping[str, str] | None = None
    acl_tags: Tags | None = None
    scopes: frozenset[Scope] | None = None
    active: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group: each member has its tags. `members` counts people who are not active, too; one that `is_synced` a source maintains."""

    id: GroupId
    name: str
    acl_tags: Tags
    members: int
    is_synced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A tag that somebody may give to new documents. `name` is a group's that has it, else the tag; `is_own` where nobody else has it.

    One that `is_synced` a source gave to a group that it maintains.
    """

    tag: str
    name: str
    is_own: bool
    is_synced: bool = False


@dataclass(frozen=True, slots=True)
class PersonName:
    """How a request names a person: by one of `id`, and `system` with `external_id`; the system may be `EMAIL`."""

    id: PersonId | None
    system: str = ""
    external_id: str = ""


def find_places(tags: Tags, groups: Iterable[Group], shared: Tags) -> list[Place]:
    """Return the places of whoever has these tags: the own one first, then groups and tags by name, and last what sources gave.

    `shared` are the tags that others have.
    """
    named: dict[str, Group] = {}
    for group in sorted(groups, key=lambda group: (len(group.acl_tags), group.name)):
        for tag in group.acl_tags & tags:
            named.setdefault(tag, group)
    places = [
        Place(
            tag=tag,
            name=named[tag].name if tag in named else tag,
            is_own=tag.startswith(_USER) and tag not in shared,
            is_synced=tag in named and named[tag].is_synced,
        )
        for tag in tags
    ]
    return sorted(
        places,
        key=lambda place: (not place.is_own, place.is_synced, place.name.lower(), place.tag),
    )


def user_of_person(person: PersonId) -> str:
    """Return the `user` of the readers that speak for a person."""
    return f"person {person}"


def parse_person_name(text: str) -> PersonName:
    """Return what names a person: an id, an e-mail address, or `system:id` such as `telegram:123`; raise `Invalid`."""
    word = text.strip()
    try:
        return PersonName(PersonId(UUID(word)))
    except ValueError:
        pass
    system, _, external_id = word.partition(":")
    if _ADDRESS.fullmatch(word):
        return PersonName(None, EMAIL, parse_email(word))
    if system == EMAIL:
        return PersonName(None, EMAIL, parse_email(external_id))
    ((system, external_id),) = parse_external_ids({system: external_id}).items()
    return PersonName(None, system, external_id)


def parse_person_id(text: str) -> PersonId:
    """Return the id; raise `Invalid` where it is none."""
    try:
        return PersonId(UUID(text))
    except ValueError:
        raise Invalid("This is not the id of a person") from None


def parse_email(text: str) -> str:
    """Return the e-mail address in lower case, "" for none; raise `Invalid` where it is none."""
    address = text.strip().lower()
    if address and not _ADDRESS.fullmatch(require_text(address, "The e-mail address")):
        raise Invalid("This is not an e-mail address; write it like ada@halden.example")
    return address


def parse_display_name(text: str, what: str = "The name of a person") -> str:
    """Return the name, trimmed; raise `Invalid` where it is too long. `what` begins the message."""
    name = " ".join(require_text(text, what).split())
    if len(name) > _MAX_NAME_LENGTH:
        raise Invalid(f"{what} has at most {_MAX_NAME_LENGTH} characters")
    return name


def parse_group_name(text: str) -> str:
    """Return the name of a group, trimmed; raise `Invalid` where it is empty or too long."""
    name = parse_display_name(text, "The name of a group")
    if not name:
        raise Invalid("A group needs a name")
    return name


def parse_external_ids(ids: Mapping[str, str]) -> dict[str, str]:
    """Return the ids by their systems; raise `Invalid` for a system that is no word, and for an id that is empty or too long."""
    parsed: dict[str, str] = {}
    for system, text in ids.items():
        external_id = require_text(text, "The external id").strip()
        if not _SYSTEM.fullmatch(system) or system == EMAIL:
            raise Invalid(
                "Name a person by an id, an e-mail address, or a system and its id, such as telegram:123"
            )
        if not 1 <= len(external_id) <= _MAX_EXTERNAL_ID_LENGTH:
            raise Invalid(f"An external id has 1 to {_MAX_EXTERNAL_ID_LENGTH} characters")
        parsed[system] = external_id
    return parsed


def split_external_ids(words: Iterable[str]) -> dict[str, str]:
    """Return the ids of words such as `telegram:123`; raise `Invalid`, also for two ids of one system."""
    ids: dict[str, str] = {}
    for word in words:
        system, _, external_id = word.strip().partition(":")
        if system in ids:
            raise Invalid("A person has at most one external id for each system")
        ids[system] = external_id
    return parse_external_ids(ids)
