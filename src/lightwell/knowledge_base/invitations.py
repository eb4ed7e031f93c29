"""The verbs on links that sign people in once, and on the sessions of one person: for administrators."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from lightwell.domain.access import Tags
from lightwell.domain.directory import EMAIL, OWNER, PersonChange, parse_person_name
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.scopes import Scope
from lightwell.domain.web_sessions import (
    LINK_OF_START,
    LinkId,
    Secret,
    SignInLink,
    WebSession,
    new_secret,
)
from lightwell.knowledge_base.directory import Directory
from lightwell.records import directory, web_sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInLinks:
    """The links of one project. Their caller must be an administrator, or hold the database itself. Secrets are returned once."""

    directory: Directory

    async def create(self, name: str, valid: timedelta) -> tuple[SignInLink, Secret]:
        """Make a link that signs a person in once; raise `NotFound`, and `Invalid` for a person who is not active."""
        person = await self.directory.get_person(name)
        if not person.active:
            raise Invalid(f"{name} is not active, and could not sign in")
        secret = new_secret()
        link = await web_sessions.insert_link(
            self.directory.database, self.directory.project_id, secret, person.id, valid
        )
        return link, secret

    async def invite(
        self, name: str, change: PersonChange, groups: Sequence[str], valid: timedelta
    ) -> tuple[SignInLink, Secret]:
        """Add a person with this e-mail address, what `change` gives and these groups, and make a link; whoever is there gets another link.

        Raises `NotFound` for a group that does not exist, and for a person who is named otherwise than by an address and is not there;
        `Invalid` where something is to be given to a person who is there.
        """
        person_name = parse_person_name(name)
        try:
            await self.directory.get_person(name)
        except NotFound:
            if person_name.system != EMAIL:
                raise
            await self._add(replace(change, email=person_name.external_id), groups)
        else:
            if change != PersonChange() or groups:
                raise Invalid(
                    f"{name} is in the directory already: change the person there. An invitation that gives nothing makes another link"
                )
        return await self.create(name, valid)

    async def create_for_owner(self, name: str, tags: Tags) -> Secret | None:
        """Make a link for the person whose own store it is, who administers it; None where that person is not active.

        The person is made where there is none, with this name and these access tags.
        """
        database, project_id = self.directory.database, self.directory.project_id
        named = parse_person_name(OWNER)
        owner = await directory.find_person(database, project_id, named)
        if owner is None:
            change = PersonChange(
                display_name=name,
                external_ids={named.system: named.external_id},
                acl_tags=tags,
                scopes=frozenset({Scope.ADMIN}),
            )
            owner = await self.directory.create_person(change)
        return (await self.create(str(owner.id), LINK_OF_START))[1] if owner.active else None

    async def list_links(self) -> list[SignInLink]:
        """Return the links that can still be used, the oldest first."""
        return await web_sessions.list_links(self.directory.database, self.directory.project_id)

    async def revoke(self, link: LinkId) -> None:
        """Delete a link; raise `NotFound`."""
        database, project_id = self.directory.database, self.directory.project_id
        if not await web_sessions.delete_link(database, project_id, link):
            raise NotFound(f"There is no invitation {link}")

    async def list_sessions(self, name: str) -> list[WebSession]:
        """Return the sessions of a person, the one used last first; raise `NotFound`."""
        person = await self.directory.get_person(name)
        return await web_sessions.list_of_person(
            self.directory.database, self.directory.project_id, person.id
        )

    async def end_sessions(self, name: str) -> None:
        """End all sessions of a person, and delete the person's links; raise `NotFound`."""
        person = await self.directory.get_person(name)
        await web_sessions.end_of_person(self.directory.database, person.id)

    async def _add(self, change: PersonChange, groups: Sequence[str]) -> None:
        names = [(await self.directory.get_group(group)).name for group in groups]
        person = await self.directory.create_person(change)
        for group in names:
            await self.directory.add_members(group, [str(person.id)])
