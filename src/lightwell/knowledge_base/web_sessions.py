"""The verbs on sessions of browsers: sign in, redeem a link, sign out."""

from dataclasses import dataclass
from datetime import timedelta

from lightwell.domain.access import Tags
from lightwell.domain.api_keys import parse_token
from lightwell.domain.directory import Person, PersonChange, PersonName
from lightwell.domain.errors import NotFound
from lightwell.domain.ids import ProjectId
from lightwell.domain.principals import Principal
from lightwell.domain.scopes import Scope
from lightwell.domain.token_claims import TokenIdentity, identity_to_json
from lightwell.domain.web_sessions import (
    LINK_OF_START,
    LONGEST_OF_ISSUER,
    LONGEST_SESSION,
    LinkId,
    Secret,
    SignInLink,
    WebSession,
    new_secret,
    parse_secret,
)
from lightwell.records import directory, web_sessions
from lightwell.records.database import Database

_OWNER = PersonName(None, "lightwell", "owner")
"""How the directory calls the person whose own store it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSessions:
    """The sessions of a tenant. Each sign-in has a new secret, which is returned once and never stored."""

    database: Database
    tenant: str

    async def sign_in_with_key(self, principal: Principal, key: str, browser: str) -> Secret:
        """Begin a session that is valid as long as this secret of the key is; `principal` is for whom the key speaks."""
        secret = new_secret()
        await web_sessions.insert(
            self.database,
            principal.project_id,
            secret,
            longest=LONGEST_SESSION,
            browser=browser,
            key=parse_token(key),
        )
        return secret

    async def sign_in_with_token(
        self, principal: Principal, identity: TokenIdentity, browser: str
    ) -> Secret:
        """Begin a session of whom an issuer has signed in, as `Principals.of_token` says; of a person of the directory, or of the identity."""
        secret = new_secret()
        await web_sessions.insert(
            self.database,
            principal.project_id,
            secret,
            longest=LONGEST_OF_ISSUER,
            browser=browser,
            person=principal.person,
            identity=None if principal.person else identity_to_json(identity),
        )
        return secret

    async def redeem(self, link: str, browser: str) -> Secret | None:
        """Use a link and begin a session of its person; None for any other text, and for a link that was used or has expired."""
        shown, secret = parse_secret(link), new_secret()
        if shown is None:
            return None
        person = await web_sessions.redeem_link(
            self.database, self.tenant, shown, secret, browser=browser
        )
        return secret if person else None

    async def end(self, secret: Secret, *, everywhere: bool = False) -> None:
        """End a session, or all sessions of whoever has it."""
        end = web_sessions.end_all if everywhere else web_sessions.end
        await end(self.database, secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInLinks:
    """The links of one project that sign people in once. Its caller must be an administrator, or hold the database itself."""

    database: Database
    project_id: ProjectId

    async def create(self, person: Person, valid: timedelta) -> tuple[LinkId, Secret]:
        """Make a link that signs a person in once; its secret is returned only now."""
        secret = new_secret()
        link = await web_sessions.insert_link(
            self.database, self.project_id, secret, person.id, valid
        )
        return link, secret

    async def create_for_owner(self, name: str, tags: Tags) -> Secret | None:
        """Make a link for the person whose own store it is, who administers it; None where that person is not active.

        The person is made where there is none, with this name and these access tags.
        """
        owner = await directory.find_person(self.database, self.project_id, _OWNER)
        if owner is None:
            change = PersonChange(
                display_name=name,
                external_ids={_OWNER.system: _OWNER.external_id},
                acl_tags=tags,
                scopes=frozenset({Scope.ADMIN}),
            )
            owner = await directory.save_person(self.database, self.project_id, None, change)
        return (await self.create(owner, LINK_OF_START))[1] if owner.active else None

    async def list_links(self) -> list[SignInLink]:
        """Return the links that can still be used, the oldest first."""
        return await web_sessions.list_links(self.database, self.project_id)

    async def revoke(self, link: LinkId) -> None:
        """Delete a link; raise `NotFound`."""
        if not await web_sessions.delete_link(self.database, self.project_id, link):
            raise NotFound(f"There is no invitation {link}")

    async def list_sessions(self, person: Person) -> list[WebSession]:
        """Return the sessions of a person, the one used last first."""
        return await web_sessions.list_of_person(self.database, self.project_id, person.id)

    async def end_sessions(self, person: Person) -> None:
        """End all sessions of a person, and delete the person's links."""
        await web_sessions.end_of_person(self.database, person.id)
