"""People and groups."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from lightwell.domain.access import parse_tags
from lightwell.domain.directory import (
    Group,
    Person,
    PersonChange,
    parse_display_name,
    parse_email,
    parse_external_ids,
)
from lightwell.entrypoints import json_directory
from lightwell.entrypoints.operations.replies import NextAfter, PageQuery, Schema

AclTags = Annotated[tuple[str, ...], Field(max_length=500, examples=[["team:sales", "user:ada"]])]


class PersonBody(Schema):
    """What to write of a person; without a field, it stays as it is. `externalIds` replaces all of them."""

    email: Annotated[str | None, Field(max_length=254, examples=["ada@halden.example"])] = None
    display_name: Annotated[str | None, Field(examples=["Ada Lindqvist"])] = None
    external_ids: Annotated[
        dict[str, str] | None, Field(max_length=50, examples=[{"telegram": "123"}])
    ] = None
    acl_tags: AclTags | None = None
    active: Annotated[bool | None, Field(description="Whoever is not active has no access.")] = None

    def to_change(self) -> PersonChange:
        return PersonChange(
            email=None if self.email is None else parse_email(self.email),
            display_name=self.display_name and parse_display_name(self.display_name),
            external_ids=None
            if self.external_ids is None
            else parse_external_ids(self.external_ids),
            acl_tags=None if self.acl_tags is None else parse_tags(self.acl_tags),
            active=self.active,
        )


class PersonSchema(Schema):
    """A person. `aclTags` are the person's own tags, `currentTags` those with the groups' tags."""

    person_id: UUID
    email: str | None
    display_name: str
    external_ids: dict[str, str]
    acl_tags: list[str]
    groups: list[str]
    current_tags: list[str]
    active: bool
    created_at: str


class PeopleQuery(PageQuery):
    """Which people to list."""

    group: Annotated[str, Field(description="Only members of this group.")] = ""


class PeoplePage(Schema):
    """People, the oldest entry first."""

    people: list[PersonSchema]
    next_after: NextAfter


class GroupBody(Schema):
    """The tags that each member of the group has."""

    acl_tags: AclTags


class GroupSchema(Schema):
    """A group and how many members it has."""

    group_id: UUID
    name: str
    acl_tags: list[str]
    members: int


class GroupList(Schema):
    groups: list[GroupSchema]


def person_schema(person: Person) -> PersonSchema:
    """Return the person as the server sends it."""
    return PersonSchema.model_validate(json_directory.person(person))


def group_schema(group: Group) -> GroupSchema:
    """Return the group as the server sends it."""
    return GroupSchema.model_validate(json_directory.group(group))
