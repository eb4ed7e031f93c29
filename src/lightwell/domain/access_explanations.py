"""Why somebody sees a document, or does not: for administrators."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lightwell.domain.access import Tags
from lightwell.domain.api_keys import ApiKey, Scope
from lightwell.domain.directory import Group, Person
from lightwell.domain.ids import DocumentId


class Obstacle(StrEnum):
    """Why a document is not visible."""

    DOCUMENT_DELETED = "document_deleted"
    DOCUMENT_WITHOUT_TAGS = "document_without_tags"
    NO_SHARED_TAG = "no_shared_tag"
    NARROWED_BY_KEY = "narrowed_by_key"
    PERSON_NOT_ACTIVE = "person_not_active"
    KEY_REVOKED = "key_revoked"
    KEY_EXPIRED = "key_expired"
    KEY_WITHOUT_READ_SCOPE = "key_without_read_scope"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentAccess:
    """What decides who sees a document; no word of it."""

    id: DocumentId
    url: str
    acl_tags: Tags
    state: str
    deleted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TagOrigin:
    """From where somebody has a tag: `person`, `group` or `key`; `name` is the group's or the key's. `shared` with the document?"""

    tag: str
    kind: str
    name: str
    shared: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessExplanation:
    """Why the document is visible (`shared` origins), or why not (`obstacles`, all of them)."""

    document: DocumentAccess
    origins: tuple[TagOrigin, ...]
    obstacles: tuple[Obstacle, ...]

    @property
    def visible(self) -> bool:
        return not self.obstacles


def explain_access(
    document: DocumentAccess,
    person: Person | None,
    groups: Sequence[Group],
    key: ApiKey | None,
    now: datetime,
) -> AccessExplanation:
    """Return why whoever shows the key, or the person, sees the document or does not.

    `person` is the one whom the key names, or who is asked about without a key; `groups` are those of that person.
    """
    origins = _origins(document, person, groups, key)
    tags = frozenset(origin.tag for origin in origins)
    of_person = person.tags if person else tags
    obstacles = [
        obstacle
        for obstacle, holds in (
            (Obstacle.DOCUMENT_DELETED, document.deleted),
            (Obstacle.DOCUMENT_WITHOUT_TAGS, not document.acl_tags),
            (Obstacle.NO_SHARED_TAG, bool(document.acl_tags) and not document.acl_tags & of_person),
            (Obstacle.NARROWED_BY_KEY, bool(document.acl_tags & of_person) and not document.acl_tags & tags),
            (Obstacle.PERSON_NOT_ACTIVE, person is not None and not person.active),
            (Obstacle.KEY_REVOKED, key is not None and key.revoked_at is not None),
            (Obstacle.KEY_EXPIRED, key is not None and key.expires_at is not None and key.expires_at <= now),
            (Obstacle.KEY_WITHOUT_READ_SCOPE, key is not None and not key.scopes & {Scope.READ, Scope.ADMIN}),
        )
        if holds
    ]  # fmt: skip
    return AccessExplanation(document=document, origins=origins, obstacles=tuple(obstacles))


def _origins(
    document: DocumentAccess, person: Person | None, groups: Sequence[Group], key: ApiKey | None
) -> tuple[TagOrigin, ...]:
    """Return the origins of all tags that apply, by tag; a key's own tags narrow those of the person whom it names."""
    if person is None:
        holders = [("key", key.name, key.acl_tags)] if key else []
    else:
        holders = [("person", "", person.acl_tags)]
        holders += [("group", group.name, group.acl_tags) for group in groups]
    narrowed = key.acl_tags if key and person and key.acl_tags else None
    return tuple(
        TagOrigin(tag=tag, kind=kind, name=name, shared=tag in document.acl_tags)
        for kind, name, tags in holders
        for tag in sorted(tags)
        if narrowed is None or tag in narrowed
    )
