"""The verbs on the directory: people, groups, and who is in which."""

from collections.abc import Sequence
from dataclasses import dataclass

from lightwell.domain.access import Tags
from lightwell.domain.directory import (
    Group,
    Person,
    PersonChange,
    PersonId,
    Place,
    find_places,
    parse_group_name,
    parse_person_name,
)
from lightwell.domain.errors import NotFound
from lightwell.domain.ids import ProjectId
from lightwell.domain.principals import Principal
from lightwell.domain.scopes import Scope
from lightwell.domain.texts import require_text
from lightwell.records import directory
from lightwell.records.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """The people and groups of one project. Its caller must be an administrator, or hold the database itself.

    A person is named by id, e-mail address or external id (`telegram:123`). What a change says of access holds at the next
    request.
    """

    database: Database
    project_id: ProjectId

    async def list_people(
        self,
        *,
        group: str = "",
        text: str = "",
        after: PersonId | None = None,
        limit: int = 100,
    ) -> list[Person]:
        """Return up to `limit` people by id, those after the id `after`; only members of the group, if one is named.

        With `text` only those whose name or e-mail address has it, in small or capital letters.

        Raises `NotFound` where there is no such group.
        """
        if group:
            await self.get_group(group)
        return await directory.list_people(
            self.database,
            self.project_id,
            group=group,
            text=require_text(text, "The text"),
            after=after,
            limit=limit,
        )

    async def get_person(self, name: str) -> Person:
        """Return the person of this name; raise `NotFound`, and `Invalid` for a name that names nobody."""
        person = await directory.find_person(
            self.database, self.project_id, parse_person_name(name)
        )
        if person is None:
            raise NotFound(f"There is no person {name!r}")
        return person

    async def create_person(self, change: PersonChange) -> Person:
        """Make a new person; raise `Invalid` where another one has the e-mail address or an external id."""
        return await directory.save_person(self.database, self.project_id, None, change)

    async def change_person(self, name: str, change: PersonChange) -> Person:
        """Change a person; raise `NotFound`, `Invalid` as `create_person` does."""
        person = await self.get_person(name)
        return await directory.save_person(self.database, self.project_id, person.id, change)

    async def delete_person(self, name: str) -> None:
        """Delete a person with the person's API keys; raise `NotFound`."""
        person = await self.get_person(name)
        await directory.delete_person(self.database, self.project_id, person.id)

    async def list_places(self, principal: Principal) -> list[Place]:
        """Return where the principal may put new documents, with a name for each tag; for administrators also what groups have."""
        groups = await self.list_groups()
        tags = principal.tags
        if principal.allows(Scope.ADMIN):
            tags = tags.union(*(group.acl_tags for group in groups))
        person = principal.acting_for or principal.person
        shared = await directory.list_shared_tags(self.database, self.project_id, person, tags)
        return find_places(tags, groups, shared)

    async def list_groups(self) -> list[Group]:
        """Return all groups by name."""
        return await directory.list_groups(self.database, self.project_id)

    async def get_group(self, name: str) -> Group:
        """Return the group of this name; raise `NotFound`."""
        wanted = require_text(name, "The name of a group")
        groups = await directory.list_groups(self.database, self.project_id, wanted)
        if not groups:
            raise NotFound(f"There is no group {name!r}")
        return groups[0]

    async def save_group(self, name: str, tags: Tags) -> Group:
        """Make a group, or change the tags of the existing one of this name; raise `Invalid`."""
        parsed = parse_group_name(name)
        await directory.save_group(self.database, self.project_id, parsed, tags)
        return await self.get_group(parsed)

    async def delete_group(self, name: str) -> None:
        """Delete a group, whose members lose its tags; raise `NotFound`."""
        group = await self.get_group(name)
        await directory.delete_group(self.database, self.project_id, group.name)

    async def add_members(self, group: str, people: Sequence[str]) -> Group:
        """Add people to a group; raise `NotFound`, and add nobody, where the group or one of them does not exist."""
        existing = await self.get_group(group)
        members = [(await self.get_person(person)).id for person in people]
        await directory.add_members(self.database, existing.id, members)
        return await self.get_group(group)

    async def remove_members(self, group: str, people: Sequence[str]) -> Group:
        """Remove people from a group; raise `NotFound`, and remove nobody, where the group or one of them does not exist."""
        existing = await self.get_group(group)
        members = [(await self.get_person(person)).id for person in people]
        await directory.remove_members(self.database, existing.id, members)
        return await self.get_group(group)
