"""People and groups, as administrators see them: `http/directory.py` has the routes, `cli/people.py` the commands."""

from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field

from lightwell.domain.access import parse_tags
from lightwell.domain.directory import (
    PersonChange,
    parse_display_name,
    parse_email,
    parse_external_ids,
)
from lightwell.domain.scopes import Scope, parse_person_scopes
from lightwell.entrypoints.operations.replies import (
    Moment,
    NextAfter,
    PageQuery,
    Reply,
    Schema,
    Sorted,
    read_from,
)

AclTags = Annotated[tuple[str, ...], Field(max_length=500, examples=[["team:sales", "user:ada"]])]
TextOrNull = Annotated[str | None, BeforeValidator(lambda text: text or None)]
"""A text, null where it is empty."""


class PersonBody(Schema):
    """What to write of a person; without a field, it stays as it is. `externalIds` replaces all of them."""

    email: Annotated[str | None, Field(max_length=254, examples=["ada@halden.example"])] = None
    display_name: Annotated[str | None, Field(examples=["Ada Lindqvist"])] = None
    external_ids: Annotated[
        dict[str, str] | None, Field(max_length=50, examples=[{"telegram": "123"}])
    ] = None
    acl_tags: AclTags | None = None
    scopes: Annotated[
        tuple[Scope, ...] | None,
        Field(
            max_length=len(Scope), description="What the person may do when signed in by a browser."
        ),
    ] = None
    active: Annotated[bool | None, Field(description="Whoever is not active has no access.")] = None

    def to_change(self) -> PersonChange:
        """Return the change; raise `Invalid`."""
        return PersonChange(
            email=None if self.email is None else parse_email(self.email),
            display_name=self.display_name and parse_display_name(self.display_name),
            external_ids=None
            if self.external_ids is None
            else parse_external_ids(self.external_ids),
            acl_tags=None if self.acl_tags is None else parse_tags(self.acl_tags),
            scopes=None if self.scopes is None else parse_person_scopes(self.scopes),
            active=self.active,
        )


class Person(Reply):
    """A person. `aclTags` are the person's own tags, `currentTags` those with the groups' tags, `scopes` what the person may do in a browser."""

    person_id: Annotated[UUID, read_from("personId", "id")]
    email: TextOrNull
    display_name: str
    external_ids: Annotated[dict[str, str], AfterValidator(lambda ids: dict(sorted(ids.items())))]
    acl_tags: Sorted
    groups: list[str]
    current_tags: Annotated[Sorted, read_from("currentTags", "tags")]
    scopes: Annotated[list[Scope], AfterValidator(sorted)]
    active: bool
    created_at: Moment


class People(Reply):
    """People, the oldest entry first."""

    people: list[Person]


class PeoplePage(People):
    """A page of people, the oldest entry first."""

    next_after: NextAfter


class PeopleQuery(PageQuery):
    """Which people to list."""

    group: Annotated[str, Field(description="Only members of this group.")] = ""
    query: Annotated[
        str, Field(max_length=200, description="Only people whose name or address has this text.")
    ] = ""


class GroupBody(Schema):
    """The tags that each member of the group has."""

    acl_tags: AclTags


class Group(Reply):
    """A group and how many members it has; a source maintains one that `isSynced`, so that a change by hand does not last."""

    group_id: Annotated[UUID, read_from("groupId", "id")]
    name: str
    acl_tags: Sorted
    members: int
    is_synced: bool


class Groups(Reply):
    """Groups by name."""

    groups: list[Group]
