"""Who a request speaks for: from what a client showed to a principal."""

from dataclasses import dataclass, replace

from lightwell.domain.api_keys import parse_token
from lightwell.domain.directory import PersonName, parse_person_name
from lightwell.domain.errors import NotFound
from lightwell.domain.principals import Principal
from lightwell.domain.scopes import Scope
from lightwell.domain.token_claims import TokenIdentity, identity_from_json
from lightwell.domain.web_sessions import Secret
from lightwell.records import api_keys, directory, projects, web_sessions
from lightwell.records.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Principals:
    """The principals of a tenant. Each call reads the database, so that a change of access holds at the next request."""

    database: Database
    tenant: str

    async def of_key(self, text: str) -> Principal | None:
        """Return for whom the API key with this token speaks; None for any other text, and for a key that is not valid."""
        token = parse_token(text)
        return token and await api_keys.find_principal(self.database, self.tenant, token)

    async def of_token(self, identity: TokenIdentity) -> Principal | None:
        """Return for whom a verified token of the issuer speaks.

        A person of the directory has the current tags that the directory gives, whatever the token says; anybody else the
        token's. None where the project does not exist, and where the person is not active.
        """
        try:
            project_id = await projects.find(self.database, self.tenant, identity.project)
        except NotFound:
            return None
        person = await directory.find_person(self.database, project_id, identity.person)
        if person is not None and not person.active:
            return None
        return Principal(
            project_id=project_id,
            project=identity.project,
            credential=f"oidc:{identity.subject}",
            scopes=identity.scopes,
            tags=identity.tags if person is None else person.tags,
            user=identity.user if person is None else person.user,
            person=None if person is None else person.id,
            name=identity.name,
        )

    async def of_session(self, secret: Secret) -> Principal | None:
        """Return for whom the session of a browser with this secret speaks; None for any other, and for one that has ended.

        Whom the directory does not have, it is asked again each time: once it has somebody, the directory decides about that person's tags and scopes.
        """
        session = await web_sessions.find_principal(self.database, self.tenant, secret)
        if session is None:
            return None
        principal, stored = session
        if stored is None:
            return principal
        of_token = await self.of_token(identity_from_json(stored))
        if of_token is None or of_token.project_id != principal.project_id:
            return None
        scopes = of_token.scopes
        if of_token.person is not None:
            named = PersonName(of_token.person)
            person = await directory.find_person(self.database, principal.project_id, named)
            scopes = person.scopes if person else frozenset[Scope]()
        return replace(of_token, credential=principal.credential, scopes=scopes)

    async def acting_for(self, principal: Principal, name: str) -> Principal | None:
        """Return the principal that acts for a person of the same project; None where nobody active has this name.

        Raises `Invalid` for a text that cannot name a person.
        """
        person_name = parse_person_name(name)
        person = await directory.find_person(self.database, principal.project_id, person_name)
        return principal.act_for(person) if person and person.active else None
